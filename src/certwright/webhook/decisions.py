"""What a webhook decides about a request, and the answer an API server reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from certwright.kube import JsonObject
from certwright.kube.errors import Cause
from certwright.kube.patches import create_json_patch
from certwright.kube.reviews.admission import AdmissionResponse, AdmissionReview


@dataclass(frozen=True, slots=True)
class Allow:
    """The request may pass as it is.

    *warnings* are shown to the client that sent it; *audit* are annotations of the audit event,
    which the API server prefixes with the name of the webhook.
    """

    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deny:
    """The request must not pass; the client gets *message*, *code* and *reason*.

    *causes* name the fields, as the API server does for invalid objects.
    """

    message: str
    code: int = 403
    reason: str = "Forbidden"
    causes: Sequence[Cause] = ()
    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 400 <= self.code <= 599:
            raise ValueError(f"{self.code} is no code of a refusal; use one from 400 to 599")


@dataclass(frozen=True, slots=True)
class Patch:
    """The request may pass if the object becomes *obj*; only mutating webhooks may say so."""

    obj: JsonObject
    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = field(default_factory=dict)


Decision: TypeAlias = Allow | Deny | Patch


class WrongDecision(TypeError):
    """A handler returned something that an API server would not accept."""


def respond(request: AdmissionReview, decision: object, *, mutating: bool) -> AdmissionResponse:
    """Return the answer to a request by a `Decision`; of a wanted object, the patch to it.

    Raises:
        WrongDecision: a validating webhook wants a patch, there is no object to patch, or the
            decision is none.
    """
    patch = b""
    status: JsonObject | None = None
    match decision:
        case Allow():
            pass
        case Deny():
            status = _status(decision)
        case Patch():
            patch = _patch(request, decision.obj, mutating=mutating)
        case _:
            kind = type(decision).__name__
            raise WrongDecision(f"the handler returned {kind}, not Allow, Deny or Patch")
    return AdmissionResponse(
        uid=request.uid,
        allowed=status is None,
        status=status,
        patch=patch,
        patch_type="JSONPatch" if patch else "",
        warnings=decision.warnings,
        audit_annotations=decision.audit,
    )


def _patch(request: AdmissionReview, wanted: JsonObject, *, mutating: bool) -> bytes:
    if not mutating:
        raise WrongDecision("a validating webhook cannot patch; declare it with mutating=True")
    written = bytes(request.raw_object)
    if written == b"null":
        raise WrongDecision(f"{request.operation} has no object that could be patched")
    # As it came: what the handler was given it may have changed in place.
    operations = create_json_patch(written, wanted)
    return orjson.dumps(operations) if operations else b""


def _status(denied: Deny) -> JsonObject:
    status: JsonObject = {
        "status": "Failure",
        "code": denied.code,
        "reason": denied.reason,
        "message": denied.message,
    }
    if denied.causes:
        causes = [
            {"reason": one.reason, "message": one.message, "field": one.field}
            for one in denied.causes
        ]
        status["details"] = {"causes": causes}
    return status

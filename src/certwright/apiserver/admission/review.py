"""AdmissionReviews: what is sent to a webhook, and what its answer says. Pure."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from certwright.apiserver.admission.attributes import AdmissionAttributes, Invocation
from certwright.apiserver.gotext import json_type, quoted
from certwright.apiserver.webhooks.reviews import ReviewAnswer, ReviewCall
from certwright.kube.errors import ApiError, BadRequest, Cause, InternalError
from certwright.kube.objects import GroupVersionKind, JsonObject

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_DEFAULT_SECONDS: Final = 10
_TYPES: Final[tuple[tuple[str, type, str], ...]] = (
    ("uid", str, "types.UID"),
    ("allowed", bool, "bool"),
    ("patch", str, "[]uint8"),
    ("patchType", str, "v1.PatchType"),
    ("auditAnnotations", dict, "map[string]string"),
    ("warnings", list, "[]string"),
)


class WebhookFailed(Exception):
    """A webhook could not be asked, or its answer not be used; its failure policy decides."""

    def __init__(self, webhook: str, reason: str) -> None:
        super().__init__(f"failed calling webhook {quoted(webhook)}: {reason}")
        self.message = f"failed calling webhook {quoted(webhook)}: {reason}"


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """What a webhook decided."""

    allowed: bool
    patch: bytes = b""
    patch_type: str = ""
    status: JsonObject | None = None
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)


def admission_call(
    invocation: Invocation,
    attributes: AdmissionAttributes,
    obj: JsonObject | None,
    old: JsonObject | None,
) -> ReviewCall:
    """Return the review of a request; objects are in the version that the webhook wants.

    Raises:
        WebhookFailed: it takes no version of AdmissionReview that there is.
    """
    webhook = invocation.webhook
    version = webhook.review_version
    if not version:
        raise WebhookFailed(
            webhook.name,
            "could not create admission objects: webhook does not accept known AdmissionReview "
            "versions (v1, v1beta1)",
        )
    request: JsonObject = {
        "kind": _kind(invocation.kind),
        "resource": invocation.resource._asdict(),
        "requestKind": _kind(attributes.kind),
        "requestResource": attributes.resource._asdict(),
        "operation": attributes.operation,
        "userInfo": attributes.user.info(),
        "object": obj,
        "oldObject": old,
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    for part, text in (("name", attributes.name), ("namespace", attributes.namespace)):
        if text:
            request[part] = text
    review = {"kind": "AdmissionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}
    seconds = webhook.document.get("timeoutSeconds") or _DEFAULT_SECONDS
    return ReviewCall(webhook.document["clientConfig"], review, seconds)


def _kind(kind: GroupVersionKind) -> JsonObject:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def read_verdict(
    answer: ReviewAnswer, webhook: str, version: str, *, mutating: bool
) -> AdmissionVerdict:
    """Return what a webhook decided; `WebhookFailed` if its answer is none."""
    if answer.failure:
        raise WebhookFailed(webhook, f"failed to call webhook: {answer.failure}")
    document = answer.document
    response = document.get("response")
    if mistake := _type_mistake(document, version):
        raise WebhookFailed(webhook, f"failed to call webhook: {mistake}")
    mistake = _content_mistake(document, answer.uid, version, mutating=mutating)
    if mistake:
        raise WebhookFailed(webhook, f"received invalid webhook response: {mistake}")
    assert isinstance(response, dict)
    patch = _decoded(response.get("patch")) or b""
    patch_type = response.get("patchType") or ""
    if version == "v1beta1":
        patch, patch_type = (patch, "JSONPatch") if mutating and patch else (b"", "")
    return AdmissionVerdict(
        bool(response.get("allowed")),
        patch,
        patch_type,
        response.get("status"),
        tuple(response.get("warnings") or ()),
        response.get("auditAnnotations") or {},
    )


def _type_mistake(document: JsonObject, version: str) -> str:
    """Return what Go's decoder has against the types in an answer; empty if nothing."""
    kind, group_version = document.get("kind") or "", document.get("apiVersion") or ""
    others = {f"{_GROUP}/{each}" for each in _VERSIONS if each != version}
    if kind == "AdmissionReview" and group_version in others:
        found = group_version.rpartition("/")[2]
        return f"converting ({found}.{kind}) to ({version}.{kind}): unknown conversion"
    known = kind == "AdmissionReview" and group_version in {"", f"{_GROUP}/{version}"}
    if kind and not known:
        return (
            f'no kind "{kind}" is registered for version "{group_version}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )
    response = document.get("response")
    if response is None:
        return ""
    if not isinstance(response, dict):
        found = f"{json_type(response)} into Go struct field AdmissionReview.response"
        return f"json: cannot unmarshal {found} of type {version}.AdmissionResponse"
    for name, type_, go_type in _TYPES:
        value = response.get(name)
        if value is not None and not isinstance(value, type_):
            found = f"{json_type(value)} into Go struct field AdmissionResponse.response.{name}"
            return f"json: cannot unmarshal {found} of type {go_type}"
    if _decoded(response.get("patch")) is None:
        return "illegal base64 data at input byte 0"
    return ""


def _content_mistake(document: JsonObject, uid: str, version: str, *, mutating: bool) -> str:
    """Return what an answer lacks, or has too much; empty if nothing."""
    response = document.get("response")
    if response is None:
        return "webhook response was absent"
    if version == "v1beta1":
        return ""
    given = response.get("uid") or ""
    if given != uid:
        return f"expected response.uid={quoted(uid)}, got {quoted(given)}"
    found = (document.get("apiVersion") or "", document.get("kind") or "")
    if found != (f"{_GROUP}/v1", "AdmissionReview"):
        group_version = found[0] if "/" in found[0] else f"/{found[0]}"
        wanted = f"{_GROUP}/v1, Kind=AdmissionReview"
        return f"expected webhook response of {wanted}, got {group_version}, Kind={found[1]}"
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            return "validating webhook may not return response.patch"
        return "" if patch_type is None else "validating webhook may not return response.patchType"
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    if patch_type == "":
        return 'webhook returned invalid response.patchType of ""'
    return ""


def _decoded(patch: Any) -> bytes | None:
    """Return a patch, which travels in base64; None if it is malformed."""
    try:
        return base64.b64decode(patch or "", validate=True)
    except (binascii.Error, ValueError):
        return None


def denial(webhook: str, status: JsonObject | None) -> ApiError:
    """Return the refusal of a request that a webhook did not allow."""
    status = status or {}
    code = status.get("code") or 0
    reason, said = status.get("reason") or "", status.get("message") or ""
    denied = f"admission webhook {quoted(webhook)} denied the request"
    message = f"{denied}: {said or reason}" if said or reason else f"{denied} without explanation"
    details = status.get("details") or {}
    return Denied(
        message,
        code=max(code, 400),
        reason=reason,
        details={key: value for key, value in details.items() if key != "causes"},
        causes=[
            Cause(each.get("reason", ""), each.get("message", ""), each.get("field", ""))
            for each in details.get("causes") or ()
        ],
    )


class Denied(ApiError):
    """A webhook did not allow a request; code and reason are its own."""


def no_dry_run(webhook: str) -> ApiError:
    """Return the refusal of a dry run that a webhook could not keep without effects."""
    return BadRequest(f"admission webhook {quoted(webhook)} does not support dry run")


def internal_error(message: str) -> ApiError:
    """Return the refusal of a request for a failure that is not the client's."""
    return InternalError(f"Internal error occurred: {message}", causes=[Cause(message=message)])


def read_patch(verdict: AdmissionVerdict, webhook: str) -> list[Any]:
    """Return the operations of a JSON patch; `WebhookFailed` if it is none."""
    if not verdict.patch:
        return []
    try:
        operations = orjson.loads(verdict.patch)
    except orjson.JSONDecodeError as error:
        why = f"received undecodable patch in webhook response: {error}"
        raise WebhookFailed(webhook, why) from None
    if operations is None:
        return []
    if not isinstance(operations, list):
        found = f"{json_type(operations)} into Go value of type jsonpatch.Patch"
        why = f"received undecodable patch in webhook response: json: cannot unmarshal {found}"
        raise WebhookFailed(webhook, why)
    return operations

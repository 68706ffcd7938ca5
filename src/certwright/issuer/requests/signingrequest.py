"""Kubernetes' own CertificateSigningRequests: read, matched, judged, and answered.

These have no Ready condition: while they wait, only events show it, and nothing is written
before there is a certificate or a failure.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import Struct, field, to_builtins

from certwright import pki
from certwright.api.certificates import (
    DURATION_ANNOTATION,
    IS_CA_ANNOTATION,
    SHORTEST_SECONDS,
    CertificateSigningRequest,
    SigningCondition,
    SigningRequestSpec,
)
from certwright.api.certmanager import GROUP as CERT_MANAGER
from certwright.client import Client
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.requests.certificaterequest import DEFAULT_LIFETIME
from certwright.issuer.requests.kind import (
    NotOurs,
    NotServed,
    RequestKind,
    StoredRequest,
    TermsError,
)
from certwright.issuer.sign.result import SignResult, SignStatus
from certwright.issuer.status import (
    APPROVED,
    DENIED,
    FAILED,
    STATE,
    Phase,
    Requeue,
    StatusEvent,
    StatusUpdate,
    put_condition,
)
from certwright.kube import JsonObject, Key, Object, Resource
from certwright.kube.durations import format_duration, parse_duration
from certwright.kube.kinds import SubjectAccessReview
from certwright.pki.usages import DEFAULT_USAGES

_KIND = "CertificateSigningRequest"


class _Status(Struct, frozen=True, omit_defaults=True):
    conditions: list[SigningCondition] = field(default_factory=list)
    certificate: str = ""


class _Decoded(Object):
    resource: ClassVar[Resource] = CertificateSigningRequest.resource

    spec: SigningRequestSpec
    status: _Status = field(default_factory=_Status)


class SigningRequestKind(RequestKind):
    """Reads CertificateSigningRequests, decides their phase and writes their status."""

    name = "CertificateSigningRequest"
    object_type = CertificateSigningRequest
    decoded_type = _Decoded
    condition_type = SigningCondition
    forbidden_conditions = frozenset({APPROVED, DENIED, FAILED, STATE})
    rewritten = frozenset[str]()
    pending_warning = "Pending"

    # Reading

    def match(self, request: StoredRequest) -> IssuerKey:
        """Return the issuer that ``spec.signerName`` means."""
        name = request.typed.spec.signer_name
        return match_signer(name, self.issuers, namespaced=self.settings.namespaced_csrs)

    def is_of_group(self, request: StoredRequest) -> bool:
        """Return whether the signer's name is one of our group."""
        return f".{self.settings.group}/" in request.typed.spec.signer_name

    def is_final(self, request: StoredRequest) -> bool:
        """Return whether it has a certificate, or the condition Failed or Denied."""
        ended = any(one.type in {FAILED, DENIED} for one in request.conditions)
        return ended or bool(request.typed.status.certificate)

    def phase(self, request: StoredRequest) -> Phase:
        """Return where it stands; a condition counts by being there, whatever its status."""
        is_deleting = request.metadata.deletion_timestamp is not None
        if is_deleting or self.is_final(request):
            return Phase.CLOSED
        is_approved = any(one.type == APPROVED for one in request.conditions)
        return Phase.APPROVED if is_approved else Phase.UNAPPROVED

    def terms(self, request: StoredRequest) -> pki.RequestTerms:
        """Return lifetime, usages and whether an authority is requested."""
        compatibility, allowed = self.compatibility, self.settings.csr_annotations
        return signing_terms(
            request.typed, AnnotationRules(compatibility.bounds_annotations, allowed)
        )

    async def reference_refusal(
        self, client: Client, request: StoredRequest, issuer: IssuerKey
    ) -> SignResult | None:
        """Return why the requester may not use an issuer of a namespace, asked cert-manager's way.

        Signing requests have no namespace: without this check, every user who may create one
        could use the issuers of every namespace.
        """
        if not issuer.kind.namespaced:
            return None
        for name in (issuer.key.name, "*"):
            answer = await client.create(_reference_review(request.typed.spec, issuer, name))
            if (answer.get("status") or {}).get("allowed"):
                return None
        return SignResult(
            status=SignStatus.FAILED,
            text=f"Requester may not reference Namespaced Issuer {issuer.key}",
            reason="DeniedReference",
        )

    # Answering

    def initialize(self, request: StoredRequest, now: datetime) -> StatusUpdate:  # noqa: ARG002
        """Return nothing: there is no Ready condition."""
        return StatusUpdate()

    def deny(self, request: StoredRequest, now: datetime) -> StatusUpdate:  # noqa: ARG002
        """Return nothing: the condition Denied is final by itself."""
        return StatusUpdate()

    def issued(
        self,
        request: StoredRequest,  # noqa: ARG002
        patch: list[SigningCondition],
        result: SignResult,
        now: datetime,  # noqa: ARG002
    ) -> StatusUpdate:
        """Return the certificate; it needs no condition."""
        assert result.bundle is not None
        status = _status(patch) | {"certificate": b64encode(result.bundle.chain).decode()}
        event = StatusEvent("Normal", "Issued", "Synced", f"Succeeded signing the {_KIND}")
        return StatusUpdate(status=status, event=event, is_final=True)

    def failed(
        self,
        request: StoredRequest,
        patch: list[SigningCondition],
        result: SignResult,
        now: datetime,
    ) -> StatusUpdate:
        """Return the condition Failed."""
        message = f"{_KIND} has failed permanently: {result.text}"
        failed = SigningCondition(type=FAILED, status="True", reason=result.reason, message=message)
        return StatusUpdate(
            status=_status(put_condition(request.typed.status.conditions, patch, failed, now)),
            event=StatusEvent("Warning", "PermanentError", "SyncFailed", message),
            requeue=Requeue.STOP,
            is_final=True,
        )

    def pending(
        self,
        request: StoredRequest,
        patch: list[SigningCondition],
        update: StatusUpdate,
        now: datetime,  # noqa: ARG002
    ) -> StatusUpdate:
        """Return the author's conditions if one of them is new, and the event in any case."""
        held = {one.type: (one.status, one.reason, one.message) for one in request.conditions}
        new = any(held.get(one.type) != (one.status, one.reason, one.message) for one in patch)
        if self.compatibility.skips_repeated and not new:
            return update
        return replace(update, status=_status(patch))


def match_signer(
    name: str | None, kinds: Sequence[Resource], *, namespaced: bool = False
) -> IssuerKey:
    """Return the issuer that a signer's name means: ``plural.group/name``.

    With *namespaced*, ``plural.group/namespace.name`` means a namespaced issuer; without, raises
    `NotServed` for one. Raises `NotOurs` if the name has another form, or means none of the kinds.
    """
    if name is None:
        raise NotOurs("invalid reference, CertificateSigningRequest is nil")
    type_id, slash, issuer = name.partition("/")
    if not slash or "/" in issuer:
        raise NotOurs(
            f'invalid signer name, should have format <issuer-type-id>/<issuer-id>: "{name}"'
        )
    for kind in kinds:
        if type_id != kind.qualified:
            continue
        if not kind.namespaced:
            return IssuerKey(kind, Key("", issuer))
        if not namespaced:
            raise NotServed(
                kind,
                f'invalid SignerName, "{type_id}" is a namespaced issuer type, namespaced'
                " issuers are not supported for Kubernetes CSRs",
            )
        namespace, dot, rest = issuer.partition(".")
        if dot and namespace and rest:
            return IssuerKey(kind, Key(namespace, rest))
        break
    raise NotOurs(f'no issuer found for signer name: "{name}"')


@dataclass(frozen=True, slots=True)
class AnnotationRules:
    """What annotations may get a signing request. They can be changed after its approval."""

    is_bounded: bool = True
    """They get no longer lifetime than the spec asks for."""
    may_widen: bool = False
    """They may get what the spec cannot ask for: an authority, or more than the usual lifetime."""


def signing_terms(
    request: CertificateSigningRequest,
    rules: AnnotationRules = AnnotationRules(),  # noqa: B008 - frozen
) -> pki.RequestTerms:
    """Return what a signing request requests beside its encoded part.

    The annotation decides about the duration, up to that of the spec. Unlike with cert-manager's
    kind, ``is-ca`` adds no usage.

    Raises:
        TermsError: the duration is not one, or shorter than ten minutes; or an annotation asks for
            more than the rules allow.
        pki.UnknownUsage: there is no such usage.
    """
    spec, annotations = request.spec, request.metadata.annotations
    lifetime = _lifetime(request, rules)
    if lifetime < timedelta(seconds=SHORTEST_SECONDS):
        message = f"a duration of {lifetime.total_seconds():g}s is shorter than {SHORTEST_SECONDS}s"
        raise TermsError("InvalidDuration", message)
    is_ca = annotations.get(IS_CA_ANNOTATION) == "true"
    if is_ca and rules.is_bounded and not rules.may_widen:
        raise _refused(IS_CA_ANNOTATION, "for a certificate authority")
    usages = pki.parse_usages(spec.usages) if spec.usages else DEFAULT_USAGES
    return pki.RequestTerms(lifetime, is_ca, usages)


def _lifetime(request: CertificateSigningRequest, rules: AnnotationRules) -> timedelta:
    seconds = request.spec.expiration_seconds
    asked = DEFAULT_LIFETIME if seconds is None else timedelta(seconds=seconds)
    text = request.metadata.annotations.get(DURATION_ANNOTATION)
    if text is None:
        return asked
    try:
        lifetime = parse_duration(text)
    except ValueError as error:
        message = f"annotation {DURATION_ANNOTATION}: {error}"
        raise TermsError("ErrorParseDuration", message) from error
    if not rules.is_bounded or lifetime <= asked:
        return lifetime
    if seconds is not None:
        return asked
    if not rules.may_widen:
        raise _refused(DURATION_ANNOTATION, f"for more than {format_duration(DEFAULT_LIFETIME)}")
    return lifetime


def _refused(annotation: str, what: str) -> TermsError:
    return TermsError(
        "AnnotationNotAllowed",
        f"annotation {annotation} asks {what}, which this issuer grants to no annotation"
        " (IssuerApp(csr_annotations=True) would)",
    )


def _reference_review(spec: Any, issuer: IssuerKey, name: str) -> JsonObject:
    """Return the review that asks whether a requester may refer to an issuer of this name."""
    return {
        "apiVersion": SubjectAccessReview.api_version,
        "kind": SubjectAccessReview.kind,
        "spec": {
            "user": spec.username,
            "uid": spec.uid,
            "groups": list(spec.groups),
            "extra": dict(spec.extra),
            "resourceAttributes": {
                "group": CERT_MANAGER,
                "resource": "signers",
                "verb": "reference",
                "namespace": issuer.key.namespace,
                "name": name,
                "version": "*",
            },
        },
    }


def _status(conditions: list[SigningCondition]) -> JsonObject:
    return {"conditions": to_builtins(conditions)} if conditions else {}

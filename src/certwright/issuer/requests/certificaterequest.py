"""cert-manager's CertificateRequests: read, matched with their issuer, judged, and answered.

Each status is built as a whole: an apply removes what it no longer mentions, so it repeats
every condition of ours that is to stay. What the request shows already is not written again.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, field, to_builtins

from certwright import pki
from certwright.api.certmanager import CertificateRequest, CertificateRequestSpec, IssuerRef
from certwright.client import Client
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.requests.kind import NotOurs, RequestKind, StoredRequest, TermsError
from certwright.issuer.sign.result import SignResult
from certwright.issuer.status import (
    APPROVED,
    DENIED,
    INVALID_REQUEST,
    READY,
    STATE,
    Phase,
    Requeue,
    StatusEvent,
    StatusUpdate,
    put_condition,
)
from certwright.issuer.upstream import upstream_phase
from certwright.kube import (
    Condition,
    ConditionStatus,
    JsonObject,
    Key,
    Object,
    Resource,
    find_condition,
    format_time,
    is_true,
)
from certwright.kube.durations import parse_duration
from certwright.pki.usages import DEFAULT_USAGES, Usages

DEFAULT_LIFETIME = timedelta(hours=2160)

_KIND = "CertificateRequest"


class _Status(Struct, frozen=True, omit_defaults=True):
    conditions: list[Condition] = field(default_factory=list)
    certificate: str = ""
    ca: str = ""


class _Decoded(Object):
    resource: ClassVar[Resource] = CertificateRequest.resource

    spec: CertificateRequestSpec
    status: _Status = field(default_factory=_Status)


class CertificateRequestKind(RequestKind):
    """Reads CertificateRequests, decides their phase and writes their status."""

    name = "CertificateRequest"
    object_type = CertificateRequest
    decoded_type = _Decoded
    condition_type = Condition
    forbidden_conditions = frozenset({READY, APPROVED, DENIED, STATE})
    rewritten = frozenset({READY})
    pending_warning = "RetryableError"

    # Reading

    def match(self, request: StoredRequest) -> IssuerKey:
        """Return the issuer that ``spec.issuerRef`` names."""
        spec = request.typed.spec
        return match_reference(spec.issuer_ref, request.metadata.namespace, self.issuers)

    def is_of_group(self, request: StoredRequest) -> bool:
        """Return whether ``spec.issuerRef`` names our group."""
        group: str = request.typed.spec.issuer_ref.group
        return group == self.settings.group

    def is_final(self, request: StoredRequest) -> bool:
        """Return whether Ready is True, or False because it failed or was denied."""
        ready = find_condition(request.conditions, READY)
        if ready is None:
            return False
        return ready.status == "True" or (
            ready.status == "False" and ready.reason in {"Failed", "Denied"}
        )

    def phase(self, request: StoredRequest) -> Phase:
        """Return where it stands, judging by its conditions."""
        conditions, is_final = request.conditions, self.is_final(request)
        if self.compatibility.initializes_requests:
            return upstream_phase(conditions, is_final=is_final)
        is_deleting = request.metadata.deletion_timestamp is not None
        if is_deleting or is_final or is_true(conditions, INVALID_REQUEST):
            return Phase.CLOSED
        if is_true(conditions, DENIED):
            return Phase.DENIED
        return Phase.APPROVED if is_true(conditions, APPROVED) else Phase.UNAPPROVED

    def terms(self, request: StoredRequest) -> pki.RequestTerms:
        """Return lifetime, usages and whether an authority is requested."""
        return request_terms(request.typed)

    async def reference_refusal(
        self, client: Client, request: StoredRequest, issuer: IssuerKey
    ) -> None:
        """Return None: the issuer is cluster-wide, or in the namespace of the request."""

    # Answering

    def initialize(self, request: StoredRequest, now: datetime) -> StatusUpdate:
        """Return Ready=Unknown."""
        message = f"{self.settings.field_manager} has started reconciling this {_KIND}"
        ready = _ready("Unknown", "Initializing", message)
        patch = put_condition(request.conditions, self.kept_conditions(request), ready, now)
        return StatusUpdate(status=_status(patch))

    def deny(self, request: StoredRequest, now: datetime) -> StatusUpdate:
        """Return Ready=False, reason Denied."""
        message = f"Detected that the {_KIND} is denied, so it will never be Ready."
        patch = self.kept_conditions(request, is_final=True)
        return self._ended(request, patch, _ready("False", "Denied", message), now)

    def issued(
        self, request: StoredRequest, patch: list[Condition], result: SignResult, now: datetime
    ) -> StatusUpdate:
        """Return the certificate, with Ready=True."""
        assert result.bundle is not None
        message = f"Succeeded signing the {_KIND}"
        patch = put_condition(request.conditions, patch, _ready("True", "Issued", message), now)
        status = _status(patch) | {"certificate": b64encode(result.bundle.chain).decode()}
        if self.settings.set_ca and result.bundle.ca:
            status["ca"] = b64encode(result.bundle.ca).decode()
        event = StatusEvent("Normal", "Issued", "Synced", message)
        return StatusUpdate(status=status, event=event, is_final=True)

    def failed(
        self, request: StoredRequest, patch: list[Condition], result: SignResult, now: datetime
    ) -> StatusUpdate:
        """Return Ready=False, reason Failed."""
        message = f"Failed permanently to sign {_KIND}: {result.text}"
        return self._ended(request, patch, _ready("False", "Failed", message), now)

    def pending(
        self, request: StoredRequest, patch: list[Condition], update: StatusUpdate, now: datetime
    ) -> StatusUpdate:
        """Return Ready=False, reason Pending, unless the request shows it already."""
        assert update.event is not None
        ready = _ready("False", "Pending", update.event.note)
        patch = put_condition(request.conditions, patch, ready, now)
        if self.compatibility.skips_repeated and all(one in request.conditions for one in patch):
            return replace(update, event=None)
        return replace(update, status=_status(patch))

    def _ended(
        self, request: StoredRequest, patch: list[Condition], ready: Condition, now: datetime
    ) -> StatusUpdate:
        """Return a final Ready=False. The time of failure stands in the same write."""
        status = _status(put_condition(request.conditions, patch, ready, now))
        return StatusUpdate(
            status=status | {"failureTime": format_time(now)},
            event=StatusEvent("Warning", "PermanentError", "SyncFailed", ready.message),
            requeue=Requeue.STOP,
            is_final=True,
        )


def match_reference(ref: IssuerRef | None, namespace: str, kinds: Sequence[Resource]) -> IssuerKey:
    """Return the issuer that a reference means, of the first kind that fits; `NotOurs` if none."""
    if ref is None:
        raise NotOurs("invalid reference, CertificateRequest is nil")
    for kind in kinds:
        if ref.group == kind.group and ref.kind in {"", kind.kind}:
            return IssuerKey(kind, Key(namespace if kind.namespaced else "", ref.name))
    raise NotOurs(
        "no issuer found for reference:"
        f' [Group="{ref.group}", Kind="{ref.kind}", Name="{ref.name}"]'
    )


def request_terms(request: CertificateRequest) -> pki.RequestTerms:
    """Return what a CertificateRequest requests beside its signing request.

    An authority's certificate may sign certificates, whether the usages name it or not.

    Raises:
        TermsError: the duration is not one, or not positive.
        pki.UnknownUsage: there is no such usage.
    """
    spec = request.spec
    return _terms(tuple(spec.usages), spec.duration or "", spec.is_ca)


@lru_cache(maxsize=8)  # most requests are alike; few, as a hostile one may be a megabyte
def _terms(words: tuple[str, ...], duration: str, is_ca: bool) -> pki.RequestTerms:  # noqa: FBT001
    usages = pki.parse_usages(words) if words else DEFAULT_USAGES
    if is_ca:
        usages = Usages(usages.key | {"cert sign"}, usages.extended)
    lifetime = DEFAULT_LIFETIME
    if duration:
        try:
            lifetime = parse_duration(duration)
        except ValueError as error:
            raise TermsError("ErrorParseDuration", f"spec.duration: {error}") from error
        if lifetime <= timedelta():
            raise TermsError("InvalidDuration", f"spec.duration: {duration} is not positive")
    return pki.RequestTerms(lifetime, is_ca, usages)


def _ready(status: ConditionStatus, reason: str, message: str) -> Condition:
    return Condition(type=READY, status=status, reason=reason, message=message)


def _status(conditions: list[Condition]) -> JsonObject:
    return {"conditions": to_builtins(conditions)}

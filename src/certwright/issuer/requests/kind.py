"""What both kinds of requests have in common: how they are stored, read and shown to authors.

Each version of a request is decoded once, when the watch delivers it: whether it enters the
store, whether it wakes its controller and what the controller does are decided on one value.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

import msgspec
import orjson
from msgspec.structs import replace as replace_struct

from certwright import pki
from certwright.client import Client
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import KindName, Offload, Request
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.result import SignResult, SignStatus
from certwright.issuer.spec import SecretData
from certwright.issuer.status import (
    STATE,
    Phase,
    Requeue,
    StatusEvent,
    StatusUpdate,
    WaitReason,
    put_condition,
)
from certwright.kube import Condition, JsonObject, Key, ObjectMeta, Resource, find_condition
from certwright.runtime import Entry

RECENT = 128
"""How many decoded requests are kept for the steps that follow."""
LARGE = 65_536
"""Bytes; requests that are larger are not kept decoded."""
_PRESENT = "AA=="
"""Stands for a certificate that a reduced request has."""


class NotOurs(LookupError):
    """A request is not for an issuer of these kinds; the message has the reason."""


class NotServed(NotOurs):
    """A request names a kind of ours that does not answer such requests."""

    def __init__(self, kind: Resource, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TermsError(ValueError):
    """What is requested cannot be granted; *reason* is that of the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """One request, decoded."""

    typed: Any
    """The object in the type of its kind."""
    conditions: tuple[Condition, ...]
    own: frozenset[str] = frozenset()
    """The types of the conditions that our field manager wrote."""

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata of the object."""
        metadata: ObjectMeta = self.typed.metadata
        return metadata

    @property
    def key(self) -> Key:
        """Namespace, empty for Kubernetes' signing requests, and name."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def created(self) -> datetime:
        """When it was created."""
        assert self.metadata.creation_timestamp is not None
        return self.metadata.creation_timestamp


class RequestKind(ABC):
    """One kind of requests: reads them, decides their phase, and writes their status.

    *issuers* are the kinds of issuers that they may refer to; of several that fit, the first
    one counts.
    """

    name: ClassVar[KindName]
    object_type: ClassVar[type[Any]]
    decoded_type: ClassVar[type[Any]]
    """As much of the object as is read: certificates stay text, which takes half the time."""
    condition_type: ClassVar[type[Any]]
    forbidden_conditions: ClassVar[frozenset[str]]
    """Condition types that authors must not set: they belong to others, or to this library."""
    rewritten: ClassVar[frozenset[str]]
    """Condition types that every status contains anew."""
    pending_warning: ClassVar[str]
    """The reason of issuer-lib's warning that signing takes its time."""

    def __init__(self, issuers: Sequence[Resource], settings: IssuerSettings) -> None:
        self.issuers = issuers
        self.settings = settings
        self.compatibility = settings.compatibility
        self.resource: Resource = self.object_type.resource
        self._recent: dict[bytes, StoredRequest] = {}

    # What each kind does in its own way

    @abstractmethod
    def match(self, request: StoredRequest) -> IssuerKey:
        """Return the issuer it refers to; `NotOurs` if it refers to something else."""

    @abstractmethod
    def is_of_group(self, request: StoredRequest) -> bool:
        """Return whether it refers to an issuer of our group, of whichever kind."""

    @abstractmethod
    def is_final(self, request: StoredRequest) -> bool:
        """Return whether it is issued, failed or denied."""

    @abstractmethod
    def phase(self, request: StoredRequest) -> Phase:
        """Return where it stands."""

    @abstractmethod
    def terms(self, request: StoredRequest) -> pki.RequestTerms:
        """Return what is requested beside the signing request; `TermsError`, `pki.UnknownUsage`."""

    @abstractmethod
    async def reference_refusal(
        self, client: Client, request: StoredRequest, issuer: IssuerKey
    ) -> SignResult | None:
        """Return why the requester may not use this issuer; None if they may."""

    @abstractmethod
    def initialize(self, request: StoredRequest, now: datetime) -> StatusUpdate:
        """Return the update that shows that work on it has begun."""

    @abstractmethod
    def deny(self, request: StoredRequest, now: datetime) -> StatusUpdate:
        """Return the update of a request that is denied."""

    @abstractmethod
    def issued(
        self, request: StoredRequest, patch: list[Any], result: SignResult, now: datetime
    ) -> StatusUpdate:
        """Return the update of a request that was signed; *patch* are conditions to keep."""

    @abstractmethod
    def failed(
        self, request: StoredRequest, patch: list[Any], result: SignResult, now: datetime
    ) -> StatusUpdate:
        """Return the update of a request that failed for good."""

    @abstractmethod
    def pending(
        self, request: StoredRequest, patch: list[Any], update: StatusUpdate, now: datetime
    ) -> StatusUpdate:
        """Return *update* with the status of a request that is not final."""

    # What both do alike

    def wait(self, request: StoredRequest, reason: WaitReason, now: datetime) -> StatusUpdate:
        """Return the update of a request that waits for its issuer."""
        event = StatusEvent("Normal", reason.reason, "Synced", reason.message)
        update = StatusUpdate(event=event, requeue=Requeue.WAIT)
        return self.pending(request, self.kept_conditions(request), update, now)

    def settle(self, request: StoredRequest, result: SignResult, now: datetime) -> StatusUpdate:
        """Return the update after an attempt to sign: issued, failed, or pending."""
        is_final = result.status in {SignStatus.ISSUED, SignStatus.FAILED}
        kept = self.kept_conditions(request, is_final=is_final)
        patch, wakes = self._with_author_conditions(request, kept, result, now)
        match result.status:
            case SignStatus.ISSUED:
                return self.issued(request, patch, result, now)
            case SignStatus.PENDING:
                message = self.compatibility.pending_text(result.text)
                event = self.compatibility.pending_event(message, self.pending_warning)
                requeue = Requeue.POLL
            case SignStatus.RETRY:
                message = f"Failed to sign {self.name}, will retry: {result.text}"
                event = StatusEvent("Warning", "RetryableError", "SyncFailed", message)
                requeue = Requeue.BACKOFF
            case _:
                return self.failed(request, patch, result, now)
        step = Requeue.STOP if wakes else requeue
        update = StatusUpdate(event=event, requeue=step, after=result.after)
        return self.pending(request, patch, update, now)

    def kept_conditions(self, request: StoredRequest, *, is_final: bool = False) -> list[Any]:
        """Return the conditions of ours that stay; the state goes when the request is final."""
        if not self.compatibility.keeps_conditions:
            return []
        kept = request.own - self.rewritten - ({STATE} if is_final else set())
        return [one for one in request.typed.status.conditions if one.type in kept]

    def _with_author_conditions(
        self, request: StoredRequest, patch: list[Any], result: SignResult, now: datetime
    ) -> tuple[list[Any], bool]:
        """Add the author's state and condition; return whether writing it wakes the request."""
        existing, make = request.typed.status.conditions, self.condition_type
        if result.state is not None and result.status is SignStatus.PENDING:
            text = orjson.dumps(result.state, option=orjson.OPT_SORT_KEYS).decode()
            if not any(one.type == STATE and one.message == text for one in patch):
                state = make(type=STATE, status="True", reason="Carried", message=text)
                patch = put_condition(existing, patch, state, now)
        asked = result.condition
        if asked is None:
            return patch, False
        custom = make(
            type=asked.type, status=asked.status, reason=asked.reason, message=asked.message
        )
        is_new = all(one.type != custom.type or one.status != custom.status for one in existing)
        return put_condition(existing, patch, custom, now), is_new

    # Stores

    def decode(self, raw: bytes) -> StoredRequest:
        """Decode an object, or return what was decoded before; `ValidationError` if malformed."""
        known = self._recent.get(raw)
        if known is None:
            known = self._decode(raw)
            self._remember(raw, known)
        return known

    def read(self, entry: Entry) -> StoredRequest:
        """Return a request of a store, with our own conditions; `BadObject` if it is malformed."""
        try:
            request = self.decode(entry.raw)
        except msgspec.ValidationError:
            entry.as_(self.object_type)  # raises what names the object and the field
            raise
        if not entry.own_fields:
            return request
        return replace(request, own=_own_conditions(entry, self.settings.field_manager))

    def reduce(self, raw: bytes) -> bytes:
        """Return an object without its PEM texts, unless it may have to be signed by us.

        Of those that others sign and those that are final there are a thousand times as many.
        """
        try:
            request = self._decode(raw)
        except msgspec.ValidationError:
            return raw
        if not self._is_open(request):
            _remove_texts(request.typed)
            raw = msgspec.json.encode(request.typed)
        self._remember(raw, request)
        return raw

    def is_wanted(self, entry: Entry) -> bool:
        """Return whether a store should hold an object: it may have to be signed by us."""
        try:
            return self._is_open(self.decode(entry.raw))
        except msgspec.ValidationError:
            return True  # the controller reports what is wrong with it

    def _is_open(self, request: StoredRequest) -> bool:
        return self.is_of_group(request) and not self.is_final(request)

    def _decode(self, raw: bytes) -> StoredRequest:
        typed = msgspec.json.decode(raw, type=self.decoded_type)
        return StoredRequest(typed, tuple(map(_plain, typed.status.conditions)))

    def _remember(self, raw: bytes, request: StoredRequest) -> None:
        if len(raw) > LARGE:
            return
        if len(self._recent) >= RECENT:
            del self._recent[next(iter(self._recent))]
        self._recent[raw] = request

    # Authors

    def for_author(
        self,
        request: StoredRequest,
        issuer: IssuerKey,
        *,
        attempt: int,
        now: datetime,
        read_secret: Callable[[str], Awaitable[SecretData]],
        offload: Offload,
    ) -> Request:
        """Return a request as authors get it, whichever of the two kinds it is."""
        metadata, spec = request.metadata, request.typed.spec
        state = find_condition(request.conditions, STATE)
        return Request(
            kind=self.name,
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            created=request.created,
            labels=metadata.labels,
            annotations=metadata.annotations,
            conditions=request.conditions,
            issuer_kind=issuer.kind.kind,
            issuer_name=issuer.key.name,
            issuer_namespace=issuer.key.namespace,
            username=spec.username,
            user_uid=spec.uid,
            groups=tuple(spec.groups),
            extra={name: tuple(values) for name, values in spec.extra.items()},
            csr_pem=spec.request.decode("latin-1"),
            attempt=attempt,
            state=_read_state(state.message) if state is not None else {},
            now=now,
            read_terms=lambda: self.terms(request),
            read_secret=read_secret,
            offload=offload,
        )


def _plain(condition: Any) -> Condition:
    """Return a condition of either kind in the type that authors know."""
    if isinstance(condition, Condition):
        return condition
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=condition.last_transition_time,
    )


def _remove_texts(typed: Any) -> None:
    """Put a mark in the place of the certificates of an object that nothing else refers to."""
    spec, status = typed.spec, typed.status
    typed.spec = replace_struct(spec, request=b"", groups=[], extra={})
    if status.certificate:
        present = {"ca": _PRESENT} if getattr(status, "ca", "") else {}
        typed.status = replace_struct(status, certificate=_PRESENT, **present)


def _own_conditions(entry: Entry, field_manager: str) -> frozenset[str]:
    """Return the types of the conditions that our field manager wrote."""
    found: set[str] = set()
    for managed in entry.managed_fields:
        if managed.get("manager") != field_manager or managed.get("subresource") != "status":
            continue
        fields: Mapping[str, Any] = managed.get("fieldsV1") or {}
        held: JsonObject = (fields.get("f:status") or {}).get("f:conditions") or {}
        for element in held:
            if element.startswith("k:"):
                found.add(orjson.loads(element[2:]).get("type", ""))
    return frozenset(found)


def _read_state(text: str) -> JsonObject:
    """Return the state that a condition holds; empty if something else was written there."""
    try:
        state = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return state if isinstance(state, dict) else {}

"""The two kinds of requests behind one counter: read, matched, judged and answered alike."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from certwright import pki
from certwright.issuer.conditions import STATE
from certwright.issuer.request import Offload, Request
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.outcomes import Change, Waiting
from certwright.issuer.requests.phase import Gate
from certwright.issuer.requests.state import carried
from certwright.issuer.secrets import SecretData
from certwright.issuer.sign.verdicts import Verdict
from certwright.kube import Condition, JsonObject, Key, ObjectMeta, Resource, find_condition
from certwright.runtime import Entry


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it was read."""

    metadata: ObjectMeta
    conditions: tuple[Condition, ...]
    typed: Any
    """The object in the type of its kind."""
    said: Any
    """Its conditions with what is ours among them, in the form its scribe takes."""

    @property
    def key(self) -> Key:
        """Where it lives."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def created(self) -> datetime:
        """When it was created."""
        assert self.metadata.creation_timestamp is not None
        return self.metadata.creation_timestamp


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a `Request` holds beside the object: when, which time, and ways to do things."""

    now: datetime
    attempt: int
    read_secret: Callable[[str], Awaitable[SecretData]]
    offload: Offload


class Desk(Protocol):
    """One kind of requests."""

    @property
    def resource(self) -> Resource:
        """The kind."""
        ...

    @property
    def forbidden(self) -> frozenset[str]:
        """Condition types that authors must not set."""
        ...

    def read(self, entry: Entry) -> Asked:
        """Read a request from its store; `BadObject` if it has another shape."""
        ...

    def match(self, asked: Asked) -> IssuerAt:
        """Find the issuer; `NotOurs` if it is somebody else's."""
        ...

    def gate(self, asked: Asked) -> Gate:
        """Judge what the request is ready for."""
        ...

    def is_final(self, asked: Asked) -> bool:
        """Whether it is settled, one way or the other."""
        ...

    def is_issued(self, asked: Asked) -> bool:
        """Whether it has a certificate."""
        ...

    def terms(self, asked: Asked) -> pki.RequestTerms:
        """Read what is asked for beside the signing request; `TermsError` or `PkiError`."""
        ...

    def initialize(self, asked: Asked, now: datetime) -> Change:
        """Say that it was seen."""
        ...

    def deny(self, asked: Asked, now: datetime) -> Change:
        """Say that it is denied."""
        ...

    def wait(self, asked: Asked, why: Waiting, now: datetime) -> Change:
        """Say that it waits for its issuer."""
        ...

    def settle(self, asked: Asked, verdict: Verdict, now: datetime) -> Change:
        """Say how an attempt to sign ended."""
        ...


class TermsError(ValueError):
    """What is asked for cannot be read; *reason* is what the condition says."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def request_of(desk: Desk, asked: Asked, at: IssuerAt, around: Circumstances) -> Request:
    """Return a request as authors get it: both kinds have the same to say, but for their terms."""
    metadata, spec = asked.metadata, asked.typed.spec
    held = find_condition(asked.conditions, STATE)
    return Request(
        kind=asked.typed.resource.kind,
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        created=asked.created,
        labels=metadata.labels,
        annotations=metadata.annotations,
        conditions=asked.conditions,
        issuer_kind=at.kind.kind,
        issuer_name=at.key.name,
        issuer_namespace=at.key.namespace,
        username=spec.username,
        user_uid=spec.uid,
        groups=tuple(spec.groups),
        extra={name: tuple(values) for name, values in spec.extra.items()},
        csr_pem=spec.request.decode("latin-1"),
        attempt=around.attempt,
        state=carried(held.message) if held is not None else {},
        now=around.now,
        read_terms=lambda: desk.terms(asked),
        read_secret=around.read_secret,
        offload=around.offload,
    )


def own_conditions(entry: Entry, field_owner: str) -> frozenset[str]:
    """Return the types of the conditions that our field manager holds on an object."""
    found: set[str] = set()
    for managed in entry.managed_fields:
        if managed.get("manager") != field_owner or managed.get("subresource") != "status":
            continue
        fields: Mapping[str, Any] = managed.get("fieldsV1") or {}
        held: JsonObject = (fields.get("f:status") or {}).get("f:conditions") or {}
        for element in held:
            if element.startswith("k:"):
                found.add(orjson.loads(element[2:]).get("type", ""))
    return frozenset(found)

"""Requests and issuers as the stores hold them, at an epoch that nobody can guess."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from certwright.issuer.author import Author
from certwright.issuer.check.reader import IssuerRecord, read_issuer
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import Bundle
from certwright.issuer.requests.certificaterequest import CertificateRequestKind
from certwright.issuer.requests.controller import before_signing
from certwright.issuer.requests.kind import NotOurs, RequestKind, StoredRequest
from certwright.issuer.requests.signingrequest import SigningRequestKind
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.result import SignResult, SignStatus, classify
from certwright.issuer.sign.sign import error_rules
from certwright.issuer.sign.window import is_window_open
from certwright.issuer.status import Phase, Requeue, StatusUpdate, issuer_outdated
from certwright.kube import JsonObject, Key, Resource, format_time
from certwright.runtime import Entry
from certwright.runtime.cache.entries import Meta

# A random second of the last decade: whatever asks the machine's clock instead is found out.
T1 = datetime.fromtimestamp(random.SystemRandom().randrange(1_500_000_000, 1_800_000_000), UTC)
T2 = T1 + timedelta(hours=4)

ISSUER = Resource("testing.cert-manager.io", "api", "TestIssuer", "testissuers")
CLUSTER_ISSUER = Resource(
    "testing.cert-manager.io", "api", "TestClusterIssuer", "testclusterissuers", namespaced=False
)
KINDS = (ISSUER, CLUSTER_ISSUER)
FIELD_OWNER = "test-field-owner"
MAX_RETRY = timedelta(minutes=1)


def at(instant: datetime) -> str:
    return format_time(instant)


def condition(
    type_: str, status: str, reason: str = "", message: str = "", **more: Any
) -> JsonObject:
    made = {"type": type_, "status": status, "reason": reason, "message": message, **more}
    return {name: value for name, value in made.items() if value != ""}


def entry_of(obj: JsonObject, own: tuple[str, ...] = ()) -> Entry:
    """Return an object as a store holds it, *own* being the conditions we applied."""
    held: JsonObject = {f"k:{orjson.dumps({'type': one}).decode()}": {} for one in own}
    managed = [
        {
            "manager": FIELD_OWNER,
            "operation": "Apply",
            "subresource": "status",
            "fieldsV1": {"f:status": {"f:conditions": held}},
        }
    ]
    metadata = obj["metadata"]
    key = Key(metadata.get("namespace", ""), metadata["name"])
    return Entry(key, Meta("1"), orjson.dumps(obj), orjson.dumps(managed) if own else b"")


def issuer(
    kind: Resource = ISSUER, *, generation: int = 70, ready: JsonObject | None = None
) -> Entry:
    """Return the issuer of the fixture: generation 70, ready for it since T1."""
    conditions = [
        condition(
            "Ready", "True", "Checked", "Succeeded checking the issuer",
            lastTransitionTime=at(T1), observedGeneration=70,
        )
        if ready is None
        else ready
    ]  # fmt: skip
    return entry_of(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {
                "name": "issuer-1",
                "generation": generation,
                **({"namespace": "ns1"} if kind.namespaced else {}),
            },
            "status": {"conditions": [one for one in conditions if one]},
        }
    )


@dataclass
class Looked:
    """What one look at a request led to."""

    update: StatusUpdate | None
    """None when it was left alone."""

    @property
    def conditions(self) -> list[JsonObject]:
        assert self.update is not None
        assert self.update.status is not None
        found: list[JsonObject] = self.update.status.get("conditions", [])
        return found

    @property
    def event(self) -> str:
        assert self.update is not None
        event = self.update.event
        return f"{event.type} {event.reason} {event.note}" if event else ""

    @property
    def requeue(self) -> Requeue:
        assert self.update is not None
        return self.update.requeue


LEFT_ALONE = Looked(None)


@dataclass
class Reconciler:
    """The decisions of the request controller, in its order, without a cluster."""

    kind: RequestKind
    issuers: dict[IssuerKey, Entry] = field(default_factory=lambda: both_issuers())

    def look(self, request: Entry, sign: Exception | Bundle | None = None) -> Looked:
        """Look once; *sign* is what the author's function raises or returns."""
        stored = self.kind.read(request)
        try:
            where = self.kind.match(stored)
        except NotOurs:
            return LEFT_ALONE
        phase = self.kind.phase(stored)
        if phase in {Phase.CLOSED, Phase.UNAPPROVED}:
            return LEFT_ALONE
        held = self.issuers.get(where)
        record = read_issuer(where, held) if held is not None else None
        update = before_signing(self.kind, stored, phase, where, record, None, T2)
        return Looked(update if update is not None else self._signed(stored, record, sign))

    def _signed(
        self, stored: StoredRequest, record: IssuerRecord | None, sign: Exception | Bundle | None
    ) -> StatusUpdate:
        assert record is not None
        assert sign is not None, "sign was not to be called"
        if isinstance(sign, Bundle):
            result = SignResult(status=SignStatus.ISSUED, bundle=sign)
        else:
            is_open = is_window_open(stored.created, MAX_RETRY, T2)
            result = classify(
                sign,
                is_window_open=is_open,
                forbidden_conditions=self.kind.forbidden_conditions,
                rules=error_rules(Author(), self.kind.settings),
            )
        if result.status is SignStatus.ISSUER_ERROR:
            return self.kind.wait(stored, issuer_outdated(), T2)
        return self.kind.settle(stored, result, T2)


def request_kind(compat: Any, *, set_ca: bool = False) -> CertificateRequestKind:
    return CertificateRequestKind(KINDS, _settings(compat, set_ca=set_ca))


def signing_kind(compat: Any) -> SigningRequestKind:
    return SigningRequestKind(KINDS, _settings(compat))


def _settings(compat: Any, *, set_ca: bool = False) -> IssuerSettings:
    return IssuerSettings(group=ISSUER.group, field_owner=FIELD_OWNER, compat=compat, set_ca=set_ca)


def both_issuers() -> dict[IssuerKey, Entry]:
    """Return both issuers of the fixture, ready."""
    return {
        IssuerKey(ISSUER, Key("ns1", "issuer-1")): issuer(),
        IssuerKey(CLUSTER_ISSUER, Key("", "issuer-1")): issuer(CLUSTER_ISSUER),
    }

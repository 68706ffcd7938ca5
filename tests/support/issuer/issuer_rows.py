"""Requests and issuers as the stores hold them, at an epoch that nobody can guess."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from certwright.issuer.bundle import Bundle
from certwright.issuer.check.reader import IssuerRecord, read_issuer
from certwright.issuer.requests.certificaterequests import CertificateRequests
from certwright.issuer.requests.desk import Asked, Desk
from certwright.issuer.requests.judgement import before_signing
from certwright.issuer.requests.match import IssuerAt, NotOurs
from certwright.issuer.requests.outcomes import Change, Next, outdated
from certwright.issuer.requests.phase import Gate
from certwright.issuer.requests.requeststatus import RequestScribe
from certwright.issuer.requests.signingrequests import SigningRequests
from certwright.issuer.requests.signingstatus import SigningScribe
from certwright.issuer.requests.window import is_window_open
from certwright.issuer.sign.verdicts import Result, classify, issued
from certwright.kube import JsonObject, Key, Resource, format_time
from certwright.runtime import Entry
from certwright.runtime.cache.entry import Meta

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
    held = {f"k:{orjson.dumps({'type': one}).decode()}": {} for one in own}
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

    change: Change | None
    """None when it was left alone."""

    @property
    def conditions(self) -> list[JsonObject]:
        assert self.change is not None
        assert self.change.status is not None
        return self.change.status.get("conditions", [])

    @property
    def event(self) -> str:
        assert self.change is not None
        notice = self.change.notice
        return f"{notice.type} {notice.reason} {notice.note}" if notice else ""

    @property
    def next(self) -> Next:
        assert self.change is not None
        return self.change.next


LEFT_ALONE = Looked(None)


@dataclass
class Reconciler:
    """The decisions of the request loop, in its order, without a cluster."""

    desk: Desk
    issuers: dict[IssuerAt, Entry] = field(default_factory=lambda: both_issuers())

    def look(self, request: Entry, sign: Exception | Bundle | None = None) -> Looked:
        """Look once; *sign* is what the author's function raises or returns."""
        asked = self.desk.read(request)
        try:
            where = self.desk.match(asked)
        except NotOurs:
            return LEFT_ALONE
        if self.desk.gate(asked) in {Gate.LEAVE, Gate.UNAPPROVED}:
            return LEFT_ALONE
        held = self.issuers.get(where)
        record = read_issuer(where, held) if held is not None else None
        said = before_signing(self.desk, asked, where, record, None, T2)
        return Looked(said if said is not None else self._signed(asked, record, sign))

    def _signed(
        self, asked: Asked, record: IssuerRecord | None, sign: Exception | Bundle | None
    ) -> Change:
        assert record is not None
        assert sign is not None, "sign was not to be called"
        if isinstance(sign, Bundle):
            verdict = issued(sign)
        else:
            is_open = is_window_open(asked.created, MAX_RETRY, T2)
            verdict = classify(
                sign, is_window_open=is_open, forbidden_conditions=self.desk.forbidden
            )
        if verdict.result is Result.ISSUER_ERROR:
            return self.desk.wait(asked, outdated(), T2)
        return self.desk.settle(asked, verdict, T2)


def request_desk(compat: Any, *, set_ca: bool = False) -> CertificateRequests:
    scribe = RequestScribe(field_owner=FIELD_OWNER, compat=compat, set_ca=set_ca)
    return CertificateRequests(KINDS, scribe, compat)


def signing_desk(compat: Any) -> SigningRequests:
    return SigningRequests(KINDS, SigningScribe(compat=compat), FIELD_OWNER)


def both_issuers() -> dict[IssuerAt, Entry]:
    """Return both issuers of the fixture, ready."""
    return {
        IssuerAt(ISSUER, Key("ns1", "issuer-1")): issuer(),
        IssuerAt(CLUSTER_ISSUER, Key("", "issuer-1")): issuer(CLUSTER_ISSUER),
    }

"""An issuer under every fault at every point: nobody is forgotten, nobody is served twice."""

import asyncio
from base64 import b64decode, b64encode
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer import Bundle, Issuer, IssuerApp, Pending, Request
from certwright.kube import JsonObject
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    stale_restart,
    survives,
)
from certwright.testkit.faults.endstate import differences
from certwright.testkit.faults.faults import CutWatch, Unreachable
from certwright.testkit.faults.simulation import Play, run

GROUP = "faults.certwright.dev"
NAMES = ("one", "two", "three", "late", "ticket", "flaky", "signing")


def _key() -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))


KEYS = {name: _key() for name in NAMES}
CSRS = {
    name: pki.write_request(
        pki.build_request(key, pki.parse_name(f"CN={name}"), pki.AlternativeNames.of_hosts(f"{name}.example"))
    )
    for name, key in KEYS.items()
}  # fmt: skip
CA_KEY = _key()


@dataclass
class Ledger:
    """What a run signed, and for which process."""

    cluster: EmbeddedCluster | None = None
    ca: pki.Authority | None = None
    signed: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    failed_once: bool = False

    def begin(self, cluster: EmbeddedCluster) -> None:
        """Start a run with an authority that is older than any jump of the clock."""
        self.cluster = cluster
        self.signed.clear()
        self.wrong.clear()
        self.failed_once = False
        born = cluster.clock.now() - timedelta(days=30)
        self.ca = pki.create_root(pki.parse_name("CN=CA"), CA_KEY, timedelta(days=3650), born)

    def sign(self, request: Request) -> None:
        """Note a signature, and what speaks against it."""
        assert self.cluster is not None
        process = cast("Any", request.offload).__self__.client
        if any(process is before for before in self.signed[request.uid]):
            self.wrong.append(f"{request.name} was signed twice by one process")
        self.signed[request.uid].append(process)
        for obj in self.cluster.server.objects():
            if obj["metadata"]["uid"] == request.uid and (obj.get("status") or {}).get(
                "certificate"
            ):
                self.wrong.append(f"{request.name} was signed although it has a certificate")


LEDGER = Ledger()


@dataclass(frozen=True)
class Spec:
    """Nothing to be told."""


app = IssuerApp(group=GROUP, kind="FaultIssuer", spec=Spec, max_retry=timedelta(days=365))


@app.check(every=timedelta(hours=12))
async def check(_issuer: Issuer[Spec]) -> None:
    """Be fine."""


@app.sign
async def sign(request: Request, _issuer: Issuer[Spec]) -> Bundle:
    """Sign; some take a ticket first, some fail once."""
    if request.name == "ticket" and not request.state:
        raise Pending("take a ticket", after=2, state={"ticket": request.uid})
    if request.name == "ticket" and request.state != {"ticket": request.uid}:
        LEDGER.wrong.append("the ticket is somebody else's")
    if request.name == "flaky" and not LEDGER.failed_once:
        LEDGER.failed_once = True
        raise ConnectionError("the line is bad")
    assert LEDGER.ca is not None
    LEDGER.sign(request)
    return await request.sign_with(LEDGER.ca)


small_app = IssuerApp(
    group=GROUP,
    kind="FaultIssuer",
    spec=Spec,
    max_retry=timedelta(days=365),
    cluster=False,
    kubernetes_csrs=False,
)
small_app.check(every=timedelta(hours=12))(check)
small_app.sign(sign)


async def issuer(cluster: EmbeddedCluster, name: str, kind: str = "FaultIssuer") -> None:
    await cluster.create(
        {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": {}}
    )


async def request(
    cluster: EmbeddedCluster, name: str, of: str = "ca", say: str = "Approved"
) -> None:
    spec = {
        "request": b64encode(CSRS.get(name, CSRS["one"])).decode(),
        "issuerRef": {"name": of, "kind": "FaultIssuer", "group": GROUP},
    }
    kind = {"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest"}
    await cluster.create({**kind, "metadata": {"name": name}, "spec": spec})
    condition = {"type": say, "status": "True", "reason": "Tested", "message": "by a test"}
    await cluster.client.apply(
        {
            **kind,
            "metadata": {"name": name, "namespace": "default"},
            "status": {"conditions": [condition]},
        },
        subresource="status",
    )


async def signing_request(cluster: EmbeddedCluster, name: str) -> None:
    made = await cluster.create(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "request": b64encode(CSRS[name]).decode(),
                "signerName": f"faultclusterissuers.{GROUP}/ca",
                "usages": ["digital signature"],
            },
        }
    )
    condition = {"type": "Approved", "status": "True", "reason": "Tested", "message": "by a test"}
    made["status"] = {"conditions": [condition]}
    await cluster.client.update(made, subresource="approval")


async def life(cluster: EmbeddedCluster) -> None:
    """Everything that happens to requests."""
    LEDGER.begin(cluster)
    await cluster.serve(*app.kinds, CertificateRequest)
    await issuer(cluster, "ca")
    await request(cluster, "one")
    await cluster.settle()
    await request(cluster, "two")
    await request(cluster, "ticket")
    await request(cluster, "late", of="later")
    await request(cluster, "no", say="Denied")
    await cluster.advance(seconds=10)
    await issuer(cluster, "later")
    await issuer(cluster, "ca", "FaultClusterIssuer")
    await signing_request(cluster, "signing")
    await request(cluster, "flaky")
    await request(cluster, "three")
    await cluster.advance(minutes=5)
    await judge(cluster, *NAMES, "no")


async def short_life(cluster: EmbeddedCluster) -> None:
    """One request that is signed at once, one that takes a ticket."""
    LEDGER.begin(cluster)
    await cluster.serve(*small_app.kinds, CertificateRequest)
    await issuer(cluster, "ca")
    await request(cluster, "one")
    await cluster.settle()
    await request(cluster, "ticket")
    await cluster.advance(minutes=5)
    await judge(cluster, "one", "ticket")


async def judge(cluster: EmbeddedCluster, *names: str) -> None:
    """Require that everybody has their own certificate, and what the ledger says to be good."""
    assert not LEDGER.wrong, LEDGER.wrong
    found = [obj for obj in cluster.server.objects() if obj["kind"].endswith("Request")]
    assert {obj["metadata"]["name"] for obj in found} == set(names)
    for obj in found:
        fits(obj)


def fits(obj: JsonObject) -> None:
    """Require that a request has the certificate it asked for, and no other."""
    name, encoded = obj["metadata"]["name"], obj["status"].get("certificate")
    if name == "no":
        assert encoded is None
        return
    assert encoded, f"{name} was forgotten"
    pki.check_key_pair(pki.read_chain(b64decode(encoded)).leaf, KEYS[name])


IGNORED = ("CertificateRequest.status.certificate", "CertificateSigningRequest.status.certificate")


def test_crash_after_every_write() -> None:
    assert survives(life, app.operator, crash_after_every_write, ignore=IGNORED, most=40) >= 40


def test_restart_into_every_earlier_state() -> None:
    assert survives(short_life, small_app.operator, stale_restart, ignore=IGNORED) > 30


def test_events_dropped_repeated_late_and_out_of_order() -> None:
    tortures = (drop_each_event, repeat_each_event, delay_each_event)
    survives(short_life, small_app.operator, *tortures, ignore=IGNORED, most=12)


def test_watches_that_break() -> None:
    survives(short_life, small_app.operator, break_each_watch, ignore=IGNORED, most=12)


def test_requests_that_fail() -> None:
    tortures = (refuse_every_write, lose_every_answer, fail_every_request)
    survives(short_life, small_app.operator, *tortures, ignore=IGNORED, most=12)


@dataclass
class Outage:
    """A plan in which the server cannot be reached for ten minutes, from some request on."""

    first: int
    until: float = 0.0

    def on_request(self, _request: Any, number: int, _write: int) -> Unreachable | None:
        """Refuse everything while it lasts."""
        now = asyncio.get_running_loop().time()
        if number == self.first:
            self.until = now + 600
        return Unreachable() if now < self.until else None

    def on_event(self, _number: int) -> CutWatch | None:
        """Break the watches, too."""
        return CutWatch() if asyncio.get_running_loop().time() < self.until else None

    def latency(self) -> float:
        """Return the same for all."""
        return 0.001


def test_outages_of_ten_minutes() -> None:
    async def patient_life(cluster: EmbeddedCluster) -> None:
        LEDGER.begin(cluster)
        await cluster.serve(*small_app.kinds, CertificateRequest)
        await issuer(cluster, "ca")
        await request(cluster, "one")
        await cluster.settle()
        await request(cluster, "ticket")
        await cluster.advance(minutes=20)
        await judge(cluster, "one", "ticket")

    play = Play(patient_life, (small_app.operator,), IGNORED)
    calm = run(play)
    for number in range(1, calm.requests + 1):
        hit = run(play, Outage(number))
        assert not hit.failure
        assert not differences(calm.state, hit.state)


@pytest.mark.parametrize("part", range(20))
def test_random_storms(part: int) -> None:
    simulate(short_life, small_app.operator, seeds=range(part, 2000, 20), ignore=IGNORED)


@pytest.mark.parametrize("part", range(2))
def test_random_storms_over_a_long_life(part: int) -> None:
    simulate(life, app.operator, seeds=range(part, 40, 2), ignore=IGNORED)

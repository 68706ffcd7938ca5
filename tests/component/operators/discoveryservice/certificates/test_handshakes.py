"""Envoys and pods whose volumes follow late shake hands all the time while an authority goes."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    LABELS,
    SERVER,
    Certifying,
)
from tests.support.envoy.played import PlayedEnvoy
from tests.support.rotation import SecretHistory, Written, verifies

from certwright import pki
from certwright.kube import Key
from certwright.kube.kinds import Pod
from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
from certwright.operators.discoveryservice.connected.reporter import CertificateReporter
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Cache, Operator, OperatorHost, Part
from certwright.tls.certificates import ServingPair, TlsFiles
from certwright.xds.access import ClientIdentity
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore

STEP_SECONDS = 5
PODS = {"pod-1": 0.0, "pod-2": 60.0}
"""How late the volumes of the control plane follow, in seconds."""
ENVOYS = {"10.0.0.1": 0.0, "10.0.0.2": 30.0, "10.0.0.3": 90.0, "10.0.0.4": 120.0}
"""How late those of Envoys do, by their address."""


class LateServer:
    """The discovery server of one pod; every connection is a handshake that may fail."""

    def __init__(self, site: "LateSite", lag: float) -> None:
        self.connections = Connections()
        self.envoys: dict[str, PlayedEnvoy] = {}
        self._site = site
        self._lag = lag

    @property
    def held(self) -> Written:
        """What its volume holds now."""
        return self._site.mounted(Key("default", SERVER), self._lag)

    def pair(self) -> ServingPair:
        """Return what it presents, and whom it trusts."""
        leaf, bundle = self.held.leaf, self.held.bundle
        return ServingPair(
            TlsFiles(b"", b""),
            "",
            f"{leaf.serial_number:x}",
            pki.Validity.of(leaf),
            pki.write_bundle(list(bundle)),
        )

    def connect(self, host: str) -> None:
        """Shake hands with an Envoy, which shows what its volume holds now."""
        theirs, mine = self._site.mounted(Key("a", CLIENT), ENVOYS[host]), self.held
        self._site.handshakes += 1
        if not verifies(mine, theirs) or not verifies(theirs, mine):
            self._site.failures.append(f"{host} at {self._site.now:.0f} s")
        serial = f"{theirs.leaf.serial_number:x}"
        self.envoys[host] = PlayedEnvoy(
            SnapshotStore(), self.connections, self._site.clock, NodeKey("a", "gateway"),
            f"{host}:1", serial=serial,
        )  # fmt: skip

    def ask_to_reconnect(
        self, over: timedelta, which: Callable[[ClientIdentity], bool] = lambda _: True
    ) -> int:
        assert over > timedelta()
        now = self._site.clock.now()
        found = [
            host
            for host, one in self.envoys.items()
            if which(ClientIdentity("x", "a", one.serial, now))
        ]
        for host in found:
            self.envoys.pop(host).leave()
            self.connect(host)
        return len(found)


class LateSite:
    """Two pods, four Envoys that wander between them, and volumes that follow late."""

    def __init__(self, certifying: Certifying) -> None:
        self.certifying = certifying
        self.clock = certifying.cluster.clock
        self.history = SecretHistory.of(certifying.cluster)
        self.servers = {name: LateServer(self, lag) for name, lag in PODS.items()}
        self.reporters: list[CertificateReporter] = []
        self.failures: list[str] = []
        self.handshakes = 0

    @property
    def now(self) -> float:
        """Seconds on the loop."""
        return asyncio.get_running_loop().time()

    def mounted(self, secret: Key, lag: float) -> Written:
        """Return what a volume holds now."""
        return self.history.mounted(secret, lag, self.now)

    async def start(self) -> None:
        """Issue all certificates, start the pods and connect the Envoys."""
        await self.certifying.plane("a")
        await self.certifying.settle()
        cluster = self.certifying.cluster
        for name in PODS:
            await cluster.create(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": name, "labels": LABELS},
                    "spec": {"containers": [{"name": "c", "image": "c"}]},
                }
            )
            ready = {"type": "Ready", "status": "True"}
            status = {"phase": "Running", "conditions": [ready]}
            await cluster.patch(Pod, name, {"status": status}, subresource="status")
            await cluster.settle(self._replica(name))
        for host in ENVOYS:
            self.servers["pod-1"].connect(host)
        await self.certifying.advance(minutes=3)

    def _replica(self, name: str) -> Operator:
        server = self.servers[name]

        def build(host: OperatorHost) -> Iterator[Part]:
            cache = Cache(host.client, cluster=name, rng=host.rng)
            identity = ReplicaIdentity("x", Key("default", name))
            reporter = CertificateReporter(
                host.client, host.clock, cache, server, server.pair, identity
            )
            self.reporters.append(reporter)
            yield cache
            yield reporter

        return Operator(name, build)

    async def run(self, minutes: float) -> bool:
        """Let time pass, every Envoy going to the other pod each time; return if it is over."""
        old = (await self.certifying.pair(CA)).serial
        await self.certifying.request_renewal(CA)
        first, second = self.servers.values()
        for _ in range(int(minutes * 60 / STEP_SECONDS)):
            await self.certifying.advance(seconds=STEP_SECONDS)
            moves = [(first, second, host) for host in first.envoys]
            moves += [(second, first, host) for host in second.envoys]
            for source, target, host in moves:
                source.envoys.pop(host).leave()
                target.connect(host)
            for reporter in self.reporters:
                reporter.wake()  # what the server presents may be another
            done = await self.certifying.phase() == "Stable"
            if done and (await self.certifying.pair(CA)).serial != old:
                return True
        return False


@pytest.mark.scenario("DS-22")
@pytest.mark.scenario("DS-61")
async def test_no_handshake_fails_and_time_alone_is_not_waited_for(certifying: Certifying) -> None:
    certifying.settings = {
        "observer": ReportObserver(),
        "watched": WATCHED,
        "propagation": timedelta(hours=1),
    }
    site = LateSite(certifying)
    await site.start()
    assert await site.run(minutes=40), await certifying.status(CA)
    assert site.failures == []
    assert site.handshakes > 200


@pytest.mark.parametrize("seconds", [0, 30])
async def test_with_less_time_than_volumes_take_handshakes_fail(
    certifying: Certifying, seconds: int
) -> None:
    """So that it is known that the other test would notice."""
    short = timedelta(seconds=seconds)
    certifying.settings = {"propagation": short, "soonest": short}
    site = LateSite(certifying)
    await site.start()
    await site.run(minutes=10)
    assert site.failures

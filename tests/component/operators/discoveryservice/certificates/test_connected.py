"""Pods of a control plane report what their Envoys have shown, and the rotation goes by it."""

from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    LABELS,
    SERVER,
    Certifying,
    writes,
)
from tests.support.envoy.played import PlayedEnvoy

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Lease, Pod
from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
from certwright.operators.discoveryservice.connected.report import CertificateReport, read_report
from certwright.operators.discoveryservice.connected.reporter import CertificateReporter
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Cache, Operator, OperatorHost, Part
from certwright.testkit import Calls
from certwright.tls.certificates import ServingPair, TlsFiles, check_files
from certwright.xds.access import ClientIdentity
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore

NAMESPACES = ("a", "b")


class PlayedServer:
    """The discovery server of one pod; its Envoys come back at once when they are asked to."""

    def __init__(self, plane: "PlayedPods") -> None:
        self.connections = Connections()
        self.asked = 0
        self.envoys: dict[str, PlayedEnvoy] = {}
        self._plane = plane

    def connect(self, namespace: str, host: str) -> None:
        """Connect an Envoy, with the certificate that is mounted into its Pod."""
        serial = self._plane.stuck.get(host) or self._plane.mounted[namespace]
        node = NodeKey(namespace, "gateway")
        self.envoys[host] = PlayedEnvoy(
            SnapshotStore(), self.connections, self._plane.clock, node, f"{host}:1", serial=serial
        )

    def ask_to_reconnect(
        self, over: timedelta, which: Callable[[ClientIdentity], bool] = lambda _: True
    ) -> int:
        assert over > timedelta()
        chosen = [(host, one) for host, one in self.envoys.items() if which(self._identity(one))]
        for host, envoy in chosen:
            assert envoy.node is not None
            envoy.leave()
            self.connect(envoy.node.namespace, host)
        self.asked += len(chosen)
        return len(chosen)

    def _identity(self, envoy: PlayedEnvoy) -> ClientIdentity:
        assert envoy.node is not None
        return ClientIdentity("x", envoy.node.namespace, envoy.serial, self._plane.clock.now())


class PlayedPods:
    """Two pods of the control plane, their Envoys, and the kubelets that mount Secrets."""

    def __init__(self, certifying: Certifying) -> None:
        self.certifying = certifying
        self.clock = certifying.cluster.clock
        self.mounted: dict[str, str] = {}
        """By namespace, the serial number of what is mounted."""
        self.stuck: dict[str, str] = {}
        """By address, what is mounted into Pods whose volume does not follow."""
        self.pair: ServingPair | None = None
        self.servers: dict[str, PlayedServer] = {}
        self.reporters: list[CertificateReporter] = []

    async def mount(self) -> None:
        """Bring all Secrets into all Pods."""
        for namespace in NAMESPACES:
            self.mounted[namespace] = (await self.certifying.pair(f"{namespace}/{CLIENT}")).serial
        data = (await self.certifying.secret(SERVER))["data"]
        found = {name: b64decode(value) for name, value in data.items()}
        files = TlsFiles(found["tls.crt"], found["tls.key"], client_authority=found["ca.crt"])
        self.pair = check_files(files, self.clock.now())
        for reporter in self.reporters:
            reporter.wake()

    async def pod(self, name: str) -> None:
        """Create a pod that runs and is ready."""
        cluster = self.certifying.cluster
        container = {"name": "marin3r", "image": "certwright:test"}
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": LABELS},
                "spec": {"containers": [container]},
            }
        )
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "conditions": [ready]}
        await cluster.patch(Pod, name, {"status": status}, subresource="status")

    def replica(self, name: str) -> Operator:
        """Return what runs in a pod."""
        server = self.servers[name] = PlayedServer(self)

        def build(host: OperatorHost) -> Iterator[Part]:
            cache = Cache(host.client, cluster=name, rng=host.rng)
            identity = ReplicaIdentity("x", Key("default", name))
            reporter = CertificateReporter(
                host.client, host.clock, cache, server, lambda: self.pair, identity
            )
            self.reporters.append(reporter)
            yield cache
            yield reporter

        return Operator(name, build)

    async def report(self, name: str) -> CertificateReport | None:
        """Return what a pod reports."""
        lease: JsonObject | None = await self.certifying.cluster.find(Lease, name)
        return read_report(lease) if lease is not None else None

    async def advance(self, *, minutes: float, mount: bool = True) -> list[str]:
        """Let time pass while kubelets do their work; return what was written."""
        made = []
        for _ in range(int(minutes * 2)):
            calls: Calls = await self.certifying.advance(seconds=30)
            made += writes(calls)
            if mount:
                await self.mount()
        return made


@pytest.fixture
async def pods(certifying: Certifying) -> PlayedPods:
    """Return a control plane with two pods, each with an Envoy of both namespaces, at rest."""
    certifying.settings = {"observer": ReportObserver(), "watched": WATCHED}
    await certifying.plane(*NAMESPACES)
    await certifying.settle()
    made = PlayedPods(certifying)
    await made.mount()
    for number, name in enumerate(("pod-1", "pod-2")):
        await made.pod(name)
        await certifying.cluster.settle(made.replica(name))
        for namespace in NAMESPACES:
            made.servers[name].connect(namespace, f"10.0.{number}.{ord(namespace)}")
    await certifying.advance(minutes=2)
    return made


async def test_while_nothing_is_replaced_nothing_is_written(
    certifying: Certifying, pods: PlayedPods
) -> None:
    pods.servers["pod-1"].connect("a", "10.0.9.9")
    assert await pods.advance(minutes=5) == []
    assert await pods.report("pod-1") is None
    assert pods.servers["pod-1"].asked == 0
    # Nor if a certificate is renewed by its age.
    made = writes(await certifying.advance(hours=40))
    assert "patch Secret" in made
    assert "patch Lease" not in made


async def test_a_rotation_goes_on_as_soon_as_all_envoys_have_shown_it(
    certifying: Certifying, pods: PlayedPods
) -> None:
    old = await certifying.pair(CA)
    await certifying.request_renewal(CA)
    made = await pods.advance(minutes=9)
    # By the time alone, the first phase would last longer than that.
    assert await certifying.phase() == "Stable"
    assert (await certifying.pair(CA)).serial != old.serial
    for server in pods.servers.values():
        assert {one.serial for one in server.envoys.values()} == set(pods.mounted.values())
    assert made.count("patch Lease") <= 2 * 12


async def test_envoys_are_asked_until_their_volume_has_followed(
    certifying: Certifying, pods: PlayedPods
) -> None:
    before = dict(pods.mounted)
    await certifying.request_renewal(CA)
    await pods.advance(minutes=2, mount=False)
    assert await certifying.phase() == "Distributed"
    report = await pods.report("pod-1")
    assert report is not None
    assert report.late["a"].names == [f"Envoy a/gateway at 10.0.0.{ord('a')}"]
    asked = pods.servers["pod-1"].asked
    assert 4 <= asked <= 2 * 5
    assert {one.serial for one in pods.servers["pod-1"].envoys.values()} == set(before.values())
    await pods.advance(minutes=1)
    report = await pods.report("pod-1")
    assert report is not None
    assert report.late == {}
    assert report.shown.items() >= {"a": pods.mounted["a"], "b": pods.mounted["b"]}.items()


async def test_who_does_not_show_it_is_named_and_waited_for_as_long_as_is_set(
    certifying: Certifying, pods: PlayedPods
) -> None:
    host = f"10.0.1.{ord('b')}"
    pods.stuck[host] = pods.mounted["b"]
    await certifying.request_renewal(CA)
    await pods.advance(minutes=5)
    assert await certifying.phase() == "Distributed"
    waiting = (await certifying.status(CA))["rotation"]["waitingFor"]
    assert waiting == [f"Envoy b/gateway at {host}"]
    await pods.advance(minutes=8)
    assert await certifying.phase() == "Activated"


async def test_a_pod_that_does_not_report_is_waited_for(
    certifying: Certifying, pods: PlayedPods
) -> None:
    await pods.pod("pod-3")
    await certifying.request_renewal(CA)
    await pods.advance(minutes=5)
    assert await certifying.phase() == "Distributed"
    await certifying.cluster.delete(Pod, "pod-3")
    await pods.advance(minutes=1)
    assert await certifying.phase() == "Activated"


async def test_an_envoy_that_moves_to_another_pod_is_not_lost(
    certifying: Certifying, pods: PlayedPods
) -> None:
    host = f"10.0.1.{ord('b')}"
    pods.stuck[host] = pods.mounted["b"]
    await certifying.request_renewal(CA)
    await pods.advance(minutes=4)
    pods.servers["pod-2"].envoys.pop(host).leave()
    for _ in range(3):
        await certifying.advance(seconds=10)
        assert await certifying.phase() == "Distributed"
    pods.servers["pod-1"].connect("b", host)
    await pods.advance(minutes=2)
    assert await certifying.phase() == "Distributed"
    report = await pods.report("pod-1")
    assert report is not None
    assert report.late["b"].number == 1

"""The rotation of an authority that goes by reports of pods, under faults.

It does not wait for the longest time that a volume may take, but for the pods: their Leases say what
the volumes of the server and of Envoys hold. What these hold at any moment verifies each other.
"""

import asyncio
from datetime import timedelta

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    LABELS,
    P256,
    SERVER,
    Certifying,
)
from tests.faults.test_rotation_survives import IGNORED, recent
from tests.support.rotation import SecretHistory

from certwright.kube import Key
from certwright.kube.kinds import Pod
from certwright.operators.discoveryservice.certificates.contents import bundle_digest
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
from certwright.operators.discoveryservice.connected.report import CertificateReport, report_lease
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.testkit import (
    EmbeddedCluster,
    SimulationFailed,
    break_each_watch,
    crash_after_every_write,
    drop_each_event,
    refuse_every_write,
    survives,
)

CONFIGURED = timedelta(hours=12)
"""What the operator would wait for if it knew nothing."""
SOON = timedelta(hours=2)
EVERY = timedelta(minutes=3)
LAGS = {Key("default", SERVER): 60.0, Key("a", CLIENT): 150.0, Key("b", CLIENT): 400.0}
"""In seconds, how far volumes are behind."""
CLIENTS = [Key("a", CLIENT), Key("b", CLIENT)]
PODS = ("pod-1", "pod-2")
OPERATOR = certificate_operator(
    CertificateOperatorSettings(
        keys=P256, propagation=CONFIGURED, observer=ReportObserver(), watched=WATCHED
    )
)


class ReportingPods:
    """Pods of the control plane, which say what volumes hold that are so far behind."""

    def __init__(
        self, cluster: EmbeddedCluster, history: SecretHistory, lags: dict[Key, float]
    ) -> None:
        self._cluster = cluster
        self._history = history
        self._lags = lags
        self._told = CertificateReport()

    async def start(self) -> None:
        for name in PODS:
            metadata = {"name": name, "labels": LABELS}
            spec = {"containers": [{"name": "marin3r", "image": "certwright:test"}]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            await self._cluster.create(pod)
            ready = [{"type": "Ready", "status": "True"}]
            status = {"phase": "Running", "conditions": ready}
            await self._cluster.patch(Pod, name, {"status": status}, subresource="status")

    async def tell(self) -> None:
        """Write reports if they say something else."""
        now = asyncio.get_running_loop().time()
        held = {key: self._history.mounted(key, lag, now) for key, lag in self._lags.items()}
        serials = {key: f"{one.leaf.serial_number:x}" for key, one in held.items()}
        server = Key("default", SERVER)
        report = CertificateReport(
            settled=True,
            server=serials[server],
            trusts=bundle_digest(held[server].bundle),
            shown={key.namespace: serials[key] for key in CLIENTS},
        )
        if report != self._told:
            for name in PODS:
                identity = ReplicaIdentity("x", Key("default", name))
                await self._cluster.client.apply(
                    report_lease(identity, report), field_manager="pods"
                )
            self._told = report


async def rotation(cluster: EmbeddedCluster) -> None:
    """Replace an authority because a user asks, and the pods tell the truth."""
    history = await rotate(cluster, LAGS)
    assert not (strangers := history.met(Key("default", SERVER), CLIENTS, LAGS)), strangers


async def misled(cluster: EmbeddedCluster) -> None:
    """Do so while the pods report what was just written, and volumes follow later."""
    history = await rotate(cluster, dict.fromkeys(LAGS, 0.0))
    assert not (strangers := history.met(Key("default", SERVER), CLIENTS, LAGS)), strangers


async def rotate(cluster: EmbeddedCluster, reported: dict[Key, float]) -> SecretHistory:
    certifying, history = Certifying(cluster), SecretHistory.of(cluster)
    await certifying.plane("a", "b")
    await cluster.settle()
    pods = ReportingPods(cluster, history, reported)
    await pods.start()
    first = (await certifying.pair(CA)).serial
    await certifying.request_renewal(CA)
    for _ in range(int(SOON / EVERY)):
        await certifying.advance(seconds=EVERY.total_seconds())
        await pods.tell()
        stable = await certifying.phase() == "Stable"
        if stable and (await certifying.pair(CA)).serial != first:
            break
    authority = await certifying.pair(CA)
    assert authority.serial != first
    assert await certifying.phase() == "Stable"
    for name in (SERVER, f"a/{CLIENT}", f"b/{CLIENT}"):
        assert await certifying.anchors(name) == {authority.fingerprint}
    return history


def test_the_check_notices_reports_that_are_not_true() -> None:
    with pytest.raises(SimulationFailed, match=SERVER):
        survives(misled, OPERATOR, crash_after_every_write, ignore=IGNORED, most=2)


def test_faults_at_every_point() -> None:
    """A few points of each kind; with ``--certwright-seeds``, all of them."""
    tortures = (
        crash_after_every_write, recent, drop_each_event, break_each_watch, refuse_every_write,
    )  # fmt: skip
    assert survives(rotation, OPERATOR, *tortures, ignore=IGNORED, most=2) >= 10

"""Crashes, stale views and refusals: no certificate is issued twice, and none is forgotten."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    LABELS,
    P256,
    SERVER,
    Certifying,
)
from tests.support.rotation import SecretHistory

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    fail_every_request,
    refuse_every_write,
    stale_restart,
    survives,
)
from certwright.testkit.faults.faults import At
from certwright.testkit.faults.interference import Interference

OPERATOR = certificate_operator(CertificateOperatorSettings(keys=P256))
IGNORED = (
    "Secret.data", "Secret.metadata.annotations", "DiscoveryServiceCertificate.status.serialNumber",
    "DiscoveryServiceCertificate.status.certificateHash",
)  # fmt: skip


async def life(cluster: EmbeddedCluster) -> None:
    """Issue a certificate, and renew it once because a user asks."""
    certifying, history = Certifying(cluster), SecretHistory.of(cluster)
    await certifying.create()
    await cluster.settle()
    await certifying.request_renewal("c")
    await cluster.advance(minutes=1)
    await cluster.settle()
    assert len(history.serials(Key("default", "c"))) == 2
    assert await certifying.condition("c", "CertificateNeedsRenewal") == ""
    assert (await certifying.status("c"))["serialNumber"] == (await certifying.pair("c")).serial


@pytest.mark.scenario("DS-59")
def test_a_crash_after_the_secret_was_written() -> None:
    assert survives(life, OPERATOR, crash_after_every_write, ignore=IGNORED) >= 8


def recent(calm: Any) -> Iterator[Any]:
    """Restart into the latest states only."""
    for plan in stale_restart(calm):
        [crash] = cast("Any", plan).writes.values()
        if crash.behind <= 3:
            yield plan


@pytest.mark.scenario("DS-58")
def test_a_process_that_sees_the_past() -> None:
    assert survives(life, OPERATOR, recent, ignore=IGNORED, most=16) >= 10


@pytest.mark.scenario("DS-60")
def test_requests_that_are_refused() -> None:
    tortures = (refuse_every_write, fail_every_request, break_each_watch)
    assert survives(life, OPERATOR, *tortures, ignore=IGNORED, most=10) >= 25


class Past:
    """A control plane whose operator can be shown the time before it had certificates."""

    def __init__(self, certifying: Certifying, interference: Interference) -> None:
        self.certifying = certifying
        self._interference = interference
        self._then = ""

    async def begin(self) -> None:
        """Issue all certificates, and ask for another authority."""
        await self.certifying.plane("a", "b")
        await self.certifying.settle()
        self._then = (await self.certifying.secret(CA))["metadata"]["resourceVersion"]
        await self.certifying.request_renewal(CA)

    def remember(self) -> None:
        """Show this moment later, and not that of the beginning."""
        self._then = self._interference.revisions[-1]

    async def show(self, minutes: float = 1) -> None:
        """Start the operator anew; for a while it sees of all Secrets only the authority's."""
        seen = self._interference.revisions
        behind = len(seen) - seen.index(self._then)
        self._interference.go_back(behind, hold_seconds=60 * minutes)
        await self.certifying.cluster.stop()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.certifying.settle())
            await asyncio.sleep(30 * minutes)


@pytest.fixture
async def past(embedded_cluster: EmbeddedCluster) -> AsyncIterator[Past]:
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(At(), loop.trace, loop.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        yield Past(Certifying(cluster), interference)


@pytest.mark.parametrize("phase", ["Distributed", "Activated"])
async def test_an_authority_does_not_go_on_before_its_certificates_are_seen(
    past: Past, phase: str
) -> None:
    certifying = past.certifying
    await past.begin()
    await certifying.until(phase)
    signer, trusted = (await certifying.pair(CA)).serial, await certifying.anchors(CA)
    await past.show()
    assert (await certifying.pair(CA)).serial == signer
    for name in (CA, SERVER, f"a/{CLIENT}", f"b/{CLIENT}"):
        assert await certifying.anchors(name) == trusted
    await certifying.until("Stable")
    assert await certifying.anchors(CA) == {(await certifying.pair(CA)).fingerprint}


@pytest.mark.scenario("DS-22")
async def test_an_authority_does_not_go_on_before_all_bundles_are_seen(past: Past) -> None:
    """A ConfigMap that names the last authority alone was written while the operator was away."""
    certifying = past.certifying
    await past.begin()
    old = await certifying.secret(CA)
    await certifying.until("Distributed")
    signer = (await certifying.pair(CA)).serial
    past.remember()
    await certifying.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "marin3r-ca-bundle-x", "labels": LABELS},
            "data": {"ca.crt": b64decode(old["data"]["ca.crt"]).decode()},
        }
    )
    await past.show(minutes=24)
    assert (await certifying.pair(CA)).serial == signer
    bundle = b64decode((await certifying.secret(CA))["data"]["ca.crt"]).decode()
    await certifying.cluster.patch(ConfigMap, "marin3r-ca-bundle-x", {"data": {"ca.crt": bundle}})
    await certifying.until("Activated")

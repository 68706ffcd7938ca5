"""The rotation of an authority under every fault: all that anyone may hold verifies each other.

After every write, each version of a Secret may be held until it was superseded for as long as the
operator is told that a change may take. Any two of them that can meet must verify each other.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    P256,
    SERVER,
    Certifying,
)
from tests.support.rotation import SecretHistory

from certwright.kube import Key
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.testkit import (
    EmbeddedCluster,
    SimulationFailed,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    refuse_every_write,
    simulate,
    stale_restart,
    survives,
)

LAG = timedelta(minutes=10)
OPERATOR = certificate_operator(CertificateOperatorSettings(keys=P256, propagation=LAG))
HASTY = certificate_operator(
    CertificateOperatorSettings(keys=P256, propagation=timedelta(0), soonest=timedelta(0))
)
CLIENTS = [Key("a", CLIENT), Key("b", CLIENT)]
IGNORED = (
    "Secret.data", "Secret.metadata.annotations", "DiscoveryServiceCertificate.status.serialNumber",
    "DiscoveryServiceCertificate.status.certificateHash",
    "DiscoveryServiceCertificate.status.rotation.signer",
)  # fmt: skip


async def rotation(cluster: EmbeddedCluster) -> None:
    """Replace an authority because a user asks."""
    certifying, history = Certifying(cluster), SecretHistory.of(cluster)
    await certifying.plane("a", "b")
    await cluster.settle()
    first = (await certifying.pair(CA)).serial
    await certifying.request_renewal(CA)
    await _until_stable(certifying, first)
    judge(history)
    assert len(history.serials(Key("default", CA))) == 2


async def loss(cluster: EmbeddedCluster) -> None:
    """Replace an authority because its Secret was deleted."""
    certifying, history = Certifying(cluster), SecretHistory.of(cluster)
    await certifying.plane("a", "b")
    await cluster.settle()
    first = (await certifying.pair(CA)).serial
    await cluster.delete(Secret, CA)
    await _until_stable(certifying, first)
    judge(history)


async def _until_stable(certifying: Certifying, first: str) -> None:
    for _ in range(30):
        await certifying.advance(minutes=30)
        signer = (await certifying.pair(CA)).serial
        if await certifying.phase() == "Stable" and signer != first:
            break
    assert await certifying.phase() == "Stable"
    authority = await certifying.pair(CA)
    assert authority.serial != first
    for name in (SERVER, f"a/{CLIENT}", f"b/{CLIENT}"):
        assert await certifying.anchors(name) == {authority.fingerprint}
        assert await certifying.condition(name) == "True/CertificateIssued"


def judge(history: SecretHistory) -> None:
    """Require that no two that could meet were strangers."""
    strangers = history.strangers(Key("default", SERVER), CLIENTS, LAG.total_seconds())
    assert not strangers, strangers


def recent(calm: Any) -> Iterator[Any]:
    """Restart into some of the earlier states."""
    for plan in stale_restart(calm):
        [crash] = cast("Any", plan).writes.values()
        if crash.behind in {1, 2, 5, 13}:
            yield plan


def test_the_check_notices_a_rotation_without_overlap() -> None:
    with pytest.raises(SimulationFailed, match=SERVER):
        survives(rotation, HASTY, crash_after_every_write, ignore=IGNORED, most=2)


def test_faults_at_every_point() -> None:
    """A few points of each kind; with ``--certwright-seeds``, all of them."""
    tortures = (
        crash_after_every_write, recent, drop_each_event, delay_each_event, break_each_watch,
        refuse_every_write,
    )  # fmt: skip
    assert survives(rotation, OPERATOR, *tortures, ignore=IGNORED, most=3) >= 18


def test_an_authority_that_is_lost() -> None:
    survives(loss, OPERATOR, crash_after_every_write, recent, ignore=IGNORED, most=3)


def test_random_storms() -> None:
    simulate(rotation, OPERATOR, seeds=range(5), ignore=IGNORED)

"""Crashes, stale views and refusals: no certificate is issued twice, and none is forgotten."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import P256, Certifying
from tests.support.rotation import SecretHistory

from certwright.kube import Key
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

"""When certificates are renewed: by their age, and because a user asks."""

from datetime import timedelta
from typing import Any

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    DSC,
    P256,
    Certifying,
    writes,
)

from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings


@pytest.mark.scenario("DS-11")
async def test_the_last_fifth_is_for_renewal(certifying: Certifying) -> None:
    await certifying.create(validFor=100)
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    assert (await certifying.advance(seconds=78.9)).writes == 0
    assert (await certifying.pair("c")).serial == first
    await certifying.advance(seconds=2.2)
    second = (await certifying.pair("c")).serial
    assert second != first
    assert (await certifying.advance(seconds=70)).writes == 0
    assert (await certifying.pair("c")).serial == second


@pytest.mark.scenario("DS-13")
async def test_a_renewal_is_announced_and_costs_three_writes(certifying: Certifying) -> None:
    await certifying.create(validFor=100)
    await certifying.settle()
    calls = await certifying.advance(seconds=82)
    assert writes(calls) == [
        "patch DiscoveryServiceCertificate",
        "patch Secret",
        "patch DiscoveryServiceCertificate",
    ]
    announced = calls.of("DiscoveryServiceCertificate")[0]
    assert b'"CertificateNeedsRenewal"' in (announced.body or b"")
    assert b'"CertificateAboutToExpire"' in (announced.body or b"")
    assert b"expires in less than 20 seconds" in (announced.body or b"")
    assert await certifying.condition("c", "CertificateNeedsRenewal") == ""
    await certifying.advance(seconds=1)
    assert set(await certifying.events("c")) == {
        "CertificateIssued", "CertificateAboutToExpire", "CertificateRenewed",
    }  # fmt: skip


@pytest.mark.scenario("DS-14")
async def test_a_user_asks_for_a_renewal(certifying: Certifying) -> None:
    await certifying.create()
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.request_renewal("c")
    calls = await certifying.settle()
    second = (await certifying.pair("c")).serial
    assert second != first
    assert calls.of("Secret").writes == 1
    assert await certifying.condition("c", "CertificateNeedsRenewal") == ""
    await certifying.advance(hours=1)
    assert (await certifying.pair("c")).serial == second


@pytest.mark.scenario("DS-15")
@pytest.mark.parametrize("field", ["certificateRenewal", "certificateRenewalNotification"])
async def test_what_is_not_renewed_expires(certifying: Certifying, field: str) -> None:
    spec: dict[str, Any] = {"validFor": 100, field: {"enabled": False}}
    await certifying.create(**spec)
    await certifying.settle()
    first = await certifying.pair("c")
    left = (first.validity.not_after - certifying.now).total_seconds()
    await certifying.advance(seconds=left - 1)
    assert await certifying.condition("c") == "True/CertificateIssued"
    calls = await certifying.advance(seconds=3)
    assert await certifying.condition("c") == "False/CertificateExpired"
    assert (await certifying.status("c"))["ready"] is False
    assert writes(calls) == ["patch DiscoveryServiceCertificate"]
    assert (await certifying.events("c")).count("CertificateAboutToExpire") == 1
    calls = await certifying.advance(hours=30)
    assert calls.writes == 0
    assert (await certifying.pair("c")).serial == first.serial
    reconciles = await certifying.cluster.scrape()
    assert _count(reconciles) < 50


def _count(metrics: str) -> float:
    """Return how many passes there were."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in metrics.splitlines()
        if line.startswith("controller_runtime_reconcile_total")
    )


@pytest.mark.scenario("DS-16")
async def test_certificates_of_seconds_are_renewed_too(certifying: Certifying) -> None:
    await certifying.create(validFor=5)
    await certifying.settle()
    serials = set()
    for _ in range(30):
        await certifying.advance(seconds=1)
        pair = await certifying.pair("c")
        assert pair.validity.covers(certifying.now)
        serials.add(pair.serial)
    assert 5 <= len(serials) <= 15


@pytest.mark.scenario("DS-20")
async def test_renewals_are_spread_and_in_time(certifying: Certifying) -> None:
    certifying.running = certificate_operator(CertificateOperatorSettings(keys=P256))
    number = 30
    for place in range(number):
        await certifying.create(f"c{place}", validFor=2 * 3600)
    await certifying.settle()
    validity = (await certifying.pair("c0")).validity
    start = validity.not_after - validity.lifetime / 5
    await certifying.advance(seconds=(start - certifying.now).total_seconds() - 1)
    counts = [(await certifying.advance(seconds=10)).of("Secret").writes for _ in range(9)]
    assert sum(counts) == number  # in the first 90 seconds of 24 minutes
    assert max(counts) < number / 2
    assert sum(count > 0 for count in counts) > 5


async def test_a_renewal_that_came_due_while_the_operator_was_down(certifying: Certifying) -> None:
    await certifying.create(validFor=100)
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.cluster.stop()
    await certifying.cluster.advance(seconds=3600)
    await certifying.cluster.settle(certifying.running or certifying.operator())
    assert (await certifying.pair("c")).serial != first
    assert await certifying.condition("c") == "True/CertificateIssued"


@pytest.mark.scenario("DS-56")
async def test_wakes_at_the_instant_the_window_begins(certifying: Certifying) -> None:
    await certifying.create(validFor=600)
    await certifying.settle()
    pair = await certifying.pair("c")
    begins = pair.validity.not_after - timedelta(seconds=122)  # of 612
    away = (begins - certifying.now).total_seconds()
    assert (await certifying.advance(seconds=away - 0.01)).writes == 0
    calls = await certifying.advance(seconds=1.02)
    assert calls.of("Secret").writes == 1


async def test_metrics_tell_of_each_certificate(certifying: Certifying) -> None:
    await certifying.create(validFor=100)
    await certifying.settle()
    await certifying.advance(seconds=82)
    text = await certifying.cluster.scrape()
    labels = '{name="c",namespace="default"}'
    pair = await certifying.pair("c")
    prefix = "certwright_discoveryservice_certificate"
    assert f"{prefix}_ready{labels} 1.0" in text
    found = [line for line in text.splitlines() if line.startswith(f"{prefix}_not_after")]
    assert float(found[0].rpartition(" ")[2]) == pair.validity.not_after.timestamp()
    assert f'{prefix}_renewals_total{{reason="CertificateAboutToExpire"}} 1.0' in text
    await certifying.cluster.delete(DSC, "c")
    await certifying.settle()
    assert labels not in await certifying.cluster.scrape()


@pytest.mark.scenario("DS-27")
async def test_an_expired_authority_of_others_leads_to_no_loop(certifying: Certifying) -> None:
    await certifying.create(CA, isCA=True, validFor=1000)
    await certifying.settle()
    made = (await certifying.secret(CA))["data"]
    await certifying.cluster.delete(DSC, CA)
    await certifying.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "external"},
            "data": {name: made[name] for name in ("tls.crt", "tls.key")},
        }
    )
    signer = {"caSigned": {"caSecretRef": {"name": "external"}}}
    await certifying.create("c", signer=signer, validFor=500)
    await certifying.settle()
    assert await certifying.condition("c") == "True/CertificateIssued"
    certifying.jump(seconds=1200)
    await certifying.advance(hours=1)
    serial = (await certifying.pair("c")).serial
    assert await certifying.condition("c") == "False/IssuerExpired"
    calls = await certifying.advance(hours=10)
    assert calls.of("Secret").writes == 0
    assert calls.of("DiscoveryServiceCertificate").writes == 0
    assert (await certifying.pair("c")).serial == serial

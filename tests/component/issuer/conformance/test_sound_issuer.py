"""Issuers that do everything right are told so, each in its own way."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.issuer.conformance.bare import Bare
from tests.component.issuer.conformance.catalogue import CASES, item, judged, only_signs
from tests.component.issuer.conformance.sound import SOUND

from certwright.issuer.conformance import Feature, run
from certwright.issuer.conformance.results import CaseStatus

RENEWAL = {Feature.ACME_RENEWAL_INFORMATION: "this is no ACME"}
FEW = [
    item("CertificateRequest", "one DNS name"),
    item("CertificateRequest", "a certificate authority"),
    item("CertificateSigningRequest", "a certificate authority"),
    item("Behaviour", "a request waits for its issuer"),
    item("Behaviour", "an answer is final"),
    item("Behaviour", "many requests are answered at once"),
]


async def test_everything_passes_with_a_cluster_wide_issuer(
    bare: type[Bare], put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    subject = await put_to_work(bare(), bare.cluster_kind, unsupported=RENEWAL)
    report = await run(subject)
    assert [result for result in report.results if result.status is CaseStatus.FAILED] == []
    skipped = [result.skipped for result in report.results if result.skipped]
    assert skipped == ["ACMEUseARI is unsupported: this is no ACME"]
    assert report.conforms


async def test_a_namespaced_issuer_is_not_asked_for_what_it_cannot_get(
    bare: type[Bare], put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    subject = await put_to_work(bare(), bare.namespaced_kind, unsupported=RENEWAL)
    report = await run(subject)
    assert report.conforms
    asked = {result.suite for result in report.results if result.status is CaseStatus.PASSED}
    assert asked == {"CertificateRequest", "Behaviour"}


@pytest.mark.parametrize("issuer", SOUND)
def test_a_right_certificate_raises_no_alarm(issuer: type[Bare]) -> None:
    one = issuer()
    alarms = {case.name: found for case in CASES if (found := judged(one, case))}
    assert alarms == {}


@pytest.mark.parametrize("issuer", [one for one in SOUND if not only_signs(one)])
async def test_a_right_behaviour_raises_no_alarm(
    issuer: type[Bare], put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    report = await run(await put_to_work(issuer(), issuer.cluster_kind), FEW)
    assert [result for result in report.results if result.status is not CaseStatus.PASSED] == []


def test_there_are_ten_of_them_and_more() -> None:
    assert len(SOUND) >= 10

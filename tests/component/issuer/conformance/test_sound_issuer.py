"""An issuer that does everything right is told so."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.component.issuer.conformance.conftest import Bare

from certwright.issuer.conformance import Feature, run
from certwright.issuer.conformance.results import CaseStatus

RENEWAL = {Feature.ACME_RENEWAL_INFORMATION: "this is no ACME"}


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

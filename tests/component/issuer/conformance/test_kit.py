"""The kit itself: what it forgives, that junk does not break it, and that it is complete."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.component.issuer.conformance.bare import Bare
from tests.component.issuer.conformance.catalogue import item
from tests.component.issuer.conformance.faulty.certificates import (
    ADayInsteadOf90,
    CommonNameAsSecondName,
    OneUsageMore,
)
from tests.component.issuer.conformance.faulty.chains import (
    IntermediateAsAuthority,
    NoAuthorityReturned,
)

from certwright.issuer.conformance import Feature, run
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.results import CaseStatus
from certwright.issuer.conformance.runner import ITEMS, run_item
from certwright.pki import RequestTerms, SigningRequest
from certwright.testkit import EmbeddedCluster


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """What the kit says does not depend on the server; the sound issuer runs on both."""
    return embedded_cluster


@pytest.mark.parametrize("junk", [b"cert", b"-----BEGIN CERTIFICATE-----\n", b"\xff\x00" * 50])
async def test_junk_fails_cases_and_never_the_kit(
    put_to_work: Callable[..., Awaitable[Any]], junk: bytes
) -> None:
    class Junk(Bare):
        def sign(
            self, asked: SigningRequest, terms: RequestTerms, now: datetime
        ) -> tuple[bytes, bytes]:
            return junk, b""

    subject = await put_to_work(Junk(), Junk.cluster_kind, patience=timedelta(seconds=5))
    report = await run(subject)
    assert report.count(CaseStatus.FAILED) > 40
    names = {one.name for result in report.results for one in result.violations}
    assert names <= {"Unparsable", "NotAnswered", "RefusedByServer"}


@pytest.mark.parametrize(
    ("issuer", "case", "feature"),
    [
        (ADayInsteadOf90, "one DNS name", Feature.DURATION),
        (OneUsageMore, "one DNS name", Feature.KEY_USAGES),
        (CommonNameAsSecondName, "a DNS name and another common name", Feature.EXACT_SANS),
        (IntermediateAsAuthority, "one DNS name", Feature.SAVE_ROOT_CA),
        (NoAuthorityReturned, "one DNS name", Feature.SAVE_CA),
    ],
)
async def test_what_an_authority_declares_not_to_do_is_forgiven(
    put_to_work: Callable[..., Awaitable[Any]], issuer: type[Bare], case: str, feature: Feature
) -> None:
    subject = await put_to_work(issuer(), unsupported={feature: "so it is"})
    assert (await run_item(subject, item("CertificateRequest", case))).status is CaseStatus.PASSED


def test_every_feature_is_asked_for_by_something() -> None:
    asked = {feature for one in ITEMS for feature in one.needs}
    by_others = {Feature.SAVE_CA, Feature.SAVE_ROOT_CA, Feature.EXACT_SANS}
    assert asked == set(Feature) - by_others, "those by every case, or those with a common name"


def test_the_cases_are_those_of_the_suites() -> None:
    counts = [
        sum(isinstance(one, Case) and one.suite == suite for one in ITEMS)
        for suite in ("CertificateRequest", "CertificateSigningRequest")
    ]
    assert counts == [22, 24]
    assert len({(one.suite, one.slug) for one in ITEMS}) == len(ITEMS)

"""Issuers whose certificates are wrong are caught, each by the name of what is wrong."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from cryptography.x509 import Certificate
from tests.component.issuer.conformance.conftest import Bare

from certwright import pki
from certwright.issuer.conformance import Feature, run
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.results import CaseStatus
from certwright.issuer.conformance.runner import ITEMS, run_item
from certwright.kube import JsonObject
from certwright.pki import Authority, RequestTerms, SigningRequest
from certwright.pki.requests import Template
from certwright.testkit import EmbeddedCluster

DAY = timedelta(days=1)


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """What is wrong with an answer does not depend on the server; the sound issuer runs on both."""
    return embedded_cluster


def item(suite: str, name: str) -> Any:
    return next(one for one in ITEMS if (one.suite, one.name) == (suite, name))


ONE_NAME = item("CertificateRequest", "one DNS name")


def stranger(now: datetime) -> Authority:
    key = pki.generate_key(pki.KeySpec())
    return pki.create_root(pki.distinguished_name("stranger"), key, 3650 * DAY, now)


def templating(change: Callable[..., Any]) -> JsonObject:
    """Break what the certificate will say."""

    def leaf(
        _self: Bare, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        return authority.issue(change(pki.request_template(asked, terms)), now)

    return {"leaf": leaf}


def dating(shift: timedelta) -> JsonObject:
    """Break when the certificate holds."""

    def leaf(
        _self: Any,
        authority: Authority,
        asked: SigningRequest,
        terms: RequestTerms,
        now: datetime,
    ) -> Certificate:
        return authority.issue(pki.request_template(asked, terms), now + shift)

    def root(self: Any, now: datetime) -> Authority:
        if self.authority is None:
            key = pki.generate_key(pki.KeySpec())
            name = pki.distinguished_name("old")
            self.authority = pki.create_root(name, key, 3650 * DAY, now - 400 * DAY)
        value: Authority = self.authority
        return value

    return {"leaf": leaf, "root": root}


def handing_over(change: Callable[..., Any]) -> JsonObject:
    """Break what is handed over: *change* sees leaf, intermediate, root and returns both parts."""

    def sign(
        self: Any, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        root = self.root(now)
        key, name = pki.generate_key(pki.KeySpec()), pki.distinguished_name("between")
        between = pki.create_intermediate(root, name, key, 365 * DAY, now)
        leaf = between.issue(pki.request_template(asked, terms), now)
        chain, authority = change(leaf, between.certificate, root.certificate, now)
        return pki.write_certificates(*chain), pki.write_certificates(*authority)

    return {"sign": sign}


def raw(chain: bytes) -> JsonObject:
    return {"sign": lambda *_: (chain, b"")}


def other_key(template: Template) -> Template:
    return replace(template, public_key=pki.generate_key(pki.KeySpec()).public_key())


def other_names(template: Template) -> Template:
    names = pki.AlternativeNames(dns=("evil.example.com",)).to_extension()
    return replace(template, names=names)


def more_names(template: Template) -> Template:
    held = pki.AlternativeNames.of_extension(cast("Any", template.names))
    names = replace(held, dns=(*held.dns, "evil.example.com")).to_extension()
    return replace(template, names=names)


def more_usages(template: Template) -> Template:
    return replace(template, usages=pki.parse_usages([*template.usages.key, "code signing"]))


def fewer_usages(template: Template) -> Template:
    return replace(template, usages=pki.parse_usages(["digital signature"]))


def no_other_names(template: Template) -> Template:
    held = pki.AlternativeNames.of_extension(cast("Any", template.names))
    return replace(template, names=replace(held, others=()).to_extension())


def turned_subject(template: Template) -> Template:
    parts = pki.format_name(template.subject).split(",")
    return replace(template, subject=pki.parse_name(",".join(reversed(parts))))


FLAWS = {
    "another key": ("one DNS name", templating(other_key), "KeyMismatch"),
    "expired": ("one DNS name", dating(-200 * DAY), "Expired"),
    "not valid yet": ("one DNS name", dating(2 * DAY), "NotYetValid"),
    "other names": ("one DNS name", templating(other_names), "MissingName"),
    "one name more": ("one DNS name", templating(more_names), "ExtraName"),
    "one usage more": ("one DNS name", templating(more_usages), "ExtraUsage"),
    "usages ignored": ("four usages", templating(fewer_usages), "MissingUsage"),
    "a day instead of 90": (
        "one DNS name", templating(lambda made: replace(made, lifetime=DAY)), "DurationMismatch",
    ),
    "an authority nobody asked for": (
        "one DNS name", templating(lambda made: replace(made, is_ca=True)), "CaMismatch",
    ),
    "no authority": (
        "a certificate authority", templating(lambda made: replace(made, is_ca=False)), "CaMismatch",
    ),
    "common name dropped": (
        "a DNS name and another common name",
        templating(lambda made: replace(made, subject=pki.distinguished_name())),
        "SubjectMismatch",
    ),
    "literal subject turned": (
        "a literal subject with a repeated attribute and a wildcard",
        templating(turned_subject),
        "LiteralSubjectMismatch",
    ),
    "other names dropped": (
        "user principal names beside an e-mail address", templating(no_other_names), "MissingName",
    ),
    "root in the chain": (
        "one DNS name", handing_over(lambda a, b, c, _: ([a, b, c], [c])), "RootInChain",
    ),
    "chain unordered": (
        "one DNS name", handing_over(lambda a, b, c, _: ([b, a], [c])), "WrongOrder",
    ),
    "chain doubled": (
        "one DNS name", handing_over(lambda a, b, c, _: ([a, b, b], [c])), "RepeatedCertificate",
    ),
    "a stranger in the chain": (
        "one DNS name",
        handing_over(lambda a, b, c, now: ([a, b, stranger(now).certificate], [c])),
        "BrokenChain",
    ),
    "intermediate missing": (
        "one DNS name", handing_over(lambda a, _b, c, _: ([a], [c])), "Untrusted",
    ),
    "another authority": (
        "one DNS name",
        handing_over(lambda a, b, _c, now: ([a, b], [stranger(now).certificate])),
        "Untrusted",
    ),
    "intermediate as authority": (
        "one DNS name", handing_over(lambda a, b, _c, _: ([a, b], [b])), "CANotRoot",
    ),
    "no authority returned": (
        "one DNS name", handing_over(lambda a, b, _c, _: ([a, b], [])), "MissingCA",
    ),
    "no certificate at all": ("one DNS name", raw(b"cert"), "Unparsable"),
}  # fmt: skip


@pytest.mark.parametrize(("case", "flaw", "caught"), FLAWS.values(), ids=FLAWS.keys())
async def test_a_wrong_certificate_is_caught(
    bare: type[Bare],
    put_to_work: Callable[..., Awaitable[Any]],
    case: str,
    flaw: dict[str, Callable[..., Any]],
    caught: str,
) -> None:
    broken = type("Broken", (bare,), flaw)()
    result = await run_item(await put_to_work(broken), item("CertificateRequest", case))
    assert result.status is CaseStatus.FAILED
    assert caught in {violation.name for violation in result.violations}


@pytest.mark.parametrize("junk", [b"cert", b"-----BEGIN CERTIFICATE-----\n", b"\xff\x00" * 50])
async def test_junk_fails_cases_and_never_the_kit(
    bare: type[Bare], put_to_work: Callable[..., Awaitable[Any]], junk: bytes
) -> None:
    broken = type("Broken", (bare,), raw(junk))()
    subject = await put_to_work(broken, bare.cluster_kind, patience=timedelta(seconds=5))
    report = await run(subject)
    assert report.count(CaseStatus.FAILED) > 40
    names = {one.name for result in report.results for one in result.violations}
    assert names <= {"Unparsable", "NotAnswered", "RefusedByServer"}


async def test_an_intermediate_is_part_of_a_good_answer(
    bare: type[Bare], put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    """What breaks the chains above is the change, not the intermediate."""
    sound = type("Sound", (bare,), handing_over(lambda a, b, c, _: ([a, b], [c])))()
    assert (await run_item(await put_to_work(sound), ONE_NAME)).status is CaseStatus.PASSED


@pytest.mark.parametrize(
    ("case", "flaw", "feature"),
    [
        ("one DNS name", FLAWS["a day instead of 90"][1], Feature.DURATION),
        ("one DNS name", FLAWS["one usage more"][1], Feature.KEY_USAGES),
        ("one DNS name", FLAWS["intermediate as authority"][1], Feature.SAVE_ROOT_CA),
        ("one DNS name", FLAWS["no authority returned"][1], Feature.SAVE_CA),
    ],
)
async def test_what_an_authority_declares_not_to_do_is_forgiven(
    bare: type[Bare],
    put_to_work: Callable[..., Awaitable[Any]],
    case: str,
    flaw: dict[str, Callable[..., Any]],
    feature: Feature,
) -> None:
    subject = await put_to_work(type("Broken", (bare,), flaw)(), unsupported={feature: "so it is"})
    assert (await run_item(subject, item("CertificateRequest", case))).status is CaseStatus.PASSED


async def test_a_name_of_the_request_as_common_name_is_no_offence(
    bare: type[Bare], put_to_work: Callable[..., Awaitable[Any]]
) -> None:
    """Authorities that want a common name take one of the names, addresses included."""
    named = templating(lambda made: replace(made, subject=pki.distinguished_name("192.0.2.7")))
    subject = await put_to_work(type("Naming", (bare,), named)())
    result = await run_item(subject, item("CertificateRequest", "an IP address"))
    assert result.violations == ()


SIGNING_FLAWS = {
    "another key": ("one DNS name, RSA key", templating(other_key), "KeyMismatch"),
    "annotation ignored": (
        "a lifetime by annotation and by seconds",
        {
            "csr_terms": lambda _self, request: pki.RequestTerms(
                timedelta(seconds=request["spec"]["expirationSeconds"])
            )
        },
        "DurationMismatch",
    ),
    "seconds ignored": (
        "a common name and a lifetime by seconds",
        {"csr_terms": lambda *_: pki.RequestTerms()},
        "DurationMismatch",
    ),
    "usages ignored": ("four usages", templating(fewer_usages), "MissingUsage"),
}


@pytest.mark.parametrize(
    ("case", "flaw", "caught"), SIGNING_FLAWS.values(), ids=SIGNING_FLAWS.keys()
)
async def test_a_wrong_answer_to_a_kubernetes_csr_is_caught(
    bare: type[Bare],
    put_to_work: Callable[..., Awaitable[Any]],
    case: str,
    flaw: dict[str, Callable[..., Any]],
    caught: str,
) -> None:
    broken = type("Broken", (bare,), flaw)()
    subject = await put_to_work(broken, bare.cluster_kind)
    result = await run_item(subject, item("CertificateSigningRequest", case))
    assert caught in {violation.name for violation in result.violations}


def test_every_feature_is_asked_for_by_something() -> None:
    asked = {feature for one in ITEMS for feature in one.needs}
    assert asked == set(Feature) - {Feature.SAVE_CA, Feature.SAVE_ROOT_CA}, "those two, by each"


def test_the_cases_are_those_of_the_suites() -> None:
    counts = [sum(isinstance(one, Case) and one.suite == suite for one in ITEMS)
              for suite in ("CertificateRequest", "CertificateSigningRequest")]  # fmt: skip
    assert counts == [22, 24]
    assert len({(one.suite, one.slug) for one in ITEMS}) == len(ITEMS)

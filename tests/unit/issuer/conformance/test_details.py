"""The details of certificates: what RFC 5280 and cert-manager's users rely on is named."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from certwright import pki
from certwright.issuer.conformance.cases.case import Case, Suite
from certwright.issuer.conformance.cases.objects import CaseRequest, make_case_request
from certwright.issuer.conformance.details import detail_violations, fair_terms
from certwright.pki.authority import new_serial

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
KEY = pki.generate_key(pki.KeySpec())
ROOT = pki.create_root(pki.distinguished_name("root"), KEY, timedelta(days=3650), NOW)
SHORT = pki.create_root(
    pki.distinguished_name("short"), KEY, timedelta(days=3650), NOW, path_length=1
)
DNS = pki.AlternativeNames(dns=("one.example.com",))


def asked_for(suite: Suite = "CertificateRequest", **case: Any) -> CaseRequest:
    return make_case_request(Case(suite, "it", **{"names": DNS, **case}), KEY)


def issued(asked: CaseRequest, root: pki.Authority = ROOT, **changes: Any) -> x509.Certificate:
    template = pki.request_template(asked.request, asked.terms)
    return root.issue(replace(template, **changes), NOW)


def rebuilt(
    leaf: x509.Certificate,
    change: Callable[[x509.Extension[Any]], tuple[x509.ExtensionType, bool] | None],
) -> x509.Certificate:
    """Sign a certificate again with other extensions."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(leaf.subject)
        .issuer_name(leaf.issuer)
        .public_key(leaf.public_key())
        .serial_number(new_serial())
        .not_valid_before(leaf.not_valid_before_utc)
        .not_valid_after(leaf.not_valid_after_utc)
    )
    for one in leaf.extensions:
        if (changed := change(one)) is not None:
            builder = builder.add_extension(*changed)
    return builder.sign(KEY, hashes.SHA256())


def lax(kind: type[x509.ExtensionType]) -> Callable[[Any], tuple[x509.ExtensionType, bool]]:
    return lambda one: (one.value, one.critical and not isinstance(one.value, kind))


def without(kind: type[x509.ExtensionType]) -> Callable[[Any], Any]:
    return lambda one: None if isinstance(one.value, kind) else (one.value, one.critical)


def names(asked: CaseRequest, leaf: x509.Certificate, root: pki.Authority = ROOT) -> list[str]:
    return [one.name for one in detail_violations(asked, [leaf], [root.certificate])]


@pytest.mark.parametrize("is_ca", [True, False])
@pytest.mark.parametrize("common_name", ["", "one.example.com", "other.example.com"])
def test_what_was_asked_for_is_fine(is_ca: bool, common_name: str) -> None:  # noqa: FBT001
    asked = asked_for(is_ca=is_ca, common_name=common_name)
    assert names(asked, issued(asked)) == []
    assert names(asked, rebuilt(issued(asked), lambda one: (one.value, one.critical))) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("ONE.example.com",), ["NameRespelled"]),
        (("one.example.com", "one.example.com"), ["NameRepeated"]),
        (("one.example.com", "cn.example.com"), ["CommonNameCopied"]),
        (("one.example.com", "CN.example.com"), ["CommonNameCopied"]),
    ],
)
def test_names_are_compared_letter_by_letter(given: tuple[str, ...], expected: list[str]) -> None:
    asked = asked_for(common_name="cn.example.com")
    leaf = issued(asked, names=pki.AlternativeNames(dns=given).to_extension())
    assert names(asked, leaf) == expected


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        (x509.SubjectAlternativeName, {}),
        (x509.KeyUsage, {}),
        (x509.BasicConstraints, {"is_ca": True}),
    ],
)
def test_what_must_be_critical_is_looked_at(kind: Any, case: dict[str, Any]) -> None:
    asked = asked_for(**case)
    assert names(asked, rebuilt(issued(asked), lax(kind))) == ["NotCritical"]


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        (x509.SubjectAlternativeName, {"common_name": "one.example.com"}),
        (x509.BasicConstraints, {}),
    ],
)
def test_what_need_not_be_critical_is_not(kind: Any, case: dict[str, Any]) -> None:
    asked = asked_for(**case)
    assert names(asked, rebuilt(issued(asked), lax(kind))) == []


def test_a_missing_key_identifier_is_named() -> None:
    asked, authority = asked_for(), asked_for(is_ca=True)
    above = rebuilt(issued(asked), without(x509.AuthorityKeyIdentifier))
    assert names(asked, above) == ["KeyIdentifierMissing"]
    own = without(x509.SubjectKeyIdentifier)
    assert names(asked, rebuilt(issued(asked), own)) == [], "RFC 5280 only recommends it"
    assert names(authority, rebuilt(issued(authority), own)) == ["KeyIdentifierMissing"]


def test_another_key_identifier_than_the_signers_is_named() -> None:
    def other(one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool]:
        if isinstance(one.value, x509.AuthorityKeyIdentifier):
            return x509.AuthorityKeyIdentifier(b"x" * 20, None, None), False
        return one.value, one.critical

    asked = asked_for()
    assert names(asked, rebuilt(issued(asked), other)) == ["KeyIdentifierMismatch"]


def test_a_self_signed_certificate_needs_no_authority_key_identifier() -> None:
    asked = asked_for()
    leaf = pki.self_sign(pki.request_template(asked.request, asked.terms), KEY, NOW)
    bare = rebuilt(leaf, without(x509.AuthorityKeyIdentifier))
    assert detail_violations(asked, [bare], [bare]) == []


def test_a_path_length_is_right_only_if_it_follows_from_the_authority() -> None:
    asked = asked_for(is_ca=True)
    assert names(asked, issued(asked, path_length=0)) == ["PathLengthAdded"]
    assert names(asked, issued(asked, SHORT), SHORT) == [], "at most what is left of its own"
    unknown = detail_violations(asked, [issued(asked, path_length=0)], [])
    assert unknown == [], "it may follow from an authority that was not returned"


@pytest.mark.parametrize("suite", ["CertificateRequest", "CertificateSigningRequest"])
def test_an_authority_may_sign_certificates_whether_listed_or_not(suite: Suite) -> None:
    asked = asked_for(suite, is_ca=True)
    usual = pki.parse_usages(["digital signature", "key encipherment", "cert sign"])
    for usages in (usual, asked.terms.usages):
        leaf = issued(asked, usages=usages)
        terms = fair_terms(asked, leaf)
        assert pki.certificate_violations(leaf, asked.request, terms, NOW) == []


def test_others_must_not_sign_certificates() -> None:
    asked = asked_for("CertificateSigningRequest")
    signing = pki.parse_usages(["digital signature", "cert sign"]).key_usage()

    def sign_others(one: x509.Extension[Any]) -> tuple[x509.ExtensionType, bool]:
        return signing if isinstance(one.value, x509.KeyUsage) else one.value, one.critical

    leaf = rebuilt(issued(asked), sign_others)
    found = pki.certificate_violations(leaf, asked.request, fair_terms(asked, leaf), NOW)
    assert [one.name for one in found] == ["ExtraUsage"]

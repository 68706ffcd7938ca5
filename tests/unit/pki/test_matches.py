from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from certwright.pki import (
    AlternativeNames,
    Authority,
    CertificateRefused,
    PrivateKey,
    RequestTerms,
    SigningRequest,
    certificate_violations,
    check_certificate,
    check_key_pair,
    parse_name,
    parse_usages,
    request_template,
)

DAY = timedelta(days=1)
TLS = RequestTerms(DAY, usages=parse_usages(["signing", "key encipherment", "server auth"]))


@pytest.fixture
def request_read(request_for: Callable[..., Any]) -> SigningRequest:
    value: SigningRequest = request_for(
        "a.example", "10.0.0.1", subject=parse_name("CN=a.example,O=x")
    )
    return value


@pytest.fixture
def issued(root: Authority, request_read: SigningRequest, now: datetime) -> Callable[..., Any]:
    """Issue what was asked for, with these differences."""

    def issue(terms: RequestTerms = TLS, at: Any = None, **changes: Any) -> x509.Certificate:
        template = replace(request_template(request_read, terms), **changes)
        return root.issue(template, at or now)

    return issue


def names(
    certificate: x509.Certificate, request: SigningRequest, terms: RequestTerms, now: datetime
) -> list[str]:
    return [one.name for one in certificate_violations(certificate, request, terms, now)]


def test_what_was_asked_for_fits(
    issued: Callable[..., Any], request_read: SigningRequest, now: datetime
) -> None:
    assert names(issued(), request_read, TLS, now) == []
    check_certificate(issued(), request_read, TLS, now)


CHANGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "KeyMismatch": lambda key_of: {"public_key": key_of(which="other").public_key()},
    "CaMismatch": lambda _: {"is_ca": True},
    "DurationMismatch": lambda _: {"lifetime": 2 * DAY},
    "SubjectMismatch": lambda _: {"subject": parse_name("CN=a.example,O=y")},
    "MissingName": lambda _: {"names": AlternativeNames.of_hosts("a.example").to_extension()},
    "ExtraName": lambda _: {
        "names": AlternativeNames.of_hosts("a.example", "10.0.0.1", "evil.example").to_extension()
    },
    "MissingUsage": lambda _: {"usages": parse_usages(["signing"])},
    "ExtraUsage": lambda _: {"usages": parse_usages(["signing", "server auth", "code signing"])},
}


@pytest.mark.parametrize("expected", CHANGES)
def test_every_difference_has_its_name(
    issued: Callable[..., Any],
    request_read: SigningRequest,
    key_of: Callable[..., PrivateKey],
    now: datetime,
    expected: str,
) -> None:
    certificate = issued(**CHANGES[expected](key_of))
    assert names(certificate, request_read, TLS, now) == [expected]
    with pytest.raises(CertificateRefused) as caught:
        check_certificate(certificate, request_read, TLS, now)
    assert [one.name for one in caught.value.violations] == [expected]


def test_time_is_looked_at(
    issued: Callable[..., Any], request_read: SigningRequest, now: datetime
) -> None:
    assert names(issued(), request_read, TLS, now + 2 * DAY) == ["Expired"]
    assert names(issued(), request_read, TLS, now - DAY) == ["NotYetValid"]


def test_a_weak_signature_is_named(
    request_read: SigningRequest, key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """Made by hand: no builder signs with SHA-1 for us."""
    vectors = pytest.importorskip("cryptography_vectors")
    with vectors.open_vector_file("x509/custom/post2000utctime.pem", "rb") as file:
        old = x509.load_pem_x509_certificate(file.read())
    assert isinstance(old.signature_hash_algorithm, hashes.SHA1)
    assert "WeakSignature" in names(old, request_read, TLS, now)


def test_messages_name_the_facts(
    issued: Callable[..., Any], request_read: SigningRequest, now: datetime
) -> None:
    certificate = issued(
        lifetime=2 * DAY, names=AlternativeNames.of_hosts("a.example", "b.example").to_extension()
    )
    messages = [str(one) for one in certificate_violations(certificate, request_read, TLS, now)]
    assert messages == [
        "DurationMismatch: it is valid for 2 days, 0:00:00 instead of 1 day, 0:00:00",
        "MissingName: names are missing: 'IP:10.0.0.1'",
        "ExtraName: names were not asked for: 'DNS:b.example'",
    ]


def test_the_common_name_may_be_repeated_among_the_names(
    root: Authority, request_for: Callable[..., Any], now: datetime
) -> None:
    request = request_for("b.example", subject=parse_name("CN=a.example"))
    template = request_template(request, TLS)
    both = AlternativeNames.of_hosts("a.example", "b.example").to_extension()
    assert names(root.issue(replace(template, names=both), now), request, TLS, now) == []


def test_a_missing_common_name_may_be_one_of_the_names(
    root: Authority, request_for: Callable[..., Any], now: datetime
) -> None:
    request = request_for("a.example", subject=parse_name(""))
    template = request_template(request, TLS)
    given = root.issue(replace(template, subject=parse_name("CN=a.example")), now)
    assert names(given, request, TLS, now) == []
    wrong = root.issue(replace(template, subject=parse_name("CN=b.example")), now)
    assert names(wrong, request, TLS, now) == ["SubjectMismatch"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-31, ["DurationMismatch"]), (-30, []), (330, []), (331, ["DurationMismatch"])],
)
def test_the_lifetime_may_differ_a_little(
    issued: Callable[..., Any],
    request_read: SigningRequest,
    now: datetime,
    seconds: int,
    expected: list[str],
) -> None:
    certificate = issued(lifetime=DAY + timedelta(seconds=seconds))
    assert names(certificate, request_read, TLS, now) == expected


def test_back_dating_may_be_left_out_of_the_bargain(
    issued: Callable[..., Any], request_read: SigningRequest, now: datetime
) -> None:
    longer = issued(lifetime=DAY + timedelta(seconds=60))
    assert names(longer, request_read, TLS, now) == []
    found = certificate_violations(longer, request_read, TLS, now, backdating=timedelta())
    assert [one.name for one in found] == ["DurationMismatch"]


def test_a_key_pair_belongs_together(
    issued: Callable[..., Any], key_of: Callable[..., PrivateKey]
) -> None:
    check_key_pair(issued(), key_of(which="leaf"))
    with pytest.raises(CertificateRefused, match="made for another key"):
        check_key_pair(issued(), key_of(which="other"))

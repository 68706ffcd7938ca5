"""When a certificate is issued anew: signatures decide, not bytes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from certwright import pki
from certwright.api.certmanager import CertificateStatus
from certwright.kube import Condition
from certwright.operators.rollout.carefresh.leaves import (
    LeafFacts,
    LeafState,
    decide,
)

NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@cache
def key(which: str) -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())


@cache
def authority(
    which: str = "first", *, made: datetime = NOW - 30 * DAY, days: int = 60, name: str = "root"
) -> pki.Authority:
    return pki.create_root(pki.distinguished_name(name), key(which), days * DAY, made)


def leaf(signer: pki.Authority, *, days: int = 20) -> bytes:
    names = pki.AlternativeNames.of_hosts("web.example")
    subject = pki.distinguished_name("web.example")
    template = pki.server_template(subject, key("leaf").public_key(), days * DAY, names)
    return pki.write_certificates(signer.issue(template, NOW - 10 * DAY))


def pem(signer: pki.Authority) -> bytes:
    return pki.write_certificates(signer.certificate)


def issued_by(signer: pki.Authority, now: pki.Authority | None = None) -> LeafFacts:
    """Return a leaf of one authority, whose issuer signs with another *now*."""
    current = now or signer
    return LeafFacts(CertificateStatus(), leaf(signer), pem(signer), pem(current), "")


def decided(facts: LeafFacts, **around: object) -> LeafState:
    given = {"under_way": 0, "behind": (), "at_once": 10, **around}
    return decide(facts, NOW, **given).state  # type: ignore[arg-type]


def with_status(facts: LeafFacts, **status: object) -> LeafFacts:
    return replace(facts, status=CertificateStatus(**status))  # type: ignore[arg-type]


def test_what_its_authority_signed_is_left_alone() -> None:
    assert decided(issued_by(authority())) is LeafState.CURRENT


def test_what_an_earlier_authority_signed_is_due() -> None:
    assert decided(issued_by(authority(), authority("second"))) is LeafState.DUE


def test_an_authority_renewed_with_its_key_has_signed_its_leaves() -> None:
    renewed = authority(made=NOW - DAY)
    assert pem(renewed) != pem(authority())
    assert decided(issued_by(authority(), renewed)) is LeafState.CURRENT


def test_unless_the_copy_beside_the_leaf_expires_before_it() -> None:
    old = authority(days=35)
    renewed = authority(made=NOW - DAY)
    facts = replace(issued_by(old, renewed), leaf=leaf(authority()))
    assert decided(facts) is LeafState.DUE
    assert decided(replace(facts, trusted=b"")) is LeafState.CURRENT


def test_an_authority_of_another_name_did_not_sign() -> None:
    other = authority(name="other")
    assert decided(issued_by(authority(), other)) is LeafState.DUE


@pytest.mark.parametrize("content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\n"])
def test_what_cannot_be_read_is_left_alone(content: bytes) -> None:
    facts = issued_by(authority(), authority("second"))
    assert decided(replace(facts, leaf=content)) is LeafState.UNKNOWN
    assert decided(replace(facts, authority=content)) is LeafState.UNKNOWN


def test_what_is_being_issued_is_waited_for() -> None:
    facts = issued_by(authority(), authority("second"))
    issuing = Condition(type="Issuing", status="True")
    assert decided(with_status(facts, conditions=[issuing])) is LeafState.ISSUING
    ended = Condition(type="Issuing", status="False")
    assert decided(with_status(facts, conditions=[ended])) is LeafState.DUE


@pytest.mark.parametrize(
    ("attempts", "ago", "state"),
    [
        (1, timedelta(minutes=59), LeafState.FAILED),
        (1, timedelta(minutes=61), LeafState.DUE),
        (3, timedelta(hours=3), LeafState.FAILED),
        (3, timedelta(hours=5), LeafState.DUE),
        (99, timedelta(hours=31), LeafState.FAILED),
        (99, timedelta(hours=33), LeafState.DUE),
    ],
)
def test_failures_are_followed_by_longer_and_longer_pauses(
    attempts: int, ago: timedelta, state: LeafState
) -> None:
    facts = issued_by(authority(), authority("second"))
    failed = with_status(facts, last_failure_time=NOW - ago, failed_issuance_attempts=attempts)
    assert decided(failed) is state


def test_what_another_authority_signed_again_is_not_asked_for_twice() -> None:
    facts = issued_by(authority(), authority("second"))
    asked = decide(facts, NOW, under_way=0, behind=(), at_once=10).fingerprint
    assert decided(replace(facts, refreshed_for=asked)) is LeafState.FOREIGN
    assert decided(replace(facts, refreshed_for="of-another")) is LeafState.DUE


def test_unless_it_failed_for_cert_manager_does_not_try_again() -> None:
    facts = issued_by(authority(), authority("second"))
    asked = decide(facts, NOW, under_way=0, behind=(), at_once=10).fingerprint
    failed = with_status(facts, last_failure_time=NOW - DAY, failed_issuance_attempts=1)
    assert decided(replace(failed, refreshed_for=asked)) is LeafState.DUE


def test_trust_goes_before_leaves() -> None:
    facts = issued_by(authority(), authority("second"))
    assert decided(facts, behind=["Deployment shop/web"]) is LeafState.UNTRUSTED


def test_few_are_issued_at_once() -> None:
    facts = issued_by(authority(), authority("second"))
    assert decided(facts, under_way=9) is LeafState.DUE
    assert decided(facts, under_way=10) is LeafState.LIMITED

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from cryptography.x509 import Certificate

from certwright.pki import (
    Authority,
    AuthorityUnfit,
    PrivateKey,
    Rotation,
    TooLarge,
    create_root,
    parse_name,
    read_bundle,
    verify_path,
    write_bundle,
    write_certificates,
)
from certwright.pki.certificates import fingerprint
from certwright.pki.errors import MalformedCertificate, MalformedPem
from certwright.pki.pem import write_block
from certwright.pki.requests import client_template

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ROTATION = Rotation(propagation=HOUR, longest_leaf=10 * DAY)


@pytest.fixture(scope="module")
def generations(key_of: Callable[..., PrivateKey], now: datetime) -> list[Authority]:
    """Three roots, made thirty days apart, each valid for a hundred."""
    return [
        create_root(
            parse_name(f"CN=gen {number}"), key_of(which=number), 100 * DAY, now + 30 * number * DAY
        )
        for number in range(3)
    ]


@pytest.fixture(scope="module")
def certificates(generations: list[Authority]) -> list[Certificate]:
    return [one.certificate for one in generations]


def test_a_bundle_is_the_same_bytes_for_the_same_set(certificates: list[Certificate]) -> None:
    text = write_bundle(certificates)
    assert text == write_bundle([*reversed(certificates), certificates[0]])
    assert read_bundle(b"# roots\n" + text + text) == [*reversed(certificates)]


def test_a_bundle_is_bounded(certificates: list[Certificate]) -> None:
    with pytest.raises(TooLarge, match="larger than the maximum of 330000"):
        read_bundle(b"#" * 330_001)
    blocks = b"".join(write_block("CERTIFICATE", str(number).encode()) for number in range(1_001))
    with pytest.raises(TooLarge, match="1001 certificates are more than the maximum of 1000"):
        read_bundle(blocks)
    with pytest.raises(MalformedCertificate, match="certificate 2 does not parse"):
        read_bundle(write_certificates(certificates[0]) + write_block("CERTIFICATE", b"x"))
    with pytest.raises(MalformedPem):
        read_bundle("")


def test_the_first_authority_signs_at_once(certificates: list[Certificate], now: datetime) -> None:
    assert ROTATION.signer(certificates[:1], now) == certificates[0]


def test_a_new_authority_is_trusted_before_it_signs_and_the_old_one_after(
    certificates: list[Certificate], now: datetime
) -> None:
    old, new, _ = certificates
    made = now.replace(microsecond=0) + 30 * DAY

    def at(moment: datetime) -> tuple[Certificate, list[Certificate]]:
        return ROTATION.signer([old, new], moment), ROTATION.trusted([old, new], moment)

    assert at(made) == (old, [new, old])  # prepared
    assert at(made + HOUR - timedelta(seconds=1)) == (old, [new, old])
    assert at(made + HOUR) == (new, [new, old])  # active
    assert at(made + HOUR + 10 * DAY) == (new, [new, old])
    assert at(made + HOUR + 10 * DAY + timedelta(seconds=1)) == (new, [new])  # retired


def test_expired_authorities_are_not_trusted(
    certificates: list[Certificate], now: datetime
) -> None:
    assert ROTATION.trusted(certificates, now + 125 * DAY) == [certificates[2]]
    assert ROTATION.trusted(certificates, now + 200 * DAY) == []
    with pytest.raises(AuthorityUnfit, match="no certificate authority is valid now"):
        ROTATION.signer(certificates, now + 200 * DAY)


def test_no_leaf_is_ever_without_its_root(
    generations: list[Authority],
    certificates: list[Certificate],
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    """Step through two rotations: whatever was signed is verified by every bundle of its lifetime."""
    by_certificate = {one.certificate: one for one in generations}
    signed = []
    for step in range(18):
        moment = now + timedelta(days=5) * step
        made = [one for one in certificates if one.not_valid_before_utc <= moment]
        signer = by_certificate[ROTATION.signer(made, moment)]
        template = client_template(parse_name("CN=leaf"), key_of().public_key(), 10 * DAY)
        signed.append(signer.issue(template, moment))
        trusted = ROTATION.trusted(made, moment)
        for leaf in signed:
            if moment <= leaf.not_valid_after_utc:
                verify_path(leaf, roots=trusted, now=moment)
    assert len({leaf.issuer for leaf in signed}) == 3


def test_fingerprints_are_sha256(certificates: list[Certificate]) -> None:
    assert len(fingerprint(certificates[0])) == 64
    assert fingerprint(certificates[0]) != fingerprint(certificates[1])

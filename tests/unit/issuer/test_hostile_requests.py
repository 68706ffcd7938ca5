"""Whatever somebody puts into a request, it is refused with a name and without a traceback."""

import random
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.x509.oid import NameOID
from tests.support.issuer.issuer_rows import T1, T2

from certwright import pki
from certwright.issuer.request import Bundle, Request
from certwright.issuer.sign.result import SignStatus
from certwright.issuer.sign.sign import BadBundle, accepted, request_refusal
from certwright.pki.pem import read_blocks, write_block

KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
NAMES = pki.AlternativeNames.of_hosts("web.example.com")
GOOD = pki.write_request(pki.build_request(KEY, pki.parse_name("CN=web"), NAMES))
DER = next(iter(read_blocks(GOOD, limit=10_000))).der


async def unused(*_: object) -> Any:
    raise NotImplementedError


def request(pem: bytes | str) -> Request:
    """Return a request as the library reads it from an object."""
    return Request(
        kind="CertificateRequest", name="cr1", namespace="ns1", uid="u", created=T1,
        issuer_kind="TestIssuer", issuer_name="issuer-1", issuer_namespace="ns1", now=T2,
        csr_pem=pem if isinstance(pem, str) else pem.decode("latin-1"),
        read_terms=pki.RequestTerms, read_secret=unused, offload=unused,
    )  # fmt: skip


DSA_KEY = dsa.generate_private_key(1024)  # noqa: S505 - that is the point
SHORT_KEY = rsa.generate_private_key(65537, 1024)  # noqa: S505 - that is the point


def with_sha1() -> bytes:
    """Claim a signature with SHA-1, which no library makes any more."""
    pem = made_by(rsa.generate_private_key(65537, 2048))
    der = next(iter(read_blocks(pem, limit=10_000))).der
    sha256, sha1 = bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d010105")
    return block(der.replace(sha256, sha1))


def block(der: bytes) -> bytes:
    return write_block("CERTIFICATE REQUEST", der)


def made_by(key: pki.PrivateKey | dsa.DSAPrivateKey, *, name: str = "web") -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    )
    return pki.write_request(builder.sign(key, hashes.SHA256()))


def nested(depth: int) -> bytes:
    der = b"\x05\x00"
    for _ in range(depth):
        size = len(der)
        length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
        der = b"\x30" + length + der
    return der


def doubled(der: bytes) -> bytes:
    """Write the same bytes in an indefinite length, as BER may and DER may not."""
    return b"\x30\x80" + der[4:] + b"\x00\x00"


def with_nul() -> bytes:
    names = pki.AlternativeNames.of_hosts("web.example.com")
    pem = pki.write_request(pki.build_request(KEY, pki.parse_name("CN=web"), names))
    der = next(iter(read_blocks(pem, limit=10_000))).der
    return block(der.replace(b"web.example.com", b"web\x00example.com"))


@pytest.mark.parametrize(
    ("pem", "named"),
    [
        pytest.param(b"", "MalformedPem", id="nothing"),
        pytest.param(b"hello", "MalformedPem", id="no PEM"),
        pytest.param(GOOD + GOOD, "MalformedPem", id="two"),
        pytest.param(GOOD.replace(b"REQUEST", b"PETITION"), "MalformedPem", id="another label"),
        pytest.param(block(b""), "Malformed", id="empty"),
        pytest.param(block(doubled(DER)), "MalformedRequest", id="BER"),
        pytest.param(block(nested(400)), "MalformedRequest", id="nested"),
        pytest.param(block(b"\x30\x84\xff\xff\xff\xff" + DER), "MalformedRequest", id="giant length"),
        pytest.param(b"A" * 70_000, "TooLarge", id="giant"),
        pytest.param(made_by(ec.generate_private_key(ec.SECP256K1())), "UnsupportedKey", id="wrong curve"),
        pytest.param(made_by(DSA_KEY), "UnsupportedKey", id="DSA"),
        pytest.param(made_by(SHORT_KEY), "UnsupportedKey", id="short RSA"),
        pytest.param(with_sha1(), "WeakSignature", id="SHA-1"),
        pytest.param(with_nul(), "BadSignature", id="forged NUL"),
        pytest.param(made_by(KEY, name="evil\x00web"), "ControlCharacter", id="NUL in a name"),
        pytest.param(made_by(KEY, name="evil\nweb"), "ControlCharacter", id="line break in a name"),
        pytest.param("-----BEGIN CERTIFICATE REQUEST-----\nÿþ", "MalformedPem", id="no ASCII"),
    ],
)  # fmt: skip
def test_each_is_refused_by_name(pem: bytes | str, named: str) -> None:
    result = request_refusal(request(pem))
    assert result is not None
    assert result.status is SignStatus.FAILED
    assert result.text.startswith(named), result.text
    assert "Traceback" not in result.text
    assert len(result.text) < 1000


def test_truncated_and_flipped_everywhere() -> None:
    """Every prefix, and a few thousand flipped bytes: refused, or still the same request."""
    dice = random.Random(5)  # noqa: S311 - a corpus
    corpus = [block(DER[:size]) for size in range(0, len(DER), 3)]
    for _ in range(1500):
        mutated = bytearray(DER)
        for _ in range(dice.randrange(1, 4)):
            mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        corpus.append(block(bytes(mutated)))
    corpus += [GOOD[:size] for size in range(0, len(GOOD), 5)]
    for pem in corpus:
        result = request_refusal(request(pem))
        if result is not None:
            assert result.status is SignStatus.FAILED
            assert result.text.partition(":")[0].isidentifier(), result.text


def test_a_good_request_has_nothing_against_it() -> None:
    assert request_refusal(request(GOOD)) is None


@pytest.mark.parametrize("seed", range(3))
def test_bundles_of_noise_are_refused(seed: int) -> None:
    ca_key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
    ca = pki.create_root(pki.parse_name("CN=CA"), ca_key, timedelta(days=365), T2)
    asked = request(GOOD)
    chain = ca.write_chain(ca.issue_request(asked.csr, asked.terms, T2))
    dice, reasons = random.Random(seed), set()  # noqa: S311 - a corpus
    for _ in range(200):
        mutated = bytearray(chain)
        mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        try:
            bundle, _ = accepted(Bundle(bytes(mutated)), asked, T2)
        except BadBundle as refused:
            reasons.add(str(refused).partition(":")[0])
        else:
            pki.check_key_pair(pki.read_chain(bundle.chain).leaf, KEY)
    assert reasons
    assert all(reason.isidentifier() for reason in reasons)

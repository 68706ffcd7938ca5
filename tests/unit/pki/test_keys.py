from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives._serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, rsa

from certwright.pki import (
    KeyAlgorithm,
    KeySpec,
    MalformedInput,
    PrivateKey,
    TooLarge,
    UnsupportedKey,
    key_spec,
    read_key,
    write_key,
)
from certwright.pki.errors import MalformedKey, MalformedPem
from certwright.pki.keys import KeyEncoding, check_primes, public_key_bytes, signature_hash
from certwright.pki.pem import write_block

KINDS = [("RSA", 2048), ("ECDSA", 256), ("ECDSA", 384), ("ECDSA", 521), ("Ed25519", 256)]


def pkcs8(key: Any, encryption: BestAvailableEncryption | None = None) -> bytes:
    value: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        encryption or serialization.NoEncryption(),
    )
    return value


@pytest.mark.parametrize(("algorithm", "size"), KINDS)
@pytest.mark.parametrize("encoding", list(KeyEncoding))
def test_keys_survive_writing_and_reading(
    key_of: Callable[..., PrivateKey], algorithm: str, size: int, encoding: KeyEncoding
) -> None:
    key = key_of(algorithm, size)
    allowed = {"RSA": {"PKCS1", "PKCS8"}, "ECDSA": {"SEC1", "PKCS8"}, "Ed25519": {"PKCS8"}}
    if encoding not in allowed[algorithm]:
        with pytest.raises(ValueError, match=f"cannot be written as {encoding}"):
            write_key(key, encoding)
        return
    again = read_key(write_key(key, encoding))
    assert public_key_bytes(again.public_key()) == public_key_bytes(key.public_key())
    assert key_spec(again) == KeySpec(KeyAlgorithm(algorithm), size)


@pytest.mark.parametrize(
    ("encoding", "algorithm", "marker"),
    [
        ("PKCS1", "RSA", b"-----BEGIN RSA PRIVATE KEY-----"),
        ("SEC1", "ECDSA", b"-----BEGIN EC PRIVATE KEY-----"),
        ("PKCS8", "Ed25519", b"-----BEGIN PRIVATE KEY-----"),
    ],
)
def test_the_encoding_is_the_one_asked_for(
    key_of: Callable[..., PrivateKey], encoding: str, algorithm: str, marker: bytes
) -> None:
    key = key_of(algorithm, 2048 if algorithm == "RSA" else 0)
    assert write_key(key, KeyEncoding(encoding)).startswith(marker)


@pytest.mark.parametrize(
    ("algorithm", "size"),
    [("RSA", 1024), ("RSA", 2047), ("RSA", 8193), ("ECDSA", 224), ("Ed25519", 448), ("RSA", -1)],
)
def test_other_sizes_are_refused(algorithm: str, size: int) -> None:
    with pytest.raises(UnsupportedKey, match="is not accepted"):
        KeySpec(KeyAlgorithm(algorithm), size)


def test_the_usual_sizes() -> None:
    assert [KeySpec(algorithm).size for algorithm in KeyAlgorithm] == [2048, 256, 256]
    assert [str(KeySpec(algorithm)) for algorithm in KeyAlgorithm] == [
        "RSA 2048",
        "ECDSA 256",
        "Ed25519",
    ]


def test_only_rsa_is_slow() -> None:
    assert [KeySpec(algorithm).is_slow for algorithm in KeyAlgorithm] == [True, False, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ec.generate_private_key(ec.SECP256K1()), "ECDSA on the curve secp256k1"),
        (lambda: rsa.generate_private_key(65_537, 1024), "RSA 1024 is not accepted"),  # noqa: S505
        (lambda: rsa.generate_private_key(3, 2048), "RSA with this public exponent"),
        (ed448.Ed448PrivateKey.generate, "neither RSA, ECDSA nor Ed25519"),
        (lambda: dsa.generate_private_key(1024), "neither RSA, ECDSA nor Ed25519"),  # noqa: S505
    ],
    ids=["curve", "short", "exponent", "ed448", "dsa"],
)
def test_other_keys_are_refused_by_name(make: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedKey, match=message):
        read_key(pkcs8(make()))


def test_an_encrypted_key_is_refused(key_of: Callable[..., PrivateKey]) -> None:
    text = pkcs8(key_of(), serialization.BestAvailableEncryption(b"pass"))
    with pytest.raises(MalformedKey, match="use unencrypted"):
        read_key(text)


def pkcs1(*numbers: int) -> bytes:
    """An RSA key as its bare numbers, whatever they are."""

    def encoded(tag: int, body: bytes) -> bytes:
        length = len(body)
        octets = length.to_bytes((length.bit_length() + 7) // 8)
        prefix = octets if length < 128 else bytes([128 + len(octets)]) + octets
        return bytes([tag]) + prefix + body

    integers = [encoded(2, number.to_bytes(number.bit_length() // 8 + 1)) for number in numbers]
    return write_block("RSA PRIVATE KEY", encoded(0x30, b"".join(integers)))


def test_parts_that_do_not_belong_together_are_refused(key_of: Callable[..., PrivateKey]) -> None:
    def parts(key: Any) -> list[int]:
        numbers = key.private_numbers()
        return [
            0, numbers.public_numbers.n, numbers.public_numbers.e, numbers.d, numbers.p,
            numbers.q, numbers.dmp1, numbers.dmq1, numbers.iqmp,
        ]  # fmt: skip

    good, other = parts(key_of("RSA", 2048)), parts(key_of("RSA", 2048, which="other"))
    read_key(pkcs1(*good))
    for place in (1, 3, 4, 5, 6, 7, 8):
        mixed = [*good[:place], other[place], *good[place + 1 :]]
        with pytest.raises(MalformedKey, match="contradicts itself"):
            read_key(pkcs1(*mixed))


def test_factors_that_are_not_prime_are_found_on_demand(key_of: Callable[..., PrivateKey]) -> None:
    check_primes(key_of("RSA", 2048))
    check_primes(key_of())
    p, q, e = 2**1024 - 105, 2**1023 + 1, 65_537
    assert q % 3 == 0
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(e, p * q)
    )
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    with pytest.raises(MalformedKey, match="not made of two primes"):
        check_primes(key)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (b"", MalformedPem, "expected one private key, found 0"),
        (write_block("PRIVATE KEY", b"x") * 2, MalformedPem, "expected one private key, found 2"),
        (write_block("PRIVATE KEY", b"0\x03\x02\x01\x00"), MalformedKey, "does not parse"),
        (
            write_block("OPENSSH PRIVATE KEY", b"x"),
            MalformedKey,
            "OPENSSH PRIVATE KEY is not accepted",
        ),
        (b" " * 13_001, TooLarge, "maximum of 13000"),
    ],
)
def test_what_is_no_key_is_refused(text: bytes, error: type[MalformedInput], message: str) -> None:
    with pytest.raises(error, match=message):
        read_key(text)


def test_no_message_quotes_the_key() -> None:
    body = b"0\x10\x02\x01\x00\x04\x0bTOP-SECRET!"
    with pytest.raises(MalformedKey) as caught:
        read_key(write_block("PRIVATE KEY", body))
    assert "SECRET" not in repr(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("algorithm", "size", "expected"),
    [
        ("RSA", 2048, "sha256"),
        ("ECDSA", 256, "sha256"),
        ("ECDSA", 384, "sha384"),
        ("ECDSA", 521, "sha512"),
    ],
)
def test_the_hash_is_as_strong_as_the_key(
    key_of: Callable[..., PrivateKey], algorithm: str, size: int, expected: str
) -> None:
    found = signature_hash(key_of(algorithm, size))
    assert found is not None
    assert found.name == expected


def test_ed25519_brings_its_own_hash(key_of: Callable[..., PrivateKey]) -> None:
    assert signature_hash(key_of("Ed25519")) is None

"""Signed messages, against the examples of the RFCs."""

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from certwright import pki
from certwright.issuers.acme import AccountKey, ExternalAccount, MalformedBinding


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.fixture
def rfc8037() -> AccountKey:
    """The key of RFC 8037, appendix A."""
    secret = decoded("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
    return AccountKey(ed25519.Ed25519PrivateKey.from_private_bytes(secret))


def test_the_public_half_and_its_name_are_as_in_rfc_8037(rfc8037: AccountKey) -> None:
    assert rfc8037.jwk == {
        "crv": "Ed25519", "kty": "OKP", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }  # fmt: skip
    assert rfc8037.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert rfc8037.authorization("t") == f"t.{rfc8037.thumbprint}"


def test_the_name_of_an_rsa_key_is_as_in_rfc_7638(rfc8037: AccountKey) -> None:
    rfc8037.jwk = {
        "kty": "RSA", "e": "AQAB",
        "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    }  # fmt: skip
    assert rfc8037.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


CURVES = {
    256: ("ES256", hashes.SHA256()),
    384: ("ES384", hashes.SHA384()),
    521: ("ES512", hashes.SHA512()),
}


@pytest.mark.parametrize(
    ("algorithm", "size", "name"),
    [
        ("ECDSA", 256, "ES256"),
        ("ECDSA", 384, "ES384"),
        ("ECDSA", 521, "ES512"),
        ("RSA", 2048, "RS256"),
        ("Ed25519", 0, "EdDSA"),
    ],
)
def test_signatures_verify(algorithm: str, size: int, name: str) -> None:
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm(algorithm), size))
    message = json.loads(AccountKey(key).sign("https://a/b", "n1", b'{"x":1}', account=None))
    head = json.loads(decoded(message["protected"]))
    assert head == {"alg": name, "nonce": "n1", "url": "https://a/b", "jwk": AccountKey(key).jwk}
    assert decoded(message["payload"]) == b'{"x":1}'
    signed = f"{message['protected']}.{message['payload']}".encode()
    signature = decoded(message["signature"])
    public: Any = key.public_key()
    if algorithm == "RSA":
        public.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    elif algorithm == "Ed25519":
        public.verify(signature, signed)
    else:
        half = len(signature) // 2
        assert half == (size + 7) // 8
        pair = (int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))
        public.verify(encode_dss_signature(*pair), signed, ec.ECDSA(CURVES[size][1]))


def test_an_account_signs_by_its_name(rfc8037: AccountKey) -> None:
    message = json.loads(rfc8037.sign("https://a/b", "n", b"", account="https://a/acct/1"))
    assert json.loads(decoded(message["protected"]))["kid"] == "https://a/acct/1"
    assert "jwk" not in json.loads(decoded(message["protected"]))
    assert message["payload"] == ""


@pytest.mark.parametrize("text", ["YWJj", "YWJj\n", "-_-_", "+/+/", "YWI="])
def test_the_key_of_an_external_account_comes_in_any_base64(text: str) -> None:
    assert ExternalAccount.of("kid", text).mac_key
    assert text.strip() not in repr(ExternalAccount.of("kid", text))


@pytest.mark.parametrize("text", ["", "  ", "a", "ä"])
def test_other_texts_are_no_key(text: str) -> None:
    with pytest.raises(MalformedBinding, match="key of the external account"):
        ExternalAccount.of("kid", text)

"""Signed messages as ACME wants them: flattened JSON (RFC 7515) with the account's key."""

import binascii
import hashlib
import hmac
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from certwright.pki import PrivateKey, key_spec

_CURVES: dict[int, tuple[str, str, hashes.HashAlgorithm]] = {
    256: ("P-256", "ES256", hashes.SHA256()),
    384: ("P-384", "ES384", hashes.SHA384()),
    521: ("P-521", "ES512", hashes.SHA512()),
}


class MalformedBinding(ValueError):
    """The key of an external account is no base64."""


def encoded(data: bytes) -> str:
    """Return base64 for URLs, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class ExternalAccount:
    """An account at the authority, to which an ACME account is bound (RFC 8555, 7.3.4)."""

    key_id: str
    mac_key: bytes = field(repr=False)

    @classmethod
    def of(cls, key_id: str, mac_key: str) -> "ExternalAccount":
        """Take the key in base64, with or without padding; `MalformedBinding` if it is not that."""
        text = mac_key.strip().replace("+", "-").replace("/", "_").rstrip("=")
        try:
            key = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise MalformedBinding("the key of the external account is no base64") from None
        if not key:
            raise MalformedBinding("the key of the external account is empty")
        return cls(key_id, key)

    def bind(self, key: "AccountKey", url: str) -> dict[str, str]:
        """Return the proof that the holder of this account also holds *key*."""
        protected = {"alg": "HS256", "kid": self.key_id, "url": url}
        head, payload = encoded(orjson.dumps(protected)), encoded(orjson.dumps(key.jwk))
        mac = hmac.digest(self.mac_key, f"{head}.{payload}".encode(), hashlib.sha256)
        return {"protected": head, "payload": payload, "signature": encoded(mac)}


class AccountKey:
    """The key that an ACME account is known by."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.jwk = _jwk(key)

    @property
    def thumbprint(self) -> str:
        """The name of the key (RFC 7638)."""
        ordered = orjson.dumps(self.jwk, option=orjson.OPT_SORT_KEYS)
        return encoded(hashlib.sha256(ordered).digest())

    def authorization(self, token: str) -> str:
        """Return what proves, where the server looks for *token*, that we are this account."""
        return f"{token}.{self.thumbprint}"

    def sign(self, url: str, nonce: str, payload: bytes, *, account: str | None) -> bytes:
        """Return a request body; *account* is None until the account has a URL."""
        identity: dict[str, Any] = {"kid": account} if account else {"jwk": self.jwk}
        protected = {"alg": self._algorithm, "nonce": nonce, "url": url, **identity}
        head, body = encoded(orjson.dumps(protected)), encoded(payload)
        signature = encoded(self._signature(f"{head}.{body}".encode()))
        return orjson.dumps({"protected": head, "payload": body, "signature": signature})

    @property
    def _algorithm(self) -> str:
        match self._key:
            case rsa.RSAPrivateKey():
                return "RS256"
            case ed25519.Ed25519PrivateKey():
                return "EdDSA"
        return _CURVES[key_spec(self._key).size][1]

    def _signature(self, data: bytes) -> bytes:
        match self._key:
            case rsa.RSAPrivateKey():
                return self._key.sign(data, padding.PKCS1v15(), hashes.SHA256())
            case ed25519.Ed25519PrivateKey():
                return self._key.sign(data)
        size = key_spec(self._key).size
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(_CURVES[size][2])))
        width = (size + 7) // 8
        return r.to_bytes(width, "big") + s.to_bytes(width, "big")


def _jwk(key: PrivateKey) -> dict[str, str]:
    """Return the public half (RFC 7517), with the members that a thumbprint counts."""
    public = key.public_key()
    match public:
        case rsa.RSAPublicKey():
            numbers = public.public_numbers()
            return {"kty": "RSA", "e": _number(numbers.e), "n": _number(numbers.n)}
        case ed25519.Ed25519PublicKey():
            raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
            return {"kty": "OKP", "crv": "Ed25519", "x": encoded(raw)}
    size = key_spec(public).size
    point, width = public.public_numbers(), (size + 7) // 8
    return {
        "kty": "EC",
        "crv": _CURVES[size][0],
        "x": encoded(point.x.to_bytes(width, "big")),
        "y": encoded(point.y.to_bytes(width, "big")),
    }


def _number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))

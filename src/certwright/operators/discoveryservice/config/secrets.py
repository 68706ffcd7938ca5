"""What Envoy is given of a Secret, and why it is not."""

import base64
import binascii
from datetime import datetime
from typing import Final

from certwright import pki
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.content import SecretSource

TLS: Final = "kubernetes.io/tls"
OPAQUE: Final = "Opaque"
_CERTIFICATE, _KEY = "tls.crt", "tls.key"


class SecretUnusable(Exception):
    """A Secret from which no resource can be made. The message shows nothing of what it holds."""


def secret_resource(source: SecretSource, secret: JsonObject | None, now: datetime) -> JsonObject:
    """Return the resource that Envoy is given for a Secret.

    Raises:
        SecretUnusable: there is none, or it holds nothing that Envoy could use.
    """
    if secret is None:
        raise SecretUnusable("does not exist")
    wanted = OPAQUE if source.key else TLS
    if (found := secret.get("type") or OPAQUE) != wanted:
        raise SecretUnusable(f"is of type {found}, not {wanted}")
    if source.key:
        value = _value(secret, source.key)
        return {"name": source.resource, "generic_secret": {"secret": _inline(value)}}
    certificate = _value(secret, _CERTIFICATE)
    if source.validation:
        _check_authorities(certificate)
        context = {"trusted_ca": _inline(certificate)}
        return {"name": source.resource, "validation_context": context}
    key = _value(secret, _KEY)
    _check_pair(certificate, key, now)
    pair = {"certificate_chain": _inline(certificate), "private_key": _inline(key)}
    return {"name": source.resource, "tls_certificate": pair}


def _inline(value: bytes) -> JsonObject:
    return {"inline_bytes": base64.b64encode(value).decode()}


def _value(secret: JsonObject, key: str) -> bytes:
    text = (secret.get("data") or {}).get(key)
    if not text:
        raise SecretUnusable(f"has no {key}")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise SecretUnusable(f"holds no base64 in {key}") from None


def _check_authorities(certificates: bytes) -> None:
    try:
        pki.read_bundle(certificates)
    except pki.PkiError as error:
        raise SecretUnusable(f"{_CERTIFICATE}: {error}") from None


def _check_pair(certificate: bytes, key: bytes, now: datetime) -> None:
    try:
        leaf, *_ = pki.read_certificates(certificate)
    except pki.PkiError as error:
        raise SecretUnusable(f"{_CERTIFICATE}: {error}") from None
    try:
        private = pki.read_key(key)
    except pki.PkiError:  # what it says could be about the key
        raise SecretUnusable(f"{_KEY} is not a private key") from None
    try:
        pki.check_key_pair(leaf, private)
    except pki.PkiError:
        raise SecretUnusable(f"{_KEY} does not belong to {_CERTIFICATE}") from None
    expiry = pki.Validity.of(leaf).not_after
    if now > expiry:
        raise SecretUnusable(f"the certificate expired at {expiry:%Y-%m-%dT%H:%M:%SZ}")

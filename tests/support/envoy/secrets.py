"""Secrets with certificates, made for tests."""

import base64
from datetime import datetime, timedelta

from certwright import pki
from certwright.kube import JsonObject
from certwright.pki.authority import self_sign
from certwright.pki.keys import KeySpec, accepted_public_key, generate_key, write_key
from certwright.pki.names import AlternativeNames, distinguished_name
from certwright.pki.requests import server_template


def key_pair(now: datetime, host: str = "web.example", days: int = 30) -> tuple[bytes, bytes]:
    """Return a self-signed certificate and its key, as PEM."""
    key = generate_key(KeySpec())
    template = server_template(
        distinguished_name(host),
        accepted_public_key(key.public_key()),
        timedelta(days=days),
        AlternativeNames.of_hosts(host),
    )
    return pki.write_certificates(self_sign(template, key, now)), write_key(key)


def tls_secret(name: str, certificate: bytes, key: bytes) -> JsonObject:
    """Return a Secret of type kubernetes.io/tls."""
    data = {"tls.crt": certificate, "tls.key": key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/tls",
        "data": {one: base64.b64encode(value).decode() for one, value in data.items()},
    }

"""The keys and certificates that are played with.

They are made once per process and valid for as long as virtual time may go on, so that thousands of
runs cost nothing and end alike.
"""

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Final

from certwright import pki
from certwright.apiserver.http.certs import KeyPair
from certwright.pki.requests import Template

_SINCE: Final = datetime(2020, 1, 1, tzinfo=UTC)
_LIFETIME: Final = timedelta(days=100 * 365)


@cache
def authority_pair(number: int) -> KeyPair:
    """Return the authority that a webhook makes when it makes one for the *number*th time."""
    key = _key(f"authority {number}")
    made = pki.create_root(
        pki.distinguished_name("cert-manager-webhook-ca"), key, _LIFETIME, _SINCE
    )
    return KeyPair(pki.write_certificates(made.certificate), pki.write_key(key))


@lru_cache(maxsize=256)
def serving_chain(authority: bytes, authority_key: bytes, hosts: tuple[str, ...]) -> bytes:
    """Return the certificate of a server, PEM, signed by an authority, if that can sign."""
    signed = signed_pair(authority, authority_key, hosts[0] if hosts else "", hosts)
    return signed.certificate if signed else b""


@lru_cache(maxsize=256)
def signed_pair(
    authority: bytes, authority_key: bytes, common_name: str, hosts: tuple[str, ...]
) -> KeyPair | None:
    """Return a certificate and its key, signed by an authority; None if that cannot sign."""
    key = _key(f"signed {common_name} {hosts}")
    try:
        signer = pki.Authority(pki.read_certificate(authority), pki.read_key(authority_key))
        since = max(_SINCE, pki.Validity.of(signer.certificate).not_before)
        template = _template(key, common_name, hosts)
        return KeyPair(pki.write_certificates(signer.issue(template, since)), pki.write_key(key))
    except pki.PkiError:
        return None


@cache
def self_signed_pair(common_name: str, hosts: tuple[str, ...], number: int) -> KeyPair:
    """Return a self-signed certificate and its key, the *number*th for these names."""
    key = _key(f"self-signed {common_name} {hosts} {number}")
    certificate = pki.self_sign(_template(key, common_name, hosts), key, _SINCE)
    return KeyPair(pki.write_certificates(certificate), pki.write_key(key))


@cache
def _key(_purpose: str) -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())


def _template(key: pki.PrivateKey, common_name: str, hosts: tuple[str, ...]) -> Template:
    names = pki.AlternativeNames.of_hosts(*(hosts or (common_name,)))
    subject = pki.distinguished_name(common_name or hosts[0])
    return pki.server_template(subject, key.public_key(), _LIFETIME, names)

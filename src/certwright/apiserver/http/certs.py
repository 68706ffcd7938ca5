"""Throw-away certificates for servers that live as long as a test.

P-256 throughout: a key takes microseconds. Nothing in the testkit ever talks without TLS.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from certwright import pki
from certwright.pki.keys import public_key_bytes
from certwright.pki.pem import write_block
from certwright.pki.requests import Template

_LIFETIME = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, PEM. The repr shows neither."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


class TestAuthority:
    """A certificate authority that exists in memory only."""

    __test__ = False  # pytest collects by name

    def __init__(self, name: str, now: datetime) -> None:
        self._now = now
        subject = pki.distinguished_name(name)
        self._authority = pki.create_root(subject, _new_key(), _LIFETIME, now)

    @property
    def certificate(self) -> bytes:
        """The certificate to trust, PEM."""
        return pki.write_certificates(self._authority.certificate)

    def serving(self, *hosts: str) -> KeyPair:
        """Issue a certificate for a server reached under these names or addresses."""
        key, names = _new_key(), pki.AlternativeNames.of_hosts(*hosts)
        subject = pki.distinguished_name(hosts[0])
        template = pki.server_template(subject, key.public_key(), _LIFETIME, names)
        return self._issued(template, key)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Issue a certificate that Kubernetes reads as this user in these groups."""
        key, subject = _new_key(), pki.distinguished_name(user, groups)
        return self._issued(pki.client_template(subject, key.public_key(), _LIFETIME), key)

    def _issued(self, template: Template, key: pki.PrivateKey) -> KeyPair:
        certificate = self._authority.issue(template, self._now)
        return KeyPair(pki.write_certificates(certificate), pki.write_key(key))


def signing_key_pair() -> KeyPair:
    """Make a bare key pair, for signing tokens; the "certificate" is the public key."""
    key = _new_key()
    public = write_block("PUBLIC KEY", public_key_bytes(key.public_key()))
    return KeyPair(public, pki.write_key(key))


def _new_key() -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())

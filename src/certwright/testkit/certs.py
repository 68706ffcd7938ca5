"""Throw-away certificates for servers that live as long as a test.

P-256 throughout: a key takes microseconds. What certwright issues for others is made by its
PKI; this is only so that nothing in the testkit ever talks without TLS.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=365)
_BACKDATED = timedelta(minutes=5)


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
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(ca=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The certificate to trust, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def serving(self, *hosts: str) -> KeyPair:
        """Issue a certificate for a server reached under these names or addresses."""
        return self._leaf(hosts[0], (), hosts, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Issue a certificate that Kubernetes reads as this user in these groups."""
        return self._leaf(user, groups, (), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _leaf(
        self,
        common_name: str,
        organizations: Sequence[str],
        hosts: Sequence[str],
        usage: x509.ObjectIdentifier,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
            + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        )
        builder = (
            self._builder(subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_key_pem(key))

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _BACKDATED)
            .not_valid_after(self._now + _LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(authority, critical=False)
        )


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Write a key as unencrypted PKCS#8."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def signing_key_pair() -> KeyPair:
    """Make a bare key pair, for signing tokens; the "certificate" is the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return KeyPair(public, private_key_pem(key))


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=ca, crl_sign=ca, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)

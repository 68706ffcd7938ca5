"""Certificates as values: reading and writing them, alone and in trust bundles."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import SignatureAlgorithmOID

from certwright.pki.errors import (
    PARSE_ERRORS,
    MalformedCertificate,
    MalformedPem,
    TooLarge,
    UnsupportedKey,
)
from certwright.pki.keys import STRONG_HASHES, PublicKey, accepted_public_key
from certwright.pki.names import AlternativeNames
from certwright.pki.pem import BUNDLE_LIMIT, CERTIFICATE_LIMIT, CHAIN_LIMIT, read_blocks
from certwright.pki.usages import Usages

CHAIN_LENGTH = 10
"""Certificates of a chain."""
BUNDLE_LENGTH = 1_000
"""Certificates of a trust bundle."""
BACKDATING = timedelta(minutes=5)
"""How far the start of a certificate lies in the past, for readers whose clock is behind."""

_LABELS = {"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"}
Certificate: TypeAlias = x509.Certificate
"""For those who pass certificates on without looking into them."""
ExtensionT = TypeVar("ExtensionT", bound=x509.ExtensionType)


@dataclass(frozen=True, slots=True)
class Validity:
    """From when to when a certificate holds, both ends included, in whole seconds of UTC."""

    not_before: datetime
    not_after: datetime

    @classmethod
    def of(cls, certificate: x509.Certificate) -> "Validity":
        """Return the validity of a certificate."""
        return cls(certificate.not_valid_before_utc, certificate.not_valid_after_utc)

    @classmethod
    def starting(cls, now: datetime, lifetime: timedelta) -> "Validity":
        """Return a validity of exactly *lifetime* that began a little before *now*.

        The start lies `BACKDATING` in the past, at most a tenth of the lifetime. The end is counted
        from the start, because a client that asked for 24 hours checks for 24 hours. Raises
        `ValueError` if the lifetime is not at least one second.
        """
        if lifetime < timedelta(seconds=1):
            raise ValueError("a certificate is valid for at least one second")
        start = (now - min(BACKDATING, lifetime / 10)).replace(microsecond=0)
        return cls(start, start + timedelta(seconds=lifetime // timedelta(seconds=1)))

    @classmethod
    def counted_from(cls, now: datetime, lifetime: timedelta, lead: timedelta) -> "Validity":
        """Return a validity that ends *lifetime* after *now* and began *lead* before it.

        For those who asked for so much time from now on. Raises `ValueError` if the lifetime is not
        at least one second, or its end is beyond the calendar.
        """
        if lifetime < timedelta(seconds=1):
            raise ValueError("a certificate is valid for at least one second")
        whole = now.replace(microsecond=0)
        try:
            return cls(whole - lead, whole + lifetime)
        except OverflowError:
            raise ValueError("the end of the validity is beyond the calendar") from None

    @property
    def lifetime(self) -> timedelta:
        """The time between both ends."""
        return self.not_after - self.not_before

    def within(self, outer: "Validity") -> "Validity":
        """Return it so that it lies inside *outer*: begun later if need be, then cut at the end.

        Below an authority that was made a moment ago back-dating must give way, but what
        was asked for shall still last as long as asked.
        """
        start = max(self.not_before, outer.not_before)
        return Validity(start, min(start + self.lifetime, outer.not_after))

    def cut(self, outer: "Validity") -> "Validity":
        """Return the part of it that lies inside *outer*."""
        start, end = max(self.not_before, outer.not_before), min(self.not_after, outer.not_after)
        return Validity(start, end)

    def covers(self, now: datetime) -> bool:
        """Return whether *now* lies inside."""
        return self.not_before <= now <= self.not_after


def read_certificate(data: bytes | str) -> x509.Certificate:
    """Read the only certificate of a PEM text.

    Raises:
        TooLarge: more than 36,500 bytes.
        MalformedPem: no PEM, or not exactly one certificate.
        MalformedCertificate: it does not parse.
    """
    found = read_certificates(data, limit=CERTIFICATE_LIMIT)
    if len(found) != 1:
        raise MalformedPem(f"expected one certificate, found {len(found)}")
    return found[0]


def read_certificates(
    data: bytes | str, *, limit: int = CHAIN_LIMIT, at_most: int = CHAIN_LENGTH
) -> list[x509.Certificate]:
    """Read all certificates of a PEM text in their order; repeated ones are dropped.

    Raises:
        TooLarge: more than *limit* bytes, or more than *at_most* different certificates.
        MalformedPem: broken PEM, or no certificate in it.
        MalformedCertificate: a certificate does not parse.
    """
    blocks = read_blocks(data, limit=limit)
    different = dict.fromkeys(block.der for block in blocks if block.label in _LABELS)
    if not different:
        raise MalformedPem("no certificate found")
    if len(different) > at_most:
        raise TooLarge(f"{len(different)} certificates are more than the maximum of {at_most}")
    return [_parsed(der, place) for place, der in enumerate(different, 1)]


def write_certificates(*certificates: x509.Certificate) -> bytes:
    """Write certificates as PEM, in the order given."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate in lower-case hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def extension(
    certificate: x509.Certificate | x509.CertificateSigningRequest, kind: type[ExtensionT]
) -> ExtensionT | None:
    """Return the value of an extension, or None."""
    for found in certificate.extensions:
        if isinstance(found.value, kind):
            return found.value
    return None


def alternative_names(certificate: x509.Certificate) -> AlternativeNames:
    """Return the alternative names of a certificate; none if it has no such extension."""
    names = extension(certificate, x509.SubjectAlternativeName)
    return AlternativeNames() if names is None else AlternativeNames.of_extension(names)


def usages_of(certificate: x509.Certificate) -> Usages:
    """Return the usages of a certificate; a missing extension is empty."""
    return Usages.of_extensions(
        extension(certificate, x509.KeyUsage), extension(certificate, x509.ExtendedKeyUsage)
    )


def public_key_of(certificate: x509.Certificate) -> PublicKey:
    """Return the public key of a certificate; `UnsupportedKey` if it is of no kind accepted."""
    try:
        return accepted_public_key(certificate.public_key())
    except PARSE_ERRORS as error:
        raise UnsupportedKey("the certificate holds a key that does not parse") from error


def has_strong_signature(certificate: x509.Certificate) -> bool:
    """Return whether the signature uses SHA-256 or better, by a known algorithm."""
    try:
        digest = certificate.signature_hash_algorithm
    except PARSE_ERRORS:
        return False
    if digest is None:
        return certificate.signature_algorithm_oid == SignatureAlgorithmOID.ED25519
    return isinstance(digest, STRONG_HASHES)


def is_authority(certificate: x509.Certificate) -> bool:
    """Return whether the certificate is one of a certificate authority."""
    constraints = extension(certificate, x509.BasicConstraints)
    return constraints is not None and constraints.ca


def without_repeats(certificates: Iterable[x509.Certificate]) -> list[x509.Certificate]:
    """Drop repeated certificates; the first of each stays."""
    return list(dict.fromkeys(certificates))


def _parsed(der: bytes, place: int) -> x509.Certificate:
    try:
        certificate = x509.load_der_x509_certificate(der)
        # Parsed here, so that callers do not meet a parser's error.
        _ = certificate.extensions, certificate.subject, certificate.issuer
    except PARSE_ERRORS as error:
        raise MalformedCertificate(f"certificate {place} does not parse: {error}"[:300]) from error
    return certificate


# Trust bundles


def read_bundle(data: bytes | str) -> list[x509.Certificate]:
    """Read a trust bundle: PEM certificates in any order, comments and repeats allowed.

    Raises:
        TooLarge: more than 330,000 bytes or 1,000 certificates.
        MalformedPem, MalformedCertificate: it cannot be read.
    """
    return read_certificates(data, limit=BUNDLE_LIMIT, at_most=BUNDLE_LENGTH)


def write_bundle(certificates: Iterable[x509.Certificate]) -> bytes:
    """Write a trust bundle: without repeats, youngest first, the same bytes for the same set."""
    return write_certificates(*youngest_first(certificates))


def youngest_first(certificates: Iterable[x509.Certificate]) -> list[x509.Certificate]:
    """Return certificates without repeats, the youngest first."""
    return sorted(
        without_repeats(certificates),
        key=lambda one: (Validity.of(one).not_before, one.serial_number),
        reverse=True,
    )

"""A certificate and its private key, which belong together: as they are written and read."""

from dataclasses import dataclass, field

from certwright.pki.authority import Authority
from certwright.pki.certificates import (
    Certificate,
    Validity,
    fingerprint,
    read_certificates,
    write_certificates,
)
from certwright.pki.keys import PrivateKey, read_key, write_key
from certwright.pki.matches import check_key_pair


@dataclass(frozen=True, slots=True)
class CertifiedKey:
    """A certificate and the key that belongs to it. The repr does not show the key."""

    certificate: Certificate
    key: PrivateKey = field(repr=False)
    chain: tuple[Certificate, ...] = ()
    """What stands between the certificate and its root."""

    @property
    def serial(self) -> str:
        """The serial number in hexadecimal."""
        return f"{self.certificate.serial_number:x}"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the certificate in hexadecimal."""
        return fingerprint(self.certificate)

    @property
    def validity(self) -> Validity:
        """From when to when the certificate holds."""
        return Validity.of(self.certificate)

    def authority(self) -> Authority:
        """Return what signs with it; `AuthorityUnfit` if it is not for signing."""
        return Authority(self.certificate, self.key, self.chain)

    def write(self) -> tuple[bytes, bytes]:
        """Return the certificate with its chain, and the key, as PEM."""
        return write_certificates(self.certificate, *self.chain), write_key(self.key)


def read_pair(certificate: bytes, key: bytes) -> CertifiedKey:
    """Read a certificate (first, then its chain) and its key.

    Raises:
        PkiError: one of them cannot be read, or they do not belong together.
    """
    leaf, *chain = read_certificates(certificate)
    private = read_key(key)
    check_key_pair(leaf, private)
    return CertifiedKey(leaf, private, tuple(chain))

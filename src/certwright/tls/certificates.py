"""Whether a certificate and its key can be presented, decided from their bytes alone."""

from dataclasses import dataclass, field
from datetime import datetime

from certwright import pki
from certwright.pki.certificates import fingerprint, is_authority, usages_of

_SERVING = pki.parse_usages(["server auth"]).extended[0]
_ANY = pki.parse_usages(["any"]).extended[0]


class CertificateUnusable(Exception):
    """A certificate that is not taken into use; *reason* is one word for metrics and events."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a source holds, as it was read. The repr shows none of it."""

    certificate: bytes = field(repr=False)
    """``tls.crt``: the certificate and its intermediates."""
    key: bytes = field(repr=False)
    """``tls.key``"""
    authority: bytes = field(default=b"", repr=False)
    """``ca.crt``: what the API server shall trust; may be missing."""
    client_authority: bytes | None = field(default=None, repr=False)
    """Whose client certificates are accepted; None if none are asked for."""


@dataclass(frozen=True, slots=True)
class ServingPair:
    """A certificate that can be presented, and what is known of it."""

    files: TlsFiles
    fingerprint: str
    """SHA-256 of the certificate."""
    serial: str
    """Its serial number, in hexadecimal digits."""
    validity: pki.Validity
    client_authority: bytes = field(default=b"", repr=False)
    """PEM, without what cannot be an authority; empty if clients show no certificate."""


def check_files(files: TlsFiles, now: datetime) -> ServingPair:
    """Return what can be presented; `CertificateUnusable` says why it cannot."""
    try:
        leaf, *_ = pki.read_certificates(files.certificate)
        key = pki.read_key(files.key)
    except pki.PkiError as error:
        raise CertificateUnusable("Unreadable", f"tls.crt or tls.key: {error}") from None
    try:
        pki.check_key_pair(leaf, key)
    except pki.PkiError as error:
        raise CertificateUnusable("KeyMismatch", f"tls.key does not fit tls.crt: {error}") from None
    validity = pki.Validity.of(leaf)
    if now > validity.not_after:
        raise CertificateUnusable("Expired", f"the certificate expired at {validity.not_after}")
    if now < validity.not_before:
        raise CertificateUnusable(
            "NotYetValid", f"the certificate is valid from {validity.not_before}"
        )
    extended = usages_of(leaf).extended
    if extended and not {_SERVING, _ANY} & set(extended):
        raise CertificateUnusable("Unfit", "the certificate has not the usage 'server auth'")
    return ServingPair(
        files,
        fingerprint(leaf),
        format(leaf.serial_number, "x"),
        validity,
        _client_authority(files, now),
    )


def _client_authority(files: TlsFiles, now: datetime) -> bytes:
    if files.client_authority is None:
        return b""
    try:
        found = pki.read_bundle(files.client_authority)
    except pki.PkiError as error:
        raise CertificateUnusable("Unreadable", f"client authority: {error}") from None
    usable = [one for one in found if is_authority(one) and now <= pki.Validity.of(one).not_after]
    if not usable:
        raise CertificateUnusable(
            "Unfit", "client authority: no certificate of an authority that has not expired"
        )
    return pki.write_bundle(usable)

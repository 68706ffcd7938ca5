"""Trust bundles, and the overlap that makes the rotation of an authority unnoticeable.

Rotation has three steps, told apart by the certificates alone, so that nothing needs to be
remembered: a new authority is *prepared* (distributed as trusted, signs nothing), then
*active* (signs, while the old one is still trusted), then the old one is *retired* (once
nothing that it signed can still be valid).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from certwright.pki.certificates import (
    BACKDATING,
    Validity,
    read_certificates,
    without_repeats,
    write_certificates,
)
from certwright.pki.errors import AuthorityUnfit
from certwright.pki.pem import BUNDLE_LIMIT

BUNDLE_LENGTH = 1_000
"""Certificates of a trust bundle."""


def read_bundle(data: bytes | str) -> list[x509.Certificate]:
    """Read a trust bundle: PEM certificates in any order, comments and repeats allowed.

    Raises:
        TooLarge: more than 330,000 bytes or 1,000 certificates.
        MalformedPem, MalformedCertificate: it cannot be read.
    """
    return read_certificates(data, limit=BUNDLE_LIMIT, at_most=BUNDLE_LENGTH)


def write_bundle(certificates: Iterable[x509.Certificate]) -> bytes:
    """Write a trust bundle: without repeats, youngest first, the same bytes for the same set."""
    return write_certificates(*_youngest_first(certificates))


@dataclass(frozen=True, slots=True)
class Rotation:
    """How authorities follow each other.

    *propagation* is how long a bundle takes to reach everybody who verifies;
    *longest_leaf* the longest lifetime of what the authority signs.
    """

    propagation: timedelta
    longest_leaf: timedelta

    def signer(self, authorities: Sequence[x509.Certificate], now: datetime) -> x509.Certificate:
        """Return the authority that signs now: the youngest that everybody trusts already.

        Where none has been known for that long, as on the first day, the oldest signs.

        Raises:
            AuthorityUnfit: none of them is valid now.
        """
        valid = [one for one in _youngest_first(authorities) if Validity.of(one).covers(now)]
        if not valid:
            raise AuthorityUnfit("no certificate authority is valid now")
        known = [one for one in valid if self._active_from(one) <= now]
        return known[0] if known else valid[-1]

    def trusted(
        self, authorities: Sequence[x509.Certificate], now: datetime
    ) -> list[x509.Certificate]:
        """Return the authorities to distribute as trusted now, youngest first.

        One that was followed by another is dropped when all that it signed has expired;
        an expired one at once.
        """
        kept: list[x509.Certificate] = []
        retired_from: datetime | None = None  # set by the next younger one
        for one in _youngest_first(authorities):
            followed = retired_from is not None and now > retired_from
            if not followed and now <= Validity.of(one).not_after:
                kept.append(one)
            if now <= Validity.of(one).not_after:
                retired_from = self._active_from(one) + self.longest_leaf
        return kept

    def _active_from(self, authority: x509.Certificate) -> datetime:
        made = Validity.of(authority).not_before + BACKDATING
        return made + self.propagation


def _youngest_first(certificates: Iterable[x509.Certificate]) -> list[x509.Certificate]:
    return sorted(
        without_repeats(certificates),
        key=lambda one: (Validity.of(one).not_before, one.serial_number),
        reverse=True,
    )

"""Whether pods should be restarted onto a certificate: its validity, and whether the key fits.

A Secret counts as one of a certificate if it has ``tls.crt``. Facts are taken once, where the
Secret is received, and are all that is kept of its contents besides digests.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from certwright.pki.certificates import Validity, public_key_of, read_certificates
from certwright.pki.errors import PkiError, UnsupportedKey
from certwright.pki.keys import public_key_bytes, read_key

CERTIFICATE: Final = "tls.crt"
PRIVATE_KEY: Final = "tls.key"


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What is kept of the certificate of a Secret: times in seconds of the epoch."""

    not_before: int
    not_after: int
    mismatch: bool = False
    """Whether the private key is another one's, or cannot be read."""


class CertificateFlaw(StrEnum):
    """Why pods should not be restarted onto a certificate."""

    EXPIRED = "Expired"
    NOT_YET_VALID = "NotYetValid"
    MISMATCH = "KeyMismatch"
    UNREADABLE = "Unreadable"


UNREADABLE: Final = CertificateFacts(0, 0)


def read_facts(data: Mapping[str, bytes]) -> CertificateFacts | None:
    """Return the facts about the certificate of a Secret; None if it has none."""
    if not data.get(CERTIFICATE):
        return None
    try:
        leaf = read_certificates(data[CERTIFICATE])[0]
        validity = Validity.of(leaf)
        certified = public_key_bytes(public_key_of(leaf))
    except UnsupportedKey:
        return None  # which is for the pods to judge
    except (PkiError, ValueError):
        return UNREADABLE
    mismatch = False
    if PRIVATE_KEY in data:
        try:
            key = read_key(data[PRIVATE_KEY])
            mismatch = public_key_bytes(key.public_key()) != certified
        except (PkiError, ValueError):
            mismatch = True
    return CertificateFacts(
        math.floor(validity.not_before.timestamp()),
        math.ceil(validity.not_after.timestamp()),
        mismatch,
    )


def flaw_of(facts: CertificateFacts, now: datetime) -> CertificateFlaw | None:
    """Return what is wrong with a certificate now."""
    if facts == UNREADABLE:
        return CertificateFlaw.UNREADABLE
    if facts.mismatch:
        return CertificateFlaw.MISMATCH
    if now.timestamp() > facts.not_after:
        return CertificateFlaw.EXPIRED
    if now.timestamp() < facts.not_before:
        return CertificateFlaw.NOT_YET_VALID
    return None


def moment(seconds: int) -> datetime:
    """Return seconds of the epoch as a time."""
    return datetime.fromtimestamp(seconds, UTC)

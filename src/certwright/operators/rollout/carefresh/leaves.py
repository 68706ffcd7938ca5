"""Whether a certificate is to be issued anew, and when. Pure.

Signatures decide, not bytes: an authority that was renewed with its old key goes on being the one
that signed its leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from certwright import pki
from certwright.api.certmanager import CertificateStatus
from certwright.pki.certificates import fingerprint
from certwright.pki.chains import is_issued_by

ISSUING: Final = "Issuing"
AT_ONCE: Final = 10
"""How many Certificates are issued anew at the same time, in the whole cluster."""
FIRST_PAUSE: Final = timedelta(hours=1)
LONGEST_PAUSE: Final = timedelta(hours=32)
"""How long to leave a Certificate alone whose issuance failed, as cert-manager does."""


class LeafState(StrEnum):
    """What is to be done about a Certificate below an authority that is refreshed."""

    CURRENT = "current"
    """Its authority signed it."""
    UNKNOWN = "unknown"
    """One of the two certificates is not there or cannot be read."""
    ISSUING = "issuing"
    """cert-manager issues it."""
    FAILED = "failed"
    """cert-manager could not issue it a while ago."""
    FOREIGN = "foreign"
    """It was issued anew for this authority, and another one signed it."""
    UNTRUSTED = "untrusted"
    """Workloads that trust the authority have not all been restarted."""
    LIMITED = "limited"
    """It is to be issued anew when others have been."""
    DUE = "due"
    """It is to be issued anew now."""


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """What is known about a Certificate and its authority."""

    status: CertificateStatus
    leaf: bytes
    """The certificate in its Secret, PEM, with its chain."""
    trusted: bytes
    """The authority in its Secret, PEM."""
    authority: bytes
    """The certificate in the Secret of the authority, PEM, with its chain."""
    refreshed_for: str
    """The fingerprint of the authority for which it was issued anew the last time."""


@dataclass(frozen=True, slots=True)
class LeafDecision:
    """What to do about a Certificate, and for which authority."""

    state: LeafState
    fingerprint: str = ""
    wait: timedelta = timedelta()
    """How long a failed one is left alone."""
    behind: tuple[str, ...] = ()
    """The workloads that are waited for."""


def decide(
    facts: LeafFacts, now: datetime, *, under_way: int, behind: Sequence[str], at_once: int
) -> LeafDecision:
    """Return what to do about one Certificate.

    *under_way* is how many are being issued, *behind* names the workloads that consume the
    authority and do not run with it yet: trust goes before leaves.
    """
    try:
        leaf = pki.read_certificates(facts.leaf)[0]
        authority = pki.read_certificates(facts.authority)[0]
    except pki.PkiError:
        return LeafDecision(LeafState.UNKNOWN)
    digest = fingerprint(authority)
    ends = [pki.Validity.of(one).not_after for one in (leaf, authority)]
    if is_issued_by(leaf, authority) and _trust_lasts(facts.trusted, *ends):
        return LeafDecision(LeafState.CURRENT, digest)
    if is_issuing(facts.status):
        return LeafDecision(LeafState.ISSUING, digest)
    if (left := _pause(facts.status, now)) > timedelta():
        return LeafDecision(LeafState.FAILED, digest, left)
    # After a failure cert-manager does not try again by itself: the certificate has not expired.
    if facts.refreshed_for == digest and facts.status.last_failure_time is None:
        return LeafDecision(LeafState.FOREIGN, digest)
    if behind:
        return LeafDecision(LeafState.UNTRUSTED, digest, behind=tuple(behind))
    if under_way >= at_once:
        return LeafDecision(LeafState.LIMITED, digest)
    return LeafDecision(LeafState.DUE, digest)


def is_issuing(status: CertificateStatus) -> bool:
    """Return whether cert-manager issues a Certificate, or was told to."""
    return any(one.type == ISSUING and one.status == "True" for one in status.conditions)


def _trust_lasts(trusted: bytes, *until: datetime) -> bool:
    """Return whether the authority beside a leaf holds as long as the leaf, or as the new one.

    An authority renewed with its old key has signed the leaf, but clients that read the copy beside
    the leaf would see that copy expire.
    """
    if not trusted:
        return True
    try:
        beside = pki.read_bundle(trusted)
    except pki.PkiError:
        return True  # not ours to judge; the leaf itself is fine
    return any(pki.Validity.of(one).not_after >= min(until) for one in beside)


def _pause(status: CertificateStatus, now: datetime) -> timedelta:
    if status.last_failure_time is None:
        return timedelta()
    doublings = max((status.failed_issuance_attempts or 1) - 1, 0)
    pause = min(FIRST_PAUSE * (1 << min(doublings, 6)), LONGEST_PAUSE)
    return status.last_failure_time + pause - now

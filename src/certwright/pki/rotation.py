"""Rotation: how one certificate authority follows another, so that no verifier ever meets a
certificate that it does not trust yet, or does not trust any more.

The order is always the same: the next authority is trusted everywhere before it signs anything, and
the last one is trusted until nothing that it signed is in use. `Rotation` knows when that is so,
from one of two kinds of knowledge:

* certificates and the time alone (`Rotation.signer`, `Rotation.trusted`): nothing is remembered,
  and each step takes as long as it could take at worst;
* facts that were observed (`Rotation.step`): what was written where, since when, and who has shown
  that it has it. Then each step takes as long as it does take, and no longer than at worst.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509

from certwright.pki.certificates import BACKDATING, Validity, youngest_first
from certwright.pki.errors import AuthorityUnfit


class RotationPhase(StrEnum):
    """How far a rotation is, by what was observed."""

    STABLE = "Stable"
    """One authority signs, and it alone is trusted."""
    PREPARED = "Prepared"
    """The next one exists, and is being written to every place as trusted."""
    DISTRIBUTED = "Distributed"
    """It is written everywhere; its readers may not have read it yet."""
    ACTIVATED = "Activated"
    """It signs, and what the last one signed is being replaced."""
    RETIRED = "Retired"
    """Nothing of the last one is in use, and it is being removed from every place."""


class RotationAction(StrEnum):
    """What is to be done next."""

    NONE = ""
    """Nothing but to wait."""
    PREPARE = "Prepare"
    """Make the next authority, and trust both."""
    PROVE = "Prove"
    """Let the present authority issue what clients have once more: who shows it has the rest."""
    ACTIVATE = "Activate"
    """Let the next authority sign from now on."""
    REISSUE_SERVERS = "ReissueServers"
    """Let it issue what servers have."""
    REISSUE_ALL = "ReissueAll"
    """Let it issue what all others have, too."""
    RETIRE = "Retire"
    """Trust it alone."""


@dataclass(frozen=True, slots=True)
class TrustPlace:
    """Where authorities, and perhaps a certificate, are written for others to read.

    Authorities are named by any text that tells them apart, such as their fingerprint.
    """

    name: str
    trusts: frozenset[str]
    signer: str = ""
    """Who signed the certificate; empty if the place holds none."""
    is_server: bool = False
    proven: bool = False
    """Whether the certificate was written together with the authorities, or after them."""
    shown: bool = False
    """Whether all who read this place have shown the certificate that it holds now."""
    lagging: tuple[str, ...] = ()
    """Who of them is known not to have."""
    trusts_for: timedelta = timedelta()
    """How long it has been known to hold these authorities."""
    signed_for: timedelta = timedelta()
    """How long it has been known to hold a certificate of this signer."""


@dataclass(frozen=True, slots=True)
class Succession:
    """What was observed of the authorities, and of all places that name them."""

    signer: str
    next: str
    """The one that will sign; empty if there is none yet."""
    trusted: frozenset[str]
    """All that places are to trust."""
    places: tuple[TrustPlace, ...] = ()
    due: bool = False
    """Whether the signer is to be replaced."""
    ordered: RotationAction = RotationAction.NONE
    """What was ordered last."""
    observed: bool = False
    """Whether it can be known who has shown what."""


@dataclass(frozen=True, slots=True)
class RotationStep:
    """How far the rotation is, what to do now, and what it waits for."""

    phase: RotationPhase
    action: RotationAction = RotationAction.NONE
    waiting_for: tuple[str, ...] = ()
    after: timedelta | None = None
    """When to look again though nothing changes; None if only a change can help."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """How authorities follow each other.

    *propagation* is how long a bundle takes to reach all verifiers at worst; *longest_leaf* the
    longest lifetime of what the authority signs. *soonest* is how long it takes at least, though
    all have shown that they have it: their clocks differ.
    """

    propagation: timedelta
    longest_leaf: timedelta
    soonest: timedelta = timedelta()

    # By certificates and the time alone

    def signer(self, authorities: Sequence[x509.Certificate], now: datetime) -> x509.Certificate:
        """Return the authority that signs now: the youngest that all verifiers trust already.

        Where none has been known for that long, as on the first day, the oldest signs. Raises
        `AuthorityUnfit` if none of them is valid now.
        """
        valid = [one for one in youngest_first(authorities) if Validity.of(one).covers(now)]
        if not valid:
            raise AuthorityUnfit("no certificate authority is valid now")
        known = [one for one in valid if self.has_spread(now - _made(one))]
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
        for one in youngest_first(authorities):
            followed = retired_from is not None and now > retired_from
            if not followed and now <= Validity.of(one).not_after:
                kept.append(one)
            if now <= Validity.of(one).not_after:
                retired_from = _made(one) + self.propagation + self.longest_leaf
        return kept

    # By what was observed

    def has_spread(self, known_for: timedelta, *, shown: bool = False) -> bool:
        """Return whether something has reached all, by its age and by what they have shown."""
        return known_for >= (self.soonest if shown else self.propagation)

    def step(self, found: Succession) -> RotationStep:
        """Return how far the rotation is and what to do next; the same facts, the same step."""
        if found.next:
            return self._step_before(found)
        if found.trusted != {found.signer}:
            return self._step_after(found)
        if behind := _names(p for p in found.places if p.trusts - found.trusted):
            return RotationStep(RotationPhase.RETIRED, waiting_for=behind)
        complete = all(p.trusts == found.trusted for p in found.places)
        action = RotationAction.PREPARE if found.due and complete else RotationAction.NONE
        return RotationStep(RotationPhase.STABLE, action)

    def _step_before(self, found: Succession) -> RotationStep:
        """Return the step while the next authority does not sign yet."""
        phase = RotationPhase.PREPARED
        if behind := _names(p for p in found.places if p.trusts != found.trusted):
            return RotationStep(phase, waiting_for=behind)
        clients = [p for p in found.places if p.signer and not p.is_server]
        if found.observed and (unproven := _names(p for p in clients if not p.proven)):
            return _order(found, phase, RotationAction.PROVE, unproven)
        phase = RotationPhase.DISTRIBUTED
        if slow := self._slow(found.places, lambda place: place.trusts_for):
            return self._wait(phase, slow, lambda place: place.trusts_for)
        return RotationStep(phase, RotationAction.ACTIVATE)

    def _step_after(self, found: Succession) -> RotationStep:
        """Return the step while the last authority is still trusted."""
        phase = RotationPhase.ACTIVATED
        if behind := _names(p for p in found.places if p.trusts != found.trusted):
            return RotationStep(phase, waiting_for=behind)
        old = [p for p in found.places if p.signer and p.signer != found.signer]
        # Already so after a rotation in its order; not if the last authority was lost.
        if old and (slow := self._slow(found.places, lambda place: place.trusts_for)):
            return self._wait(phase, slow, lambda place: place.trusts_for)
        if servers := _names(p for p in old if p.is_server):
            return _order(found, phase, RotationAction.REISSUE_SERVERS, servers)
        if old:
            return _order(found, phase, RotationAction.REISSUE_ALL, _names(old))
        if slow := self._slow(found.places, lambda place: place.signed_for):
            return self._wait(phase, slow, lambda place: place.signed_for)
        return RotationStep(phase, RotationAction.RETIRE)

    def _slow(self, places: Iterable[TrustPlace], age: "_Age") -> list[TrustPlace]:
        """Return the places whose readers may not have what is written there."""
        return [
            place
            for place in places
            if not self.has_spread(age(place), shown=place.shown and place.proven)
        ]

    def _wait(self, phase: RotationPhase, slow: list[TrustPlace], age: "_Age") -> RotationStep:
        names = tuple(name for place in slow for name in place.lagging or (place.name,))
        # First until those are old enough whose readers have all shown it: then the others are
        # named alone. Each may be the last.
        soon = [self.soonest - age(place) for place in slow if place.shown and place.proven]
        after = max(soon or (self.propagation - age(place) for place in slow))
        return RotationStep(phase, waiting_for=names, after=after)


_Age = Callable[[TrustPlace], timedelta]


def _order(
    found: Succession, phase: RotationPhase, action: RotationAction, waiting_for: tuple[str, ...]
) -> RotationStep:
    """Return the step that orders something, or waits for what was ordered already."""
    given = RotationAction.NONE if found.ordered is action else action
    return RotationStep(phase, given, waiting_for)


def _names(places: Iterable[TrustPlace]) -> tuple[str, ...]:
    return tuple(place.name for place in places)


def _made(authority: x509.Certificate) -> datetime:
    return Validity.of(authority).not_before + BACKDATING

"""Fights with other writers: noticed, and slowed down.

Repairing what somebody else changed is our work. When it is changed again at once, and again,
another controller believes the same, and both would write for ever. After a few repairs of one
object within a minute each further one is put off, twice as long every time, until the other
side is quiet.

Times are seconds of any clock that only goes forward.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True, slots=True)
class FightRules:
    """When repairs become a fight, and how long they are put off then."""

    repairs: int = 5
    within: float = 60.0
    first_pause: float = 10.0
    longest_pause: float = 300.0


@dataclass(frozen=True, slots=True)
class Fight:
    """What is known about the repairs of one object."""

    repairs: tuple[float, ...] = ()
    """When the last ones were; no more than it takes to make a fight."""
    pause: float = 0.0
    """How long repairs are put off; 0 while there is no fight."""

    def quiet(self, now: float, rules: FightRules) -> bool:
        """Return whether nothing had to be repaired for so long that it is over."""
        return not self.repairs or now - self.repairs[-1] > self.pause + rules.within

    def repaired(self, now: float, rules: FightRules) -> "Fight":
        """Return what is known after another repair."""
        if self.quiet(now, rules):
            return Fight((now,))
        repairs = (*self.repairs, now)[-rules.repairs :]
        recent = [at for at in repairs if now - at <= rules.within]
        if self.pause:
            return Fight(repairs, min(self.pause * 2, rules.longest_pause))
        if len(recent) >= rules.repairs:
            return Fight(repairs, rules.first_pause)
        return replace(self, repairs=repairs)

    def wait(self, now: float) -> float:
        """Return for how many seconds a repair has to wait."""
        return max(self.repairs[-1] + self.pause - now, 0.0) if self.pause else 0.0


class Fights(Generic[H]):
    """The fights of an instance, by object. Those that are over are forgotten."""

    def __init__(self, rules: FightRules | None = None) -> None:
        self._rules = rules or FightRules()
        self._fights: dict[H, Fight] = {}

    def __len__(self) -> int:
        return len(self._fights)

    def repaired(self, which: H, now: float) -> bool:
        """Note a repair; say whether it has just turned into a fight."""
        before = self._fights.get(which, Fight())
        after = before.repaired(now, self._rules)
        self._fights[which] = after
        return bool(after.pause) and not before.pause

    def wait(self, which: H, now: float) -> float:
        """Return for how many seconds a repair has to wait; 0 if it may be made now."""
        fight = self._fights.get(which)
        return fight.wait(now) if fight is not None else 0.0

    def forget_quiet(self, now: float) -> None:
        """Drop what is over; call it now and then."""
        over = [which for which, fight in self._fights.items() if fight.quiet(now, self._rules)]
        for which in over:
            del self._fights[which]

"""What is remembered between two passes: about each set, and about fights over objects.

None of it is needed to be right, only to be quick: a process that starts with nothing in mind
comes to the same conclusions and makes no write it would not have made otherwise.

Repairing what others changed is our work. When it is changed again at once, and again, another
controller believes the same, and both would write for ever. After a few repairs of one object
within a minute each further one is put off, twice as long every time, until the other side is
quiet. Times are seconds of any clock that only goes forward.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

from certwright.apply import ObjectRef, Rules
from certwright.apply.changeset import LastWriter, UndoneField
from certwright.keep.health import Unwatched
from certwright.kube import Key
from certwright.runtime import Entry, Store

Identity: TypeAlias = tuple[str, str, str, str]
"""`ObjectRef.identity`."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was looked at when all was well; all is well as long as none of it changes."""

    held: tuple[tuple[Store, Entry], ...]

    def still(self) -> bool:
        """Return whether every store still holds the very entries it held then."""
        return all(store.get(entry.key) is entry for store, entry in self.held)

    def with_change(self, old: Entry, new: Entry) -> "Fingerprint":
        """Return the same with an entry that changed in a way that does not matter."""
        held = ((store, new if entry is old else entry) for store, entry in self.held)
        return Fingerprint(tuple(held))


@dataclass(slots=True)
class SetState:
    """What is remembered about one set."""

    settled: Fingerprint | None = None
    """What was looked at when all was well: unless it changes, a pass ends at once."""
    disturbed: bool = False
    """Whether something that no store shows changed since the last pass began."""
    reporting: bool = False
    """Whether a pass has judged the objects and is about to report it; nothing else judges them."""
    confirmed: bool = False
    """Whether this process has found what it sees of the set's owner to be current."""
    input_confirmed: bool = False
    """Whether it has found the same of its input; time does not go backwards after that."""
    awaits_kinds: bool = False
    """Whether it needs a kind that the target does not serve; a new kind then causes a pass."""
    awaits_namespaces: frozenset[str] = frozenset()
    """Namespaces it needs that the target does not have; one that appears causes a pass."""
    unwatched: Unwatched | None = None
    """What was read of the objects that no store holds; None if stores hold all of them."""
    opponents: dict[ObjectRef, LastWriter | None] = field(default_factory=dict)
    """Who else keeps changing an object."""
    declared: Mapping[Identity, tuple[bytes, Rules]] | None = None
    """Of a large set that is settled, what is declared for each object, as JSON."""
    contested: dict[ObjectRef, tuple[UndoneField, ...]] = field(default_factory=dict)
    """What was repaired when a fight about an object began."""

    def follow(self, old: Entry, new: Entry | None) -> None:
        """Note a change of what is settled that needs no pass; None if others made it."""
        if self.settled is not None and new is not None:
            self.settled = self.settled.with_change(old, new)

    def unsettle(self) -> None:
        """Note that something changed which no store shows."""
        self.settled = None
        self.disturbed = True


S = TypeVar("S", bound=SetState)


class SetStates(Generic[S]):
    """By the key of its owner, what is remembered about each set."""

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._known: dict[Key, S] = {}
        self.changed: set[Key] = set()
        """Whose objects, or their pods, changed since they were last judged."""

    def of(self, key: Key) -> S:
        """Return what is remembered about a set, nothing at first."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make()
        return known

    def known(self, key: Key) -> S | None:
        """Return what is remembered about a set, None if nothing is."""
        return self._known.get(key)

    def is_settled(self, key: Key) -> bool:
        """Return whether nothing has changed since all was well."""
        known = self._known.get(key)
        return known is not None and known.settled is not None and known.settled.still()

    def is_judged(self, key: Key) -> bool:
        """Return whether nothing has changed since a pass judged all objects."""
        known = self._known.get(key)
        if known is None or key in self.changed or known.unwatched is not None:
            return False
        return known.reporting or self.is_settled(key)

    @contextmanager
    def judging(self, key: Key) -> Iterator[None]:
        """Note that what changed until now is being judged; it is not if that fails."""
        self.changed.discard(key)
        done = False
        try:
            yield
            done = True
        finally:
            if not done:
                self.changed.add(key)

    def unsettle(self, key: Key) -> None:
        """Note that something changed which no store shows."""
        known = self._known.get(key)
        if known is not None:
            known.unsettle()

    def follow(self, key: Key, old: Entry, new: Entry) -> None:
        """Note that an object changed in a way that needs no pass."""
        known = self._known.get(key)
        if known is not None:
            known.follow(old, new)

    def forget(self, key: Key) -> None:
        """Forget a set whose owner is gone."""
        self._known.pop(key, None)
        self.changed.discard(key)

    def awaiting_kinds(self) -> Iterator[Key]:
        """Yield the sets that need a kind the target does not serve."""
        return (key for key, known in self._known.items() if known.awaits_kinds)

    def awaiting_namespace(self, name: str) -> Iterator[Key]:
        """Yield the sets that need a namespace the target did not have."""
        return (key for key, known in self._known.items() if name in known.awaits_namespaces)


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

"""What is remembered about each ManagedResource between two looks at it.

None of it is needed to be right, only to be quick: a process that starts with nothing in mind
comes to the same conclusions and makes no write it would not have made otherwise.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from certwright.api.managedresources import ObjectReference
from certwright.apply import ObjectRef
from certwright.apply.changeset import Writer
from certwright.keep.health import Unwatched
from certwright.kube import Key
from certwright.runtime import Entry, Store

TELL_SECONDS: Final = 60.0
"""How often it is told for how long something has been waiting."""
BLOCKED_SECONDS: Final = 60.0
"""After how long an event says that a deletion does not get on."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What was looked at when all was well; all is well as long as none of it changes."""

    held: tuple[tuple[Store, Entry], ...]

    def still(self) -> bool:
        """Return whether every store still holds the very entries it held then."""
        return all(store.get(entry.key) is entry for store, entry in self.held)


@dataclass(slots=True)
class Lingering:
    """Objects that take their time to go, and when that was last told."""

    news: frozenset[tuple[ObjectRef, str]]
    since: float
    told: float
    announced: bool = False

    def is_news(self, news: frozenset[tuple[ObjectRef, str]], now: float) -> bool:
        """Return whether to tell again: other objects, other failures, or a minute has passed."""
        return news != self.news or now - self.told >= TELL_SECONDS


@dataclass(slots=True)
class Remembered:
    """What is remembered about one ManagedResource."""

    settled: Settled | None = None
    disturbed: bool = False
    """Whether something that no store shows changed since the last pass began."""
    telling: bool = False
    """Whether a pass has judged the objects and is about to say so."""
    confirmed: bool = False
    """Whether this process has found what it sees of the ManagedResource to be current."""
    input_confirmed: bool = False
    """Whether it has found the same of its Secrets; time does not go backwards after that."""
    failures: int = 0
    """How many passes in a row did not get where they should."""
    retry_at: float = 0.0
    """When the next attempt after a failure is due; it has a timer of its own."""
    awaits_kinds: bool = False
    """Whether it needs a kind that the target does not serve."""
    unwatched: Unwatched | None = None
    opponents: dict[ObjectRef, Writer | None] = field(default_factory=dict)
    """Who else keeps changing an object."""
    companions: dict[str, Sequence[ObjectReference]] = field(default_factory=dict)
    """By name, the parts of the inventory that are there beside the status; they never change."""
    touched: set[str] = field(default_factory=set)
    """Which of these somebody else deleted or changed, so that they are to be written again."""
    gone: set[ObjectRef] = field(default_factory=set)
    """What is known to be deleted, while the rest of it takes its time."""
    lingering: Lingering | None = None

    def note_companion(
        self, name: str, entries: Sequence[ObjectReference], *, untouched: bool
    ) -> None:
        """Note a part of the inventory that was read or written just now."""
        self.companions[name] = entries
        if untouched:
            self.touched.discard(name)
        else:
            self.touched.add(name)

    def drop_companion(self, name: str) -> None:
        """Forget a part of the inventory that is not needed any more."""
        self.companions.pop(name, None)
        self.touched.discard(name)

    def lingers(self, what: frozenset[tuple[ObjectRef, str]], now: float) -> bool:
        """Note what is still there, each with its failure; say whether that is news."""
        if not what:
            self.lingering = None
            return True
        before = self.lingering
        if before is None:
            self.lingering = Lingering(what, now, now)
            return True
        news = before.is_news(what, now)
        if news:
            before.news, before.told = what, now
        return news

    def is_stuck(self, now: float) -> bool:
        """Return, once, that what lingers has been doing so for too long."""
        lingering = self.lingering
        if lingering is None or lingering.announced or now - lingering.since < BLOCKED_SECONDS:
            return False
        lingering.announced = True
        return True

    def follow(self, old: Entry, new: Entry | None) -> None:
        """Note that what is settled changed in a way that needs no pass; None if others did it."""
        if self.settled is not None and new is not None:
            held = ((store, new if entry is old else entry) for store, entry in self.settled.held)
            self.settled = Settled(tuple(held))


class Memories:
    """By ManagedResource, what is remembered about it."""

    def __init__(self) -> None:
        self._known: dict[Key, Remembered] = {}
        self.changed: set[Key] = set()
        """Whose objects, or their pods, changed since they were last judged."""

    def of(self, key: Key) -> Remembered:
        """Return what is remembered about a ManagedResource, nothing at first."""
        return self._known.setdefault(key, Remembered())

    def is_settled(self, key: Key) -> bool:
        """Return whether nothing has changed since all was well."""
        known = self._known.get(key)
        return known is not None and known.settled is not None and known.settled.still()

    def is_judged(self, key: Key) -> bool:
        """Return whether nothing has changed since a pass judged all objects."""
        known = self._known.get(key)
        if known is None or key in self.changed or known.unwatched is not None:
            return False
        return known.telling or self.is_settled(key)

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

    def is_put_off(self, key: Key, now: float) -> bool:
        """Return whether a failed pass will be repeated later, so that no reminder is needed."""
        known = self._known.get(key)
        return known is not None and known.retry_at > now

    def unsettle(self, key: Key) -> None:
        """Note that something changed which no store shows."""
        known = self._known.get(key)
        if known is not None:
            known.settled = None
            known.disturbed = True

    def follow(self, key: Key, old: Entry, new: Entry) -> None:
        """Note that an object changed in a way that needs no pass."""
        known = self._known.get(key)
        if known is not None:
            known.follow(old, new)

    def touch(self, key: Key, companion: str) -> None:
        """Note that somebody else deleted or changed a part of an inventory."""
        self.unsettle(key)
        self.of(key).touched.add(companion)

    def forget(self, key: Key) -> None:
        """Forget a ManagedResource that is gone."""
        self._known.pop(key, None)
        self.changed.discard(key)

    def awaiting_kinds(self) -> Iterator[Key]:
        """Yield those that need a kind the target does not serve."""
        return (key for key, known in self._known.items() if known.awaits_kinds)

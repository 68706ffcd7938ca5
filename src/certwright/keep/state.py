"""What is remembered about each kept set between two passes.

None of it is needed to be right, only to be quick: a process that starts with nothing in mind
comes to the same conclusions and makes no write it would not have made otherwise.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from certwright.apply import ObjectRef
from certwright.apply.changeset import Writer
from certwright.keep.health import Unwatched
from certwright.kube import Key
from certwright.runtime import Entry, Store


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was looked at when all was well; all is well as long as none of it changes."""

    held: tuple[tuple[Store, Entry], ...]

    def still(self) -> bool:
        """Return whether every store still holds the very entries it held then."""
        return all(store.get(entry.key) is entry for store, entry in self.held)


@dataclass(slots=True)
class SetState:
    """What is remembered about one set."""

    settled: Fingerprint | None = None
    disturbed: bool = False
    """Whether something that no store shows changed since the last pass began."""
    reporting: bool = False
    """Whether a pass has judged the objects and is about to report it."""
    confirmed: bool = False
    """Whether this process has found what it sees of the set's owner to be current."""
    input_confirmed: bool = False
    """Whether it has found the same of its input; time does not go backwards after that."""
    awaits_kinds: bool = False
    """Whether it needs a kind that the target does not serve."""
    unwatched: Unwatched | None = None
    """What was read of the objects that no store holds."""
    opponents: dict[ObjectRef, Writer | None] = field(default_factory=dict)
    """Who else keeps changing an object."""

    def follow(self, old: Entry, new: Entry | None) -> None:
        """Note a change of what is settled that needs no pass; None if others made it."""
        if self.settled is not None and new is not None:
            held = ((store, new if entry is old else entry) for store, entry in self.settled.held)
            self.settled = Fingerprint(tuple(held))


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
            known.settled = None
            known.disturbed = True

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

"""What wakes a controller: kinds it watches, and how a change there becomes a key here.

A trigger is a value; the controller turns it into a listener on a store. Mappers are
ordinary functions over cached entries: they read nothing from the API, so they cannot fail
for lack of a connection. One that raises loses nothing all the same, see `controller`.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from certwright.kube import Key, Object, Resource, resource_of
from certwright.runtime.cache.decode import Transform
from certwright.runtime.cache.entry import Entry
from certwright.runtime.cache.indexes import IndexFunction
from certwright.runtime.cache.store import Interest
from certwright.runtime.predicates import Predicate

if TYPE_CHECKING:
    from certwright.runtime.context import Context

Mapper: TypeAlias = Callable[[Entry], Iterable[Key]]
Source: TypeAlias = Callable[["Context"], AsyncIterator[Key]]
"""An async generator function that yields keys: a timer, a channel, a foreign system."""


@dataclass(frozen=True)
class Watched:
    """Which objects of a kind are watched, and how much of them is kept."""

    kind: type[Object] | Resource
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    indexes: Mapping[str, IndexFunction] = field(default_factory=dict)
    transform: Transform | None = None
    keep: Interest | None = None

    @property
    def resource(self) -> Resource:
        """How the API server serves the kind."""
        return resource_of(self.kind)


Watchable: TypeAlias = type[Object] | Resource | Watched
"""What declarations accept to name a watched kind."""


def select(
    kind: type[Object] | Resource,
    *,
    namespace: str = "",
    labels: str = "",
    fields: str = "",
    metadata_only: bool = False,
    indexes: Mapping[str, IndexFunction] | None = None,
    transform: Transform | None = None,
    keep: Interest | None = None,
) -> Watched:
    """Watch part of a kind, or watch it with indexes for ``ctx.indexed``.

    Only what is watched wakes, and only that can be read. A *transform* such as `Keep` or
    `Drop` reduces each object to what the controller needs of it; what *keep* does not want
    never enters the store.
    """
    return Watched(kind, namespace, labels, fields, metadata_only, indexes or {}, transform, keep)


def watched_of(watchable: Watchable) -> Watched:
    """Return what a declaration means; a bare kind means all of it."""
    return watchable if isinstance(watchable, Watched) else Watched(watchable)


@dataclass(frozen=True)
class Trigger:
    """Changes of *watched* that pass *predicate* wake the keys *mapper* finds in them."""

    watched: Watched
    mapper: Mapper
    predicate: Predicate | None = None

    def keys(self, old: Entry | None, new: Entry | None) -> Iterator[Key]:
        """Yield the keys a change wakes: those of the new state, and those it had before."""
        if self.predicate is not None and not self.predicate(old, new):
            return
        if new is not None:
            yield from self.mapper(new)
        if old is not None and (new is None or self.mapper is not _itself):
            yield from self.mapper(old)


def _itself(entry: Entry) -> Iterable[Key]:
    return (entry.key,)


def own(watchable: Watchable, predicate: Predicate | None = None) -> Trigger:
    """Wake the changed object itself."""
    return Trigger(watched_of(watchable), _itself, predicate)


def owned(watchable: Watchable, owner: Resource, predicate: Predicate | None = None) -> Trigger:
    """Wake the object whose controller reference the changed one carries.

    The reference is matched by group and kind: which version it names does not matter.
    """

    def owner_of(entry: Entry) -> Iterable[Key]:
        found = entry.meta.controller
        if found is None or found.kind != owner.kind:
            return ()
        if found.api_version.rpartition("/")[0] != owner.group:
            return ()
        return (Key(entry.key.namespace if owner.namespaced else "", found.name),)

    return Trigger(watched_of(watchable), owner_of, predicate)


def mapped(watchable: Watchable, mapper: Mapper, predicate: Predicate | None = None) -> Trigger:
    """Wake the keys a function finds in the changed object."""
    return Trigger(watched_of(watchable), mapper, predicate)

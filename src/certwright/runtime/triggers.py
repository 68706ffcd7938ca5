"""What wakes a controller: kinds it watches, and how a change there becomes a key here.

A trigger is a value; the workers turn it into a listener on a store. Mappers and predicates
are ordinary functions over cached entries: they read nothing from the API, so they cannot fail
for lack of a connection. If one raises, every object is reconciled, so no change is lost.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from certwright.kube import Key, Object, Resource, resource_of
from certwright.runtime.cache.compression import Compression
from certwright.runtime.cache.decode import Transform
from certwright.runtime.cache.entries import Entry, IndexFunction
from certwright.runtime.cache.store import Interest

if TYPE_CHECKING:
    from certwright.runtime.context import Context
from certwright.kube import LabelSelector
from certwright.runtime.queue.queue import Priority

Mapper: TypeAlias = Callable[[Entry], Iterable[Key]]
Predicate: TypeAlias = Callable[[Entry | None, Entry | None], bool]
"""Whether a change is worth waking up for, by the old and the new entry.

*old* is None when the object appeared, *new* is None when it disappeared; both always wake
unless said otherwise. A predicate only saves work: reconciles must be right without it.
"""
Source: TypeAlias = Callable[["Context"], AsyncIterator[Key]]
"""An async generator function that yields keys: a timer, a channel, a foreign system."""


@dataclass(frozen=True)
class Watched:
    """Which objects of a kind are watched, and how much of them is kept; see ``ctx.indexed``.

    Only what is watched wakes, and only that can be read. A *transform* such as `KeepFields` or
    `DropFields` reduces each object to what the controller needs of it; what *keep* does not want
    never enters the store; with a *compression* what is left takes less memory, and more time.
    """

    kind: type[Object] | Resource
    _: KW_ONLY
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    indexes: Mapping[str, IndexFunction] = field(default_factory=dict)
    transform: Transform | None = None
    keep: Interest | None = None
    compression: Compression | None = None

    @property
    def resource(self) -> Resource:
        """How the API server serves the kind."""
        return resource_of(self.kind)


select = Watched

Watchable: TypeAlias = type[Object] | Resource | Watched
"""What declarations accept to name a watched kind."""


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


# Predicates


def generation_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when the desired state changed, and sleep through changes of status and metadata.

    Kinds without a generation (ConfigMap, Secret…) always wake.
    """
    if old is None or new is None:
        return True
    return old.meta.generation != new.meta.generation or not new.meta.generation


def labels_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when a label was added, changed or removed."""
    return old is None or new is None or old.meta.labels != new.meta.labels


def annotations_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when an annotation was added, changed or removed."""
    return old is None or new is None or old.annotations != new.annotations


def any_of(*predicates: Predicate) -> Predicate:
    """Wake when at least one of the predicates does."""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Wake when every one of the predicates does."""
    return lambda old, new: all(predicate(old, new) for predicate in predicates)


def labelled(selector: str) -> Predicate:
    """Wake when the object matches a label selector, or did before the change."""
    wanted = LabelSelector.parse(selector)
    return lambda old, new: any(
        entry is not None and wanted.matches(entry.meta.labels) for entry in (old, new)
    )


class Channel:
    """Passes keys to the queues of the controllers that name it.

    Where a `Controller.sources` generator suits what must be polled or awaited, a channel suits
    what is called back: from another cluster, or another controller. A key is in the queue when
    `send` returns, so a manager that is asked whether it is idle never overlooks it.
    """

    def __init__(self) -> None:
        self._queues: list[Callable[[Key, float, Priority], None]] = []

    def send(
        self, key: Key, priority: Priority = Priority.FRESH, *, after_seconds: float = 0.0
    ) -> None:
        """Queue a key, as a change of the object itself would. Any number of times is once.

        Of several delays of one key the earliest counts.
        """
        for add_after in self._queues:
            add_after(key, after_seconds, priority)

    def connect(self, add_after: Callable[[Key, float, Priority], None]) -> None:
        """Pass to this queue whatever is sent from now on."""
        self._queues.append(add_after)

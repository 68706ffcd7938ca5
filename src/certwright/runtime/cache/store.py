"""The local copy of one kind: what reconciles read instead of the API.

A watch keeps it current, listeners hear of every change, readers get entries by key or by index.
It never goes back: an event or a list older than what the store already holds of an object,
from the watch or from our own writes, changes nothing.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import structlog
from msgspec.structs import force_setattr

from certwright.kube.objects import Key, Resource
from certwright.runtime.cache.decode import BrokenJson, EntryDecoder, UnnamedObject
from certwright.runtime.cache.entries import (
    Entry,
    Index,
    IndexFunction,
    LabelValue,
    RefusedEntries,
    Table,
    is_newer,
    is_older,
    namespace_of,
    owners_of,
    version_number,
)

Listener: TypeAlias = Callable[[Entry | None, Entry | None], None]
"""Called with the old and the new entry of every change; None stands for "not there".

A plain function that enqueues keys. It must not change the store. What it raises is logged and
counted, and keeps no other listener from its call.
"""

Interest: TypeAlias = Callable[[Entry], bool]
"""Returns whether a store is to hold an object it does not hold yet; if it raises, it is held."""

THIS_PROCESS = 1
"""The mark of writes by the process; a `Context` has a number of its own."""

_log = structlog.get_logger()


class StoreChange(NamedTuple):
    """One difference between two states of a store."""

    old: Entry | None
    new: Entry | None


class _Tombstone(NamedTuple):
    """An object we deleted: its events, late ones included, are not to bring it back."""

    uid: str
    marked: bool = False
    """A bookmark has arrived since."""


class Store:
    """Entries of one kind (or a selection of it), indexed, kept current by a watch.

    Read-your-own-writes: the response to a write goes to `note_write`; from then on no reader gets
    an older version, however late the watch is. Versions are compared as integers; where a server
    uses opaque ones, the event decides. *admits* returns whether an object we wrote belongs into
    the store's selection. What *keep* does not want is not taken in, as if it did not exist, but
    see `admit`; what is in stays until it is deleted or discarded.
    """

    def __init__(
        self,
        decoder: EntryDecoder,
        *,
        indexes: Mapping[str, IndexFunction] | None = None,
        admits: Callable[[Entry], bool] = lambda _: True,
        keep: Interest | None = None,
    ) -> None:
        self.decoder = decoder
        self._admits = admits
        self._keep = keep
        self.synced = False
        """True once a complete list has arrived and every listener has heard of it."""
        self.listener_errors = 0
        """How many calls of listeners raised."""
        self._table = Table({("user", name): fn for name, fn in (indexes or {}).items()})
        self._listeners: list[Listener] = []
        self._own_write_listeners: list[Listener] = []  # those of them called for own writes
        self._ahead: dict[Key, int] = {}  # own writes the watch has not reached
        self._gone: dict[Key, _Tombstone] = {}  # objects we deleted and may still hear of
        self._purged = 0  # every deletion up to this version has been heard of

    # Reading

    @property
    def resource(self) -> Resource:
        """The kind of the entries."""
        return self.decoder.resource

    def __len__(self) -> int:
        return len(self._table.entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._table.entries

    def get(self, key: Key) -> Entry | None:
        """Return the entry at a key."""
        return self._table.entries.get(key)

    def keys(self) -> list[Key]:
        """Return all keys, oldest arrival first."""
        return list(self._table.entries)

    def items(self) -> list[Entry]:
        """Return all entries, oldest arrival first."""
        return list(self._table.entries.values())

    def by_namespace(self, namespace: str) -> list[Entry]:
        """Return the entries of one namespace. Takes time in proportion to the result."""
        return self._find("namespace", namespace_of, namespace)

    def by_owner(self, uid: str) -> list[Entry]:
        """Return the entries that name this uid as an owner."""
        return self._find("owner", owners_of, uid)

    def by_label(self, label: str, value: str) -> list[Entry]:
        """Return the entries that carry this label; each label asked for gets an index."""
        return self._find(("label", label), LabelValue(label), value)

    def by_index(self, name: str, value: Hashable) -> list[Entry]:
        """Return the entries a user's index function puts under this value."""
        index, entries = self._table.known_index(("user", name)), self._table.entries
        if index is None:
            known = ", ".join(sorted(n[1] for n in self._table.functions() if isinstance(n, tuple)))
            raise KeyError(f"{self.resource.kind} store has no index {name!r}; it has: {known}")
        return [entries[key] for key in index.keys(value)]

    def add_index(self, name: str, values: IndexFunction) -> None:
        """Add a user's index; `ValueError` if the name is taken by another function."""
        if self._table.index(("user", name), values).values is not values:
            raise ValueError(
                f"{self.resource.kind} store has another index {name!r} already; "
                "users of one store share its index functions; pick another name"
            )

    @property
    def malformed(self) -> dict[Key, str]:
        """The entries whose metadata came in the wrong shape, and what is wrong."""
        return {e.key: e.malformed for e in self._table.entries.values() if e.malformed}

    @property
    def pending(self) -> int:
        """How many of our own writes and deletions the watch has not reached yet."""
        return len(self._ahead) + len(self._gone)

    def _find(self, name: Hashable, values: IndexFunction, value: Hashable) -> list[Entry]:
        index: Index = self._table.index(name, values)
        entries = self._table.entries
        return [entries[key] for key in index.keys(value)]

    # Listening

    def listen(self, listener: Listener, *, own_writes: bool = True) -> Callable[[], None]:
        """Call a listener on every change, starting with what is there; return how to stop.

        Without *own_writes* it is not called for what `note_write` and `note_delete` change.
        """
        lists = [self._listeners, self._own_write_listeners] if own_writes else [self._listeners]
        for listeners in lists:
            listeners.append(listener)
        for entry in self.items():
            self._call([listener], None, entry)

        def stop() -> None:
            for listeners in lists:
                listeners.remove(listener)

        return stop

    def notify(self, changes: Iterable[StoreChange]) -> None:
        """Call the listeners for changes that `swap` made.

        A list shows of an object deleted and created again only the successor: the two are
        told apart here, because a predicate must not compare two different objects.
        """
        for old, new in changes:
            replaced = old is not None and new is not None and old.uid != new.uid
            for change in ((old, None), (None, new)) if replaced else ((old, new),):
                self._call(self._listeners, *change)

    def _call(self, listeners: list[Listener], old: Entry | None, new: Entry | None) -> None:
        for listener in listeners:
            try:
                listener(old, new)
            except Exception as error:  # noqa: BLE001 - one object must not stop the others
                self.listener_errors += 1
                keys = {str(entry.key) for entry in (old, new) if entry is not None}
                _log.error("a listener failed", kind=self.resource.kind, of=keys, exc_info=error)

    # Changing

    def upsert(self, entry: Entry, *, own: bool = False) -> bool:
        """Take in an object as the server sent it; return whether it is news.

        *own* means that it did not come by the watch: this process wrote it or asked for it.
        """
        key = entry.key
        if self._gone and self._is_echo_of_deleted(entry):
            return False
        old = self._table.entries.get(key)
        if old is not None and not is_newer(entry, old):
            return False
        if old is None and not self._wants(entry):
            self._table.refused.put(entry)
            return False
        self._table.put(entry)
        self._call(self._own_write_listeners if own else self._listeners, old, entry)
        return True

    def delete(self, entry: Entry) -> bool:
        """Drop an object the watch reported as deleted; False when a newer one is there."""
        self._gone.pop(entry.key, None)
        self._purged = max(self._purged, version_number(entry.meta.resource_version) or 0)
        old = self._table.entries.get(entry.key)
        if old is None:
            self._table.refused.take(entry.key)
            return False
        if is_older(entry, old):
            return False
        self._table.remove(entry.key)
        self._call(self._listeners, old, None)
        return True

    def stage(self) -> "Table":
        """Return an empty table with this store's indexes, to be filled by a list."""
        return self._table.empty()

    def swap(
        self, staged: "Table", version: int | None, *, restored: bool = False
    ) -> list[StoreChange]:
        """Put a complete list in place of everything, at once; return what changed.

        *version* is that of the list. Own writes the list does not know yet stay, unless
        the server's history was *restored* to an earlier state, which undoes them.
        The caller passes the changes to `notify`.
        """
        if restored:
            self._ahead.clear()
            self._gone.clear()
        self._purged = version or 0
        before = self._table.entries
        for key, floor in self._ahead.items():
            known = before.get(key)
            if known is not None and (version is None or floor > version):
                staged.put(known)
        for key, tombstone in list(self._gone.items()):
            listed = staged.entries.get(key)
            if listed is not None and listed.uid == tombstone.uid:
                staged.remove(key)
            else:
                del self._gone[key]
        for key in before if self._keep is not None else ():
            if (admitted := staged.refused.take(key)) is not None:  # since it was listed
                staged.put(admitted)
        for name, values in self._table.functions().items():
            staged.index(name, values)  # asked for since the list began
        self._table = staged
        changes = [
            StoreChange(old, new)
            for key, new in staged.entries.items()
            if (old := before.get(key)) is not new
        ]
        changes += [
            StoreChange(old, None) for key, old in before.items() if key not in staged.entries
        ]
        return changes

    def replace(self, entries: Iterable[Entry], version: int | None = None) -> None:
        """Take in a complete list in one step: stage, swap, notify."""
        staged = self.stage()
        for entry in entries:
            self.put_into(staged, entry)
        self.notify(self.swap(staged, version))
        if version is not None:
            self.reached(version)

    def put_into(self, staged: "Table", entry: Entry) -> None:
        """Put an object of a list under way into its table, unless it is not wanted."""
        known = self._known(entry)
        held = entry.key in self._table.entries
        if held or self._wants(known):
            staged.put(known)
        else:
            staged.refused.put(known)

    def _wants(self, entry: Entry) -> bool:
        try:
            return self._keep is None or self._keep(entry)
        except Exception as error:  # noqa: BLE001 - a function of users
            _log.error("keep failed, the object is held", key=str(entry.key), exc_info=error)
            return True

    def _known(self, entry: Entry) -> Entry:
        """Return the entry already held for the very same version, else the one given.

        The bytes are compared too: a server restored from a backup gives versions out again.
        """
        old = self._table.entries.get(entry.key)
        if (
            old is not None
            and old.meta.resource_version == entry.meta.resource_version
            and old.raw == entry.raw
        ):
            return old
        return entry

    def reached(self, version: int) -> None:
        """Note that the watch has delivered everything up to this version."""
        if self._ahead:
            self._ahead = {key: floor for key, floor in self._ahead.items() if floor > version}

    def bookmark(self) -> None:
        """Note a bookmark: what happened before it was sent has been delivered.

        The first one after a deletion may have been sent before it, the second was not. An
        event that has not come by then was lost, and is not awaited any longer.
        """
        if self._gone:
            self._gone = {
                key: _Tombstone(tombstone.uid, marked=True)
                for key, tombstone in self._gone.items()
                if not tombstone.marked
            }

    def admit(self, key: Key) -> Entry | None:
        """Take in what *keep* refused before, if it is still at hand; call no listener."""
        entry = self._table.refused.take(key)
        if entry is not None and key not in self._table.entries:
            self._table.put(entry)
        return self._table.entries.get(key)

    def has_refused(self, key: Key) -> bool:
        """Return whether `admit` would find what *keep* refused."""
        return key in self._table.refused

    def keep_no_refused(self) -> None:
        """Keep nothing at hand of what *keep* refuses, for users that never `admit`."""
        self._table.refused = RefusedEntries(0)

    def discard(self, key: Key) -> None:
        """Drop an object that *keep* no longer wants, and call no listener."""
        self._ahead.pop(key, None)
        entry = self._table.entries.get(key)
        if entry is not None:
            self._table.remove(key)
            self._table.refused.put(entry)

    # Own writes

    def note_write(self, raw: bytes, writer: int = THIS_PROCESS) -> bool:
        """Take in the object a write returned, so that no reader gets an older one.

        The entry is marked with *writer*. Return whether the store holds exactly this state:
        not if a later one has arrived. With *writer* 0 the call that returned the object only
        read it, and the change counts as one by others.

        A version that cannot be compared, an object that cannot be read, and one that does
        not (or no longer) belong into this store are left to the watch. So is an object that
        is not here although the watch is past its version: it was deleted before the answer
        arrived, and its event has passed.
        """
        try:
            entry = self.decoder.entry(raw, held=self.get)
        except (BrokenJson, UnnamedObject) as error:
            _log.warning("response to a write cannot be read", error=str(error))
            return False
        if writer and not entry.writer:
            force_setattr(entry, "writer", writer)
        floor = version_number(entry.meta.resource_version)
        if floor is None or (floor <= self._purged and entry.key not in self._table.entries):
            return False
        if self._admits(entry) and self.upsert(entry, own=bool(writer)):
            self._ahead[entry.key] = floor
        return self._table.entries.get(entry.key) is entry

    def note_delete(self, key: Key, uid: str, *, own: bool = True) -> None:
        """Drop a deleted object, before the watch reports it; *own* if this process deleted it."""
        old = self._table.entries.get(key)
        if old is None or old.uid != uid:
            return
        self._ahead.pop(key, None)
        self._gone[key] = _Tombstone(uid)
        self._table.remove(key)
        self._call(self._own_write_listeners if own else self._listeners, old, None)

    def _is_echo_of_deleted(self, entry: Entry) -> bool:
        tombstone = self._gone.get(entry.key)
        if tombstone is not None and tombstone.uid != entry.uid:
            del self._gone[entry.key]  # a new object took the name
        return tombstone is not None and tombstone.uid == entry.uid

"""What the server remembers: every object, and the changes that led there.

One counter numbers all writes, as etcd's revision does. Records are never changed once
stored; readers that want to edit one take a `StoredRecord.copy`. Watches and consistent lists
read the history of changes, which can be trimmed like a compacted etcd. What it holds is encoded
and bounded, in number for each resource and in bytes for all: the oldest changes are forgotten.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject, exact_json

_CHANGE_BYTES: Final = 512
"""What a change in the history takes besides the object that it replaced."""


class StoredRecord:
    """One version of one object, and its encodings, made once and shared by all readers."""

    __slots__ = ("_obj", "_views", "key", "kind", "revision")

    def __init__(self, key: str, kind: ServedKind, obj: JsonObject, revision: int) -> None:
        self.key = key
        self.kind = kind
        self._obj: JsonObject | None = obj
        self.revision = revision
        self._views: list[tuple[ServedKind, bytes]] = []

    @property
    def obj(self) -> JsonObject:
        """The object; not to be changed. Of a version that is history, decoded anew each time."""
        return self._obj if self._obj is not None else self.copy()

    @property
    def metadata(self) -> JsonObject:
        """The metadata of the object; not to be changed."""
        metadata: JsonObject = self.obj["metadata"]
        return metadata

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for cluster-scoped kinds."""
        return str(self.metadata.get("namespace", ""))

    @property
    def uid(self) -> str:
        """The object's uid."""
        return str(self.metadata["uid"])

    @property
    def raw(self) -> bytes:
        """The stored object, encoded."""
        return self.view(self.kind, lambda: exact_json(self.obj))

    def copy(self) -> JsonObject:
        """Return an object of the caller's own, to be changed and written back."""
        obj: JsonObject = orjson.loads(self.raw)
        return obj

    def pack(self) -> None:
        """Keep the encoded object only: a version in the history is read rarely, if at all."""
        self._views = [(self.kind, self.raw)]
        self._obj = None

    def shown_as(self, kind: ServedKind, obj: JsonObject) -> "StoredRecord":
        """Return the record with what one reader is shown of it as *kind*."""
        shown = StoredRecord(self.key, self.kind, {}, self.revision)
        shown._obj = self._obj
        shown._views = [view for view in self._views if view[0] is self.kind]
        shown._views.append((kind, exact_json(obj)))
        return shown

    def is_shown_as(self, kind: ServedKind) -> bool:
        """Return whether it is known what the record looks like as *kind*."""
        return any(known is kind for known, _ in self._views)

    def carry_views(self, later: "StoredRecord") -> "StoredRecord":
        """Return a later record shown as this one is; it differs only in metadata of the server."""
        for kind, encoded in self._views:
            if kind is not self.kind and kind.conversion is not None:
                obj: JsonObject = orjson.loads(encoded)
                own = {each: obj["metadata"].get(each) for each in ("labels", "annotations")}
                metadata = {**later.metadata, **own}
                obj["metadata"] = {k: v for k, v in metadata.items() if v is not None}
                later = later.shown_as(kind, obj)
        return later

    def view(self, kind: ServedKind, make: Callable[[], bytes]) -> bytes:
        """Return the object encoded as *kind*, making it the first time."""
        for known, encoded in self._views:
            if known is kind:
                return encoded
        encoded = make()
        self._views.append((kind, encoded))
        return encoded


@dataclass(frozen=True, slots=True)
class ListPage:
    """Part of a list of records, as of one revision."""

    records: list[StoredRecord]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


class ChangeType(StrEnum):
    """What a watch calls a change."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class StoredChange:
    """One write: the record after it (for deletions, the last one) and the record before."""

    __slots__ = ("previous", "record", "type")

    def __init__(
        self, type_: ChangeType, record: StoredRecord, previous: StoredRecord | None
    ) -> None:
        self.type = type_
        self.record = record
        self.previous = previous

    @property
    def revision(self) -> int:
        """The number of the write."""
        return self.record.revision


def _revision(change: StoredChange) -> int:
    return change.revision


class Collection:
    """All objects of one resource, whatever version they are served in, ordered as in etcd."""

    def __init__(self, group: str, plural: str, floor: int, limit: int) -> None:
        self.group = group
        self.plural = plural
        self.floor = floor
        """The oldest revision a reader can still continue from."""
        self.trimmed = floor
        """The newest change that was forgotten."""
        self.epoch = 0
        """Raised when what is served changes; watches of an earlier epoch end."""
        self._limit = limit
        self._records: dict[str, StoredRecord] = {}
        self._keys: list[str] = []
        self._changes: list[StoredChange] = []
        self._waiters: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> StoredRecord | None:
        """Return the current record under a key."""
        return self._records.get(key)

    def records(self, prefix: str = "", start: str = "") -> Iterator[StoredRecord]:
        """Iterate over current records in key order, those under *prefix*, not before *start*."""
        keys, records = self._keys, self._records
        first = bisect_left(keys, max(prefix, start))
        last = bisect_left(keys, prefix[:-1] + "0", first) if prefix else len(keys)
        return (records[key] for key in keys[first:last])

    def records_at(self, revision: int, prefix: str = "", start: str = "") -> list[StoredRecord]:
        """Return the records as they were after the write numbered *revision*."""
        if not self._changes or self._changes[-1].revision <= revision:
            return list(self.records(prefix, start))
        past: dict[str, StoredRecord | None] = {}
        for change in self._changes[bisect_right(self._changes, revision, key=_revision) :]:
            past.setdefault(change.record.key, change.previous)
        merged = {record.key: record for record in self.records(prefix, start)}
        for key, record in past.items():
            if key.startswith(prefix) and key >= start:
                if record is None:
                    merged.pop(key, None)
                else:
                    merged[key] = record
        return [merged[key] for key in sorted(merged)]

    def changes_since(self, revision: int) -> list[StoredChange]:
        """Return the writes after the one numbered *revision*, oldest first."""
        changes = self._changes
        if not changes or changes[-1].revision <= revision:
            return []
        return changes[bisect_right(changes, revision, key=_revision) :]

    def commit(self, change: StoredChange) -> None:
        """Make a change the current state and wake what waits for one."""
        key = change.record.key
        if change.type is ChangeType.DELETED:
            del self._records[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if key not in self._records:
                insort(self._keys, key)
            self._records[key] = change.record
        if self._changes and self._changes[-1].type is ChangeType.DELETED:
            self._changes[-1].record.pack()  # by now its deletion has been answered
        self._changes.append(change)
        if len(self._changes) > 2 * self._limit:
            self.trim(self._changes[-self._limit].revision)
        self._wake()

    def trim(self, revision: int) -> None:
        """Forget how the state up to *revision* came about."""
        self.floor = max(self.floor, revision)
        count = bisect_right(self._changes, revision, key=_revision)
        if count:
            self.trimmed = self._changes[count - 1].revision
            del self._changes[:count]

    def compact(self, revision: int) -> None:
        """Forget changes up to *revision*; where there are none, readers can still continue."""
        count = bisect_right(self._changes, revision, key=_revision)
        if count:
            self.trim(self._changes[count - 1].revision)

    def end_watches(self) -> None:
        """End every watch: what they were opened on is no longer served that way."""
        self.epoch += 1
        self._wake()

    def forget(self, waiter: "asyncio.Future[None]") -> None:
        """Drop a waiter that does not wait any more."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def changed(self) -> "asyncio.Future[None]":
        """Return a future that is done after the next change."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter


class Storage:
    """All collections and the counter of writes."""

    def __init__(self, *, revision: int, history_limit: int, history_bytes: int) -> None:
        self.revision = revision
        self._limit = history_limit
        self._allowed_bytes = history_bytes
        self._sizes: deque[tuple[int, int]] = deque()  # of each change: its number, its bytes
        self._history_bytes = 0
        self._floor = revision  # of collections not used yet, or dropped
        self._collections: dict[tuple[str, str], Collection] = {}
        self._listeners: list[Callable[[StoredChange], None]] = []

    def collection(self, group: str, plural: str) -> Collection:
        """Return the collection of a resource; an empty one when nothing was stored yet."""
        found = self._collections.get((group, plural))
        if found is None:
            found = Collection(group, plural, self._floor, self._limit)
            self._collections[group, plural] = found
        return found

    def collections(self) -> list[Collection]:
        """Return every collection that was used and not dropped."""
        return list(self._collections.values())

    def drop(self, collection: Collection) -> None:
        """Forget an empty collection and its history: its resource is not served any more.

        Should it be served again, readers of before have to list anew, and those of resources
        that were not used yet as well: no floor is remembered for each resource there ever was.
        """
        if not len(collection):
            self._collections.pop((collection.group, collection.plural), None)
            self._floor = self.revision

    def on_change(self, listener: Callable[[StoredChange], None]) -> None:
        """Call *listener* synchronously after each write."""
        self._listeners.append(listener)

    def put(
        self, collection: Collection, key: str, kind: ServedKind, obj: JsonObject
    ) -> StoredRecord:
        """Store an object, which becomes the storage's own, as new or over the current one."""
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        record = StoredRecord(key, kind, obj, self.revision)
        previous = collection.get(key)
        type_ = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
        self._commit(collection, StoredChange(type_, record, previous))
        return record

    def remove(self, collection: Collection, record: StoredRecord) -> StoredRecord:
        """Delete an object; its last state is returned with the number of the deletion."""
        self.revision += 1
        metadata = {**record.metadata, "resourceVersion": str(self.revision)}
        last = StoredRecord(
            record.key, record.kind, {**record.obj, "metadata": metadata}, self.revision
        )
        self._commit(collection, StoredChange(ChangeType.DELETED, last, record))
        return last

    def trim_history(self) -> None:
        """Forget all history: only the current state and later changes can be read."""
        self._floor = self.revision
        for collection in self._collections.values():
            collection.trim(self.revision)

    def _commit(self, collection: Collection, change: StoredChange) -> None:
        collection.commit(change)
        for listener in self._listeners:
            listener(change)
        self._bound_history(change)

    def _bound_history(self, change: StoredChange) -> None:
        """Encode what a change replaced, and forget the oldest quarter of a history too large."""
        size = _CHANGE_BYTES
        if change.previous is not None:
            change.previous.pack()
            copies = 2 if change.type is ChangeType.DELETED else 1  # the last state is kept, too
            size += copies * len(change.previous.raw)
        self._sizes.append((change.revision, size))
        self._history_bytes += size
        if self._history_bytes <= self._allowed_bytes:
            return
        revision = 0
        while self._history_bytes > self._allowed_bytes * 3 // 4:
            revision, forgotten = self._sizes.popleft()
            self._history_bytes -= forgotten
        for each in self._collections.values():
            each.compact(revision)


def storage_key(namespace: str, name: str) -> str:
    """Return the key of an object within its collection; keys sort as etcd sorts them."""
    return f"{namespace}/{name}" if namespace else name

"""Cached objects, and tables of them with indexes: what a store swaps when it lists anew.

An entry is an object's bytes and the part of its metadata that is needed most. Bytes are the
cheapest thing Python can keep: one object, invisible to the garbage collector. A reconcile
that needs the rest decodes it, which takes microseconds.

Of the objects a store did not want, a table keeps the most recent ones: what makes them wanted
often arrives a moment later, and then they need not be read from the server.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import orjson
import structlog
from msgspec import Struct

from certwright.kube.objects import JsonObject, Key, Object
from certwright.kube.rawjson import identity, is_deep
from certwright.runtime.outcome import BadObject

T = TypeVar("T", bound=Object)
S = TypeVar("S", bound=Struct)

IndexFunction: TypeAlias = Callable[["Entry"], Iterable[Hashable]]
"""Names the values an entry is found under. Must be pure: the same entry, the same values."""

REFUSED_BYTES: Final = 2**20
"""Hundreds of ordinary objects: enough for the moment between two watches."""

TOO_DEEP: Final = "nested too deeply, hundreds of levels"

_log = structlog.get_logger()


class CachedOwner(Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference, as far as mapping and indexing need it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Meta(Struct, frozen=True, gc=False):
    """The metadata kept at hand for every cached object."""

    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    label_pairs: tuple[str, ...] = ()
    """Names and values in turn: half the size of a dict, and there is one per object."""
    finalizers: tuple[str, ...] = ()
    owners: tuple[CachedOwner, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """The labels, as a fresh dict."""
        pairs = self.label_pairs
        return dict(zip(pairs[::2], pairs[1::2], strict=True))

    @property
    def deleting(self) -> bool:
        """True when deletion was asked for and finalizers hold the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> CachedOwner | None:
        """The one owner that controls the object, if any."""
        return next((owner for owner in self.owners if owner.controller), None)


class Entry(Struct, frozen=True, gc=False, eq=False):
    """One object of a store. Compares by identity."""

    key: Key
    meta: Meta
    raw: bytes
    """What is kept of the object; its JSON, unless it is a `CompressedEntry`."""
    own_fields: bytes = b""
    """JSON array of the managedFields entries of our own managers, without their times; empty if
    there are none."""
    malformed: str = ""
    """What is wrong with the metadata, when the server delivered it in the wrong shape."""
    writer: int = 0
    """Which writer of this process wrote this state, see `Store.note_write`; 0 if none did."""

    @property
    def json(self) -> bytes:
        """The JSON of the object, without managedFields."""
        return self.raw

    @property
    def uid(self) -> str:
        """The object's uid, decoded on each access: it is long, unique, and rarely needed.

        Empty when it has none, or none of the right shape.
        """
        uid = self._part(_Identified).metadata.uid
        return uid if isinstance(uid, str) else ""

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, decoded on each access: they can be large and are rarely needed."""
        return self._part(_Annotated).metadata.annotations or {}

    @property
    def managed_fields(self) -> list[JsonObject]:
        """The managedFields entries of our own field managers, decoded on each access."""
        entries: list[JsonObject] = orjson.loads(self.own_fields) if self.own_fields else []
        return entries

    def obj(self) -> JsonObject:
        """Return the object as a fresh dict, without managedFields; `BadObject` if too deep."""
        try:
            decoded: JsonObject = orjson.loads(self.json)
        except orjson.JSONDecodeError:  # the decoder of metadata, which saw it, reads deeper ones
            raise self._refusal(TOO_DEEP) from None
        return decoded

    def as_(self, kind: type[T]) -> T:
        """Return the object as a fresh instance of a typed kind; `BadObject` if it does not fit."""
        return self._decode(kind)

    def require_contents(self) -> None:
        """Raise `BadObject` if only the metadata of the object are known."""

    def _decode(self, kind: type[S]) -> S:
        try:
            return msgspec.json.decode(self.json, type=kind)
        except msgspec.ValidationError as error:
            raise self._bad(kind, str(error)) from error
        except RecursionError:
            raise self._refusal(TOO_DEEP) from None

    def _part(self, kind: type[S]) -> S:
        """Decode part of the metadata, however deep the rest is."""
        try:
            return self._decode(kind)
        except BadObject:
            if not is_deep(self.json):
                raise
        return msgspec.json.decode(identity(self.json), type=kind)

    def _refusal(self, why: str) -> BadObject:
        kind = _kind_of(identity(self.json))
        return BadObject(f"{kind} {self.key} cannot be read: {why}; correct or delete the object")

    def _bad(self, kind: type[Any], why: str) -> BadObject:
        """Return an error that names object, field and cure: its text ends up on a condition."""
        what, _, path = why.partition(" - at `$")
        where = path.rstrip("`").lstrip(".") or "the object"
        name = kind.resource.kind if issubclass(kind, Object) else _kind_of(self.json)
        return BadObject(
            f"{name} {self.key} cannot be read: {where}: {what}; correct the object, or align "
            f"the schema of its CustomResourceDefinition with the controller's version"
        )


class UnreadableEntry(Entry, frozen=True, gc=False, eq=False):
    """An object of which only the metadata are known; `malformed` says why the rest is not.

    It is there, can be found and deleted; asked for its contents it raises `BadObject`, because
    a part that could not be read must not pass for one that is empty.
    """

    def obj(self) -> JsonObject:
        """Raise `BadObject`."""
        raise self._refusal(self.malformed)

    def as_(self, kind: type[T]) -> T:
        """Raise `BadObject`."""
        del kind
        raise self._refusal(self.malformed)

    def require_contents(self) -> None:
        """Raise `BadObject`."""
        raise self._refusal(self.malformed)


def version_number(resource_version: str) -> int | None:
    """Return a resourceVersion as a number, or None when this server's cannot be compared."""
    return int(resource_version) if resource_version.isdecimal() else None


def is_newer(entry: Entry, old: Entry) -> bool:
    """Return whether an entry may replace *old*; where versions have no order, any other may."""
    given, held = entry.meta.resource_version, old.meta.resource_version
    if given == held:
        return False
    if given.isdecimal() and held.isdecimal():
        return int(given) > int(held)
    return True


def is_older(entry: Entry, old: Entry) -> bool:
    """Return whether an entry is known to be of a state before *old*."""
    given, held = entry.meta.resource_version, old.meta.resource_version
    return given.isdecimal() and held.isdecimal() and int(given) < int(held)


class Index:
    """From a value to the keys of the entries that have it, in order of arrival."""

    def __init__(self, values: IndexFunction) -> None:
        self.values = values
        # Most values lead to one key; a dict for each would outweigh the entries themselves.
        self._keys: dict[Hashable, Key | dict[Key, None]] = {}

    def keys(self, value: Hashable) -> Iterable[Key]:
        """Return the keys found under a value."""
        found = self._keys.get(value, ())
        return (found,) if isinstance(found, Key) else found

    def add(self, entry: Entry) -> None:
        """Note an entry under each of its values."""
        self._add(entry.key, self._values_of(entry))

    def discard(self, entry: Entry) -> None:
        """Forget an entry."""
        self._discard(entry.key, self._values_of(entry))

    def move(self, old: Entry, new: Entry) -> None:
        """Note the new version of an entry; most changes concern no index."""
        before, after = self._values_of(old), self._values_of(new)
        if before != after:
            self._discard(old.key, before)
            self._add(new.key, after)

    def _add(self, key: Key, values: tuple[Hashable, ...]) -> None:
        for value in values:
            found = self._keys.get(value)
            if found is None:
                self._keys[value] = key
            elif isinstance(found, dict):
                found[key] = None
            else:
                self._keys[value] = {found: None, key: None}

    def _discard(self, key: Key, values: tuple[Hashable, ...]) -> None:
        for value in values:
            found = self._keys.get(value)
            if isinstance(found, dict):
                found.pop(key, None)
            if not found or found == key:
                self._keys.pop(value, None)

    def _values_of(self, entry: Entry) -> tuple[Hashable, ...]:
        try:
            values = tuple(self.values(entry))
            hash(values)
        except Exception as error:  # noqa: BLE001 - a function of users
            # An object of a shape the function did not foresee: found under nothing.
            _log.warning(
                "index function failed, object left out of the index",
                key=str(entry.key),
                error=f"{error!r}",
            )
            return ()
        return values


class Table:
    """Entries by key, and every index over them, kept in step.

    Of what was refused, the most recent objects stay at hand, *room* bytes of them.
    """

    def __init__(
        self, functions: dict[Hashable, IndexFunction], *, room: int = REFUSED_BYTES
    ) -> None:
        self.entries: dict[Key, Entry] = {}
        self.refused = RefusedEntries(room)
        self._indexes = {name: Index(values) for name, values in functions.items()}

    def put(self, entry: Entry) -> None:
        """Add or replace an entry."""
        if self._indexes:
            old = self.entries.get(entry.key)
            for index in self._indexes.values():
                if old is None:
                    index.add(entry)
                else:
                    index.move(old, entry)
        self.entries[entry.key] = entry

    def remove(self, key: Key) -> None:
        """Drop an entry, if it is there."""
        self.refused.take(key)
        old = self.entries.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.discard(old)

    def index(self, name: Hashable, values: IndexFunction) -> Index:
        """Return an index, building it over the present entries when it is new."""
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = Index(values)
            for entry in self.entries.values():
                index.add(entry)
        return index

    def known_index(self, name: Hashable) -> Index | None:
        """Return an index, None if there is none of this name."""
        return self._indexes.get(name)

    def empty(self) -> "Table":
        """Return a table with the same indexes and as much room, and nothing in it."""
        return Table(self.functions(), room=self.refused.limit)

    def functions(self) -> dict[Hashable, IndexFunction]:
        """Return what a new table needs to have the same indexes."""
        return {name: index.values for name, index in self._indexes.items()}


def namespace_of(entry: Entry) -> tuple[str]:
    """Find entries by namespace."""
    return (entry.key.namespace,)


def owners_of(entry: Entry) -> Iterable[str]:
    """Find entries by the uids of their owners."""
    return (owner.uid for owner in entry.meta.owners)


class LabelValue:
    """Finds entries by the value of one label."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __call__(self, entry: Entry) -> tuple[str, ...]:
        """Return the value, if there is one."""
        value = entry.meta.labels.get(self._label)
        return () if value is None else (value,)


class RefusedEntries:
    """The most recent refused entries, up to *limit* bytes of objects and their field sets.

    The very last one stays however large it is, unless there is no room at all.
    """

    def __init__(self, limit: int = REFUSED_BYTES) -> None:
        self.limit = limit
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._size = 0

    def put(self, entry: Entry) -> None:
        """Keep an entry instead of any older version; drop the oldest if there is no room."""
        self.take(entry.key)
        if not self.limit:
            return
        self._entries[entry.key] = entry
        self._size += _size(entry)
        while self._size > self.limit and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._size -= _size(oldest)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def take(self, key: Key) -> Entry | None:
        """Return and forget the entry at a key, if it is still here."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= _size(entry)
        return entry


def _size(entry: Entry) -> int:
    return len(entry.raw) + len(entry.own_fields)


class _Identity(Struct):
    uid: Any = ""


class _Identified(Struct):
    metadata: _Identity


class _Annotations(Struct):
    annotations: dict[str, str] | None = None


class _Annotated(Struct):
    metadata: _Annotations


class _Kinded(Struct):
    kind: Any = "object"


def _kind_of(raw: bytes) -> str:
    return str(msgspec.json.decode(raw, type=_Kinded).kind)

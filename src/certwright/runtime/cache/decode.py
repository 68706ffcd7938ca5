"""From the bytes of a list or a watch to entries: what of a received object enters a store.

One pass over the bytes reads the metadata and skips the rest; a transform may drop more.
managedFields are a third of a typical object, and only our own are of use; decoding and
encoding the object to drop them would cost more than all else, so they are cut out of the bytes.
Objects of the wrong shape get in too, as far as they have a name: a watch never ends because
of one bad object. Of those nested too deeply to be read, only the metadata do.
"""

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import orjson
import structlog
from msgspec import Struct, field

from certwright.kube.objects import Key, Resource
from certwright.kube.rawjson import (
    MAX_DEPTH,
    foreign_entries,
    identity,
    is_deep,
    without_managed_fields,
)
from certwright.runtime.cache.compression import CompressedEntry, Compression
from certwright.runtime.cache.entries import (
    TOO_DEEP,
    CachedOwner,
    Entry,
    Meta,
    UnreadableEntry,
)
from certwright.runtime.cache.malformed import fitting

Transform: TypeAlias = Callable[[bytes], bytes]
"""Reduces an object's JSON to what a store should keep; must be pure, and leave it an object."""

FindEntry: TypeAlias = Callable[[Key], Entry | None]
"""Finds what a store holds."""

_NAME = b'"managedFields"'
_COMMA, _COLON = b",:"
_TIME = re.compile(
    rb',\s*"time":\s*"[^"\\]*"'
)  # an entry's own: keys of field sets begin otherwise

SHARED_STRINGS = 1_000
"""How many label values are remembered for sharing; the rest is probably unique anyway."""
SHARED_FIELDS = 100
"""How many sets of fields are; a controller writes objects of few shapes."""

DECODES_DEEP = sys.version_info >= (3, 12)
"""Whether the decoder below goes on where others end; before, it counts levels as Python does."""
READABLE_DEPTH = 900
NAMED = 1_000
"""How many unreadable objects are logged by name; all of them are counted."""

_log = structlog.get_logger()


class BrokenJson(ValueError):
    """Bytes that are no JSON document: the connection garbled or cut them."""


class UnnamedObject(ValueError):
    """A JSON document without the name of an object."""


class EntryDecoder:
    """Turns received objects of one kind into entries.

    *field_managers* are those whose managedFields entries are kept; with *foreign_fields* those
    of others are, see `foreign_entries`. With *metadata_only* a
    store keeps nothing but metadata, whether the server sends that or the whole object. With a
    *compression* it keeps what is left of each object compressed.
    """

    def __init__(
        self,
        resource: Resource,
        *,
        field_managers: Iterable[str] = (),
        transform: Transform | None = None,
        metadata_only: bool = False,
        foreign_fields: bool = False,
        compression: Compression | None = None,
    ) -> None:
        self._entries = foreign_entries if foreign_fields else own_entries
        self.resource = resource
        self.metadata_only = metadata_only
        self._managers = frozenset(orjson.dumps(name) for name in field_managers)
        self._transform = transform
        self._compression = compression
        self.unreadable = 0
        """How many states of objects were too deep to be read."""
        self._named: set[Key] = set()
        self._shared: dict[str, str] = {}
        self._shared_fields: dict[bytes, bytes] = {}
        # Lists of built-in kinds leave these two out of their items.
        kind = orjson.dumps({"kind": resource.kind, "apiVersion": resource.api_version})
        self._type_prefix = kind[:-1] + b","

    def entry(
        self, raw: bytes, start: int = 0, stop: int | None = None, *, held: FindEntry | None = None
    ) -> Entry:
        """Return the entry of the object that stands between *start* and *stop*.

        *held* finds the entry a store has already: the same version is not made twice, and
        most events of a watch report what we have just written.

        Raises:
            BrokenJson: the bytes are no JSON document.
            UnnamedObject: they are, but not one of a named object.
        """
        stop = len(raw) if stop is None else stop
        try:
            return self._entry(raw, start, stop, held)
        except RecursionError:
            return self._deep(raw[start:stop], held)

    def _entry(self, raw: bytes, start: int, stop: int, held: FindEntry | None) -> Entry:
        try:
            envelope = _ENVELOPE.decode(memoryview(raw)[start:stop])
        except msgspec.ValidationError:
            return self._unusual(raw[start:stop])
        except msgspec.DecodeError as error:
            raise BrokenJson(f"{self.resource.kind}: {error}") from error
        found = envelope.metadata
        known = None if held is None else held(Key(found.namespace, found.name))
        if known is not None and known.meta.resource_version == found.resource_version:
            return known
        key = None if known is None else known.key  # which the states of an object share
        return self._finish(raw, found, envelope.kind, (start, stop), key=key)

    def deleted(self, raw: bytes, start: int, stop: int) -> Entry:
        """Return which object was deleted, and its last version; raises what `entry` raises."""
        try:
            found = _DELETED.decode(memoryview(raw)[start:stop]).metadata
        except (msgspec.DecodeError, RecursionError):
            return self.entry(raw, start, stop)
        return Entry(Key(found.namespace, found.name), Meta(found.resource_version), b"")

    def _finish(
        self,
        raw: bytes,
        found: "_Metadata",
        kind: str,
        span: tuple[int, int],
        malformed: str = "",
        key: Key | None = None,
    ) -> Entry:
        own_fields = b""
        managed = bytes(found.managed_fields)
        if managed:
            own_fields = self._share_fields(self._entries(managed, self._managers))
            raw = _cut(raw, managed, *span)
        else:
            raw = raw[span[0] : span[1]]
        if DECODES_DEEP and len(raw) > 2 * READABLE_DEPTH and is_deep(raw, READABLE_DEPTH):
            raise RecursionError
        if self.metadata_only:
            if kind != "PartialObjectMetadata":
                raw = b"".join((_PARTIAL_PREFIX, _PART.decode(raw).metadata, b"}"))
        elif not kind:
            raw = self._type_prefix + raw.lstrip()[1:]
        if self._transform is not None:
            raw = self._reduced(self._transform, raw, found)
        if key is None:
            namespace = self._shared.setdefault(found.namespace, found.namespace)
            key = Key(namespace, found.name)
        meta = Meta(
            found.resource_version,
            found.generation,
            found.deletion_timestamp,
            self._share(found.labels, key.name),
            found.finalizers,
            found.owners,
        )
        if self._compression is None:
            return Entry(key, meta, raw, own_fields, malformed)
        kept = self._compression.compress(raw)
        return CompressedEntry(
            key, meta, kept, own_fields, malformed, compression=self._compression
        )

    def _reduced(self, transform: Transform, raw: bytes, found: "_Metadata") -> bytes:
        """Return what a transform makes of an object; all of it if the transform fails."""
        try:
            return transform(raw)
        except Exception as error:  # noqa: BLE001 - a function of users
            _log.warning(
                "transform failed, the whole object is kept",
                kind=self.resource.kind,
                key=f"{found.namespace}/{found.name}",
                error=f"{error!r}",
            )
            return raw

    def _share(self, labels: dict[str, str], name: str) -> tuple[str, ...]:
        """Return labels as pairs, equal values of many objects being one string."""
        shared = self._shared
        pairs: list[str] = []
        for label, value in labels.items():
            if value == name:
                pairs += (label, name)
            elif len(shared) < SHARED_STRINGS:
                pairs += (label, shared.setdefault(value, value))
            else:
                pairs += (label, shared.get(value, value))
        return tuple(pairs)

    def _share_fields(self, own: bytes) -> bytes:
        """Return a set of fields, equal ones of many objects being one; none if it is too deep."""
        shared = self._shared_fields
        known = shared.get(own)
        if known is None:
            known = b"" if len(own) > 2 * MAX_DEPTH and is_deep(own) else own
            if len(shared) < SHARED_FIELDS:
                shared[own] = known
        return known

    def _deep(self, raw: bytes, held: FindEntry | None) -> Entry:
        """Read an object without its managedFields; if it is deep all the same, its metadata."""
        try:
            shallow = without_managed_fields(raw)
            if not is_deep(shallow):
                return self._entry(shallow, 0, len(shallow), held)
            named = identity(shallow)
            known = self._entry(named, 0, len(named), held)
        except (ValueError, RecursionError) as error:
            if isinstance(error, UnnamedObject):
                raise
            raise BrokenJson(f"{self.resource.kind}: not JSON, and nested deeply") from None
        if self.metadata_only or isinstance(known, UnreadableEntry):
            return known
        self.unreadable += 1
        if known.key not in self._named and len(self._named) < NAMED:
            self._named.add(known.key)
            _log.warning(
                "object cannot be read, only its metadata are known",
                kind=self.resource.kind,
                key=str(known.key),
                why=TOO_DEEP,
            )
        return UnreadableEntry(known.key, known.meta, known.json, malformed=TOO_DEEP)

    def _unusual(self, raw: bytes) -> Entry:
        """Keep what can be read of an object whose metadata does not have the usual shape."""
        try:
            loose = _LOOSE.decode(raw)
            found, malformed = fitting(loose.metadata, _Metadata)
        except msgspec.ValidationError as error:
            raise UnnamedObject(f"{self.resource.kind} without a name: {error}") from error
        found.managed_fields = _MANAGED.decode(raw).metadata.managed_fields
        return self._finish(raw, found, str(loose.kind), (0, len(raw)), malformed)


def _cut(raw: bytes, managed: bytes, start: int, stop: int) -> bytes:
    """Return the object between *start* and *stop* without managedFields."""
    span = managed_fields_span(raw, managed, start, stop)
    if span is None:
        return without_managed_fields(raw[start:stop])
    view = memoryview(raw)
    return b"".join((view[start : span[0]], view[span[1] : stop]))


def managed_fields_span(raw: bytes, value: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return where ``,"managedFields":…`` stands between *start* and *stop*, if that is certain.

    *value* is the field's JSON as a decoder found it there.
    """
    name = raw.find(_NAME, start, stop)
    value_start = name + len(_NAME) + 1
    value_stop = value_start + len(value)
    # A quoted name cannot occur inside a JSON string, where its quotes would be escaped; so
    # if it occurs once, and the right value follows, it is the field.
    usual = (
        name > 0
        and raw[name - 1] == _COMMA  # the field is never an object's first
        and raw[value_start - 1] == _COLON
        and raw.startswith(value, value_start, stop)
        and raw.find(_NAME, value_stop, stop) < 0
    )
    return (name - 1, value_stop) if usual else None


def own_entries(value: bytes, managers: frozenset[bytes]) -> bytes:
    """Return the JSON array of those entries whose manager is one of *managers*, without times.

    So objects of the same shape have the same, whenever they were written. Managers are given
    as JSON strings. Empty when there is none, or when the value does not have the shape of
    managedFields.
    """
    for manager in managers:
        if manager in value:
            break
    else:
        return b""
    try:
        named = zip(_ENTRIES.decode(value), _NAMES.decode(value), strict=True)
        own = [bytes(e) for e, name in named if orjson.dumps(name.manager) in managers]
        own = [_TIME.sub(b"", one, count=1) for one in own]
    except msgspec.ValidationError:
        return b""
    return b"[" + b",".join(own) + b"]" if own else b""


class _Metadata(Struct, gc=False, rename="camel"):
    """Metadata as the server writes it, as far as it is kept."""

    name: str
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owners: tuple[CachedOwner, ...] = field(default=(), name="ownerReferences")
    managed_fields: msgspec.Raw = field(default_factory=msgspec.Raw)
    """A view of the received bytes; must not outlive them."""


class _Envelope(Struct, gc=False):
    metadata: _Metadata
    kind: str = ""


class _Place(Struct, gc=False, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _Deleted(Struct, gc=False):
    metadata: _Place


class _Loose(Struct):
    metadata: dict[str, Any]
    kind: Any = ""


class _ManagedFields(Struct, rename="camel"):
    managed_fields: msgspec.Raw = field(default_factory=msgspec.Raw)


class _Managed(Struct):
    metadata: _ManagedFields


class _ManagerName(Struct):
    manager: str = ""


class _Part(Struct):
    metadata: msgspec.Raw


_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_NAMES = msgspec.json.Decoder(list[_ManagerName])
_DELETED = msgspec.json.Decoder(_Deleted)
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_LOOSE = msgspec.json.Decoder(_Loose)
_MANAGED = msgspec.json.Decoder(_Managed)
_PART = msgspec.json.Decoder(_Part)
_PARTIAL_PREFIX = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'

"""From the bytes of a list or a watch to entries: what of a received object enters a store.

One pass over the bytes reads the metadata and skips the rest; a transform may drop more.
managedFields are a third of a typical object, and only our own are of use; decoding and
encoding the object to drop them would cost more than all else, so they are cut out of the bytes.
Objects of the wrong shape get in too, as far as they have a name: a watch never ends because
of one bad object.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import msgspec
import orjson
import structlog
from msgspec import Struct, field

from certwright.kube.errors import ApiError
from certwright.kube.objects import Key, Resource
from certwright.runtime.cache.entries import CachedOwner, Entry, Meta
from certwright.runtime.cache.malformed import fitting, without_managed_fields

Transform: TypeAlias = Callable[[bytes], bytes]
"""Reduces an object's JSON to what a store should keep; must be pure, and leave it an object."""

FindEntry: TypeAlias = Callable[[Key], Entry | None]
"""Finds what a store holds."""

_NAME = b'"managedFields"'
_COMMA, _COLON = b",:"
_TIME = re.compile(
    rb',\s*"time":\s*"[^"\\]*"'
)  # an entry's own: keys of field sets begin otherwise

END_OF_LIST = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streaming list."""
SHARED_STRINGS = 1_000
"""How many label values are remembered for sharing; the rest is probably unique anyway."""
SHARED_FIELDS = 100
"""How many sets of fields are; a controller writes objects of few shapes."""

_log = structlog.get_logger()


class BrokenJson(ValueError):
    """Bytes that are no JSON document: the connection garbled or cut them."""


class UnnamedObject(ValueError):
    """A JSON document without the name of an object."""


class EntryDecoder:
    """Turns received objects of one kind into entries.

    *field_managers* are those whose managedFields entries are kept. With *metadata_only* a
    store keeps nothing but metadata, whether the server sends that or the whole object.
    """

    def __init__(
        self,
        resource: Resource,
        *,
        field_managers: Iterable[str] = (),
        transform: Transform | None = None,
        metadata_only: bool = False,
    ) -> None:
        self.resource = resource
        self.metadata_only = metadata_only
        self._managers = frozenset(orjson.dumps(name) for name in field_managers)
        self._transform = transform
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
            envelope = _ENVELOPE.decode(memoryview(raw)[start:stop])
        except msgspec.ValidationError:
            return self._unusual(raw[start:stop])
        except msgspec.DecodeError as error:
            raise BrokenJson(f"{self.resource.kind}: {error}") from error
        found = envelope.metadata
        if held is not None:
            known = held(Key(found.namespace, found.name))
            if known is not None and known.meta.resource_version == found.resource_version:
                return known
        return self._finish(raw, found, envelope.kind, (start, stop))

    def deleted(self, raw: bytes, start: int, stop: int) -> Entry:
        """Return which object was deleted, and its last version; raises what `entry` raises."""
        try:
            found = _DELETED.decode(memoryview(raw)[start:stop]).metadata
        except msgspec.DecodeError:
            return self.entry(raw, start, stop)
        return Entry(Key(found.namespace, found.name), Meta(found.resource_version), b"")

    def _finish(
        self, raw: bytes, found: "_Metadata", kind: str, span: tuple[int, int], malformed: str = ""
    ) -> Entry:
        own_fields = b""
        managed = found.managed_fields
        if memoryview(managed):
            own_fields = self._share_fields(own_entries(managed, self._managers))
            raw = _cut(raw, managed, *span)
        else:
            raw = raw[span[0] : span[1]]
        if self.metadata_only:
            if kind != "PartialObjectMetadata":
                raw = b"".join((_PARTIAL_PREFIX, _PART.decode(raw).metadata, b"}"))
        elif not kind:
            raw = self._type_prefix + raw.lstrip()[1:]
        if self._transform is not None:
            raw = self._reduced(self._transform, raw, found)
        meta = Meta(
            found.resource_version,
            found.generation,
            found.deletion_timestamp,
            self._share(found.labels, found.name),
            found.finalizers,
            found.owners,
        )
        namespace = self._shared.setdefault(found.namespace, found.namespace)
        return Entry(Key(namespace, found.name), meta, raw, own_fields, malformed)

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
        """Return a set of fields, equal ones of many objects being one."""
        shared = self._shared_fields
        return shared.get(own, own) if len(shared) >= SHARED_FIELDS else shared.setdefault(own, own)

    def _unusual(self, raw: bytes) -> Entry:
        """Keep what can be read of an object whose metadata does not have the usual shape."""
        try:
            loose = _LOOSE.decode(raw)
            found, malformed = fitting(loose.metadata, _Metadata)
        except msgspec.ValidationError as error:
            raise UnnamedObject(f"{self.resource.kind} without a name: {error}") from error
        found.managed_fields = _MANAGED.decode(raw).metadata.managed_fields
        return self._finish(raw, found, str(loose.kind), (0, len(raw)), malformed)


def _cut(raw: bytes, managed: msgspec.Raw, start: int, stop: int) -> bytes:
    """Return the object between *start* and *stop* without managedFields."""
    span = managed_fields_span(raw, managed, start, stop)
    if span is None:
        return without_managed_fields(raw[start:stop])
    view = memoryview(raw)
    return b"".join((view[start : span[0]], view[span[1] : stop]))


def managed_fields_span(
    raw: bytes, value: msgspec.Raw, start: int, stop: int
) -> tuple[int, int] | None:
    """Return where ``,"managedFields":…`` stands between *start* and *stop*, if that is certain.

    *value* is the field's JSON as a decoder found it there.
    """
    name = raw.find(_NAME, start, stop)
    value_start = name + len(_NAME) + 1
    value_stop = value_start + len(memoryview(value))
    # A quoted name cannot occur inside a JSON string, where its quotes would be escaped; so
    # if it occurs once, and the right value follows, it is the field.
    usual = (
        name > 0
        and raw[name - 1] == _COMMA  # the field is never an object's first
        and raw[value_start - 1] == _COLON
        and raw.find(_NAME, value_stop, stop) < 0
        and raw[value_start:value_stop] == bytes(value)
    )
    return (name - 1, value_stop) if usual else None


def own_entries(value: msgspec.Raw, managers: frozenset[bytes]) -> bytes:
    """Return the JSON array of those entries whose manager is one of *managers*, without times.

    So objects of the same shape have the same, whenever they were written. Managers are given
    as JSON strings. Empty when there is none, or when the value does not have the shape of
    managedFields.
    """
    text = bytes(value)
    if not any(manager in text for manager in managers):
        return b""
    try:
        entries = _ENTRIES.decode(text)
        own = [bytes(e) for e in entries if orjson.dumps(_ENTRY.decode(e).manager) in managers]
        own = [_TIME.sub(b"", one, count=1) for one in own]
    except msgspec.ValidationError:
        return b""
    return b"[" + b",".join(own) + b"]" if own else b""


class _EventType(StrEnum):
    """What a line reports."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class ObjectEvent(NamedTuple):
    """An object appeared, changed or disappeared; of the last only key and version are read."""

    entry: Entry
    deleted: bool


class Bookmark(NamedTuple):
    """Everything up to a version has been delivered."""

    resource_version: str
    ends_list: bool


def read_event(
    line: bytes, decoder: EntryDecoder, held: FindEntry | None = None
) -> ObjectEvent | Bookmark | None:
    """Read one line of a watch; None for a type this version does not know.

    An object that is *held* in the very version is not read again.

    Raises:
        ApiError: the line is an ERROR event, this is its Status.
        BrokenJson: the line is no event.
        UnnamedObject: its object cannot be named.
    """
    usual = _USUAL.get(line[:_HEAD])
    if usual is not None and line.startswith(usual[0]) and line.endswith(b"}"):
        # API servers write these bytes; what stands between them needs one pass, not two.
        try:
            prefix, deleted = usual
            start, stop = len(prefix), len(line) - 1
            if deleted:
                return ObjectEvent(decoder.deleted(line, start, stop), deleted)
            return ObjectEvent(decoder.entry(line, start, stop, held=held), deleted)
        except BrokenJson:
            pass  # one more member after the object, or really broken: look closely
    try:
        event = _EVENT.decode(line)
        match event.type:
            case _EventType.ADDED | _EventType.MODIFIED:
                return ObjectEvent(decoder.entry(bytes(event.object)), deleted=False)
            case _EventType.DELETED:
                raw = bytes(event.object)
                return ObjectEvent(decoder.deleted(raw, 0, len(raw)), deleted=True)
            case _EventType.BOOKMARK:
                mark = _MARK.decode(event.object).metadata
                ends_list = mark.annotations.get(END_OF_LIST) == "true"
                return Bookmark(mark.resource_version, ends_list)
            case _EventType.ERROR:
                status = _STATUS.decode(event.object)
                code = status.get("code")
                raise ApiError.from_status(code if isinstance(code, int) else 500, status)
            case _:
                return None
    except msgspec.DecodeError as error:
        raise BrokenJson(
            f"a watch event of {decoder.resource.kind} cannot be read ({error}); "
            "the server or a proxy cut or garbled it"
        ) from error


def _prefix(event_type: _EventType) -> bytes:
    return b'{"type":"' + event_type.encode() + b'","object":'


_HEAD = len(b'{"type":"ADDED')
_USUAL = {
    _prefix(event_type)[:_HEAD]: (_prefix(event_type), event_type == _EventType.DELETED)
    for event_type in (_EventType.ADDED, _EventType.MODIFIED, _EventType.DELETED)
}


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


class _Event(Struct):
    type: str
    object: msgspec.Raw


class _Mark(Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] = field(default_factory=dict)


class _Marked(Struct):
    metadata: _Mark


_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_ManagerName)
_DELETED = msgspec.json.Decoder(_Deleted)
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_LOOSE = msgspec.json.Decoder(_Loose)
_MANAGED = msgspec.json.Decoder(_Managed)
_PART = msgspec.json.Decoder(_Part)
_PARTIAL_PREFIX = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'
_EVENT = msgspec.json.Decoder(_Event)
_MARK = msgspec.json.Decoder(_Marked)
_STATUS = msgspec.json.Decoder(dict)

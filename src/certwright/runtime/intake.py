"""What of a received object enters a store: from the server's bytes to an `Entry`.

One pass over the bytes reads the metadata and skips the rest; managedFields are cut; a
transform may drop more. Objects of the wrong shape get in too, as far as they can be named:
a watch never ends because of one bad object.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Struct, field

from certwright.kube.identity import Key, Resource
from certwright.runtime.entry import Entry, Meta
from certwright.runtime.managedfields import find, own_entries, rebuild

Transform: TypeAlias = Callable[[bytes], bytes]
"""Reduces an object's JSON to what a store should keep; must be pure, and leave it an object."""


SHARED_STRINGS = 1_000
"""How many label values are remembered for sharing; the rest is probably unique anyway."""


class BrokenJson(ValueError):
    """Bytes that are no JSON document: the connection garbled or cut them."""


class Nameless(ValueError):
    """A JSON document that is no object of the API: nothing says what it is called."""


class Intake:
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
        # Lists of built-in kinds leave these two out of their items.
        kind = orjson.dumps({"kind": resource.kind, "apiVersion": resource.api_version})
        self._type_prefix = kind[:-1] + b","

    def entry(self, raw: bytes, start: int = 0, stop: int | None = None) -> Entry:
        """Return the entry of the object that stands between *start* and *stop*.

        Raises:
            BrokenJson: the bytes are no JSON document.
            Nameless: they are, but not one of a named object.
        """
        stop = len(raw) if stop is None else stop
        try:
            envelope = _ENVELOPE.decode(memoryview(raw)[start:stop])
        except msgspec.ValidationError:
            return self._unusual(raw[start:stop])
        except msgspec.DecodeError as error:
            raise BrokenJson(f"{self.resource.kind}: {error}") from error
        self._share_strings(envelope.metadata)
        kept = self._cut(raw, envelope.metadata, start, stop)
        return self._finish(kept, envelope.metadata, envelope.kind)

    def _share_strings(self, meta: Meta) -> None:
        """Let equal strings of many objects be one: namespaces, and most values of labels."""
        shared = self._shared
        meta.namespace = shared.setdefault(meta.namespace, meta.namespace)
        labels = meta.labels
        for label, value in labels.items():
            if value == meta.name:
                labels[label] = meta.name
            elif len(shared) < SHARED_STRINGS:
                labels[label] = shared.setdefault(value, value)
            else:
                labels[label] = shared.get(value, value)

    def _cut(self, raw: bytes, meta: Meta, start: int, stop: int) -> bytes:
        """Return the object without managedFields, and leave our own entries in *meta*."""
        managed = meta.managed_fields
        if not memoryview(managed):
            return raw[start:stop]
        # Also lets go of the received bytes, which this value is a view of.
        meta.managed_fields = own_entries(managed, self._managers)
        span = find(raw, managed, start, stop)
        if span is None:
            return rebuild(raw[start:stop])
        view = memoryview(raw)
        return b"".join((view[start : span[0]], view[span[1] : stop]))

    def _finish(self, raw: bytes, meta: Meta, kind: str, malformed: str = "") -> Entry:
        if self.metadata_only:
            if kind != "PartialObjectMetadata":
                raw = b"".join((_PARTIAL_PREFIX, _METADATA.decode(raw).metadata, b"}"))
        elif not kind:
            raw = self._type_prefix + raw.lstrip()[1:]
        if self._transform is not None:
            raw = self._transform(raw)
        return Entry(Key(meta.namespace, meta.name), meta, raw, malformed)

    def _unusual(self, raw: bytes) -> Entry:
        """Keep what can be read of an object whose metadata does not have the usual shape."""
        try:
            loose = _LOOSE.decode(raw)
            meta, malformed = _read_loosely(loose.metadata)
        except msgspec.ValidationError as error:
            raise Nameless(f"{self.resource.kind} without a name: {error}") from error
        meta.managed_fields = _MANAGED.decode(raw).metadata.managed_fields
        return self._finish(self._cut(raw, meta, 0, len(raw)), meta, str(loose.kind), malformed)


def _read_loosely(metadata: dict[str, Any]) -> tuple[Meta, str]:
    """Return the metadata without its misfits, and what is wrong with the first of those."""
    given = {name: value for name, value in metadata.items() if value is not None}
    given.pop("managedFields", None)  # Meta keeps its JSON, not its value
    try:
        return msgspec.convert(given, Meta), ""  # nulls were all that was unusual
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        fitting = {name: value for name, value in given.items() if _fits(name, value)}
        return msgspec.convert(fitting, Meta), f"metadata{path.rstrip('`')}: {what}"


def _fits(name: str, value: Any) -> bool:
    try:
        msgspec.convert({"name": "", name: value}, Meta)
    except msgspec.ValidationError:
        return False
    return True


class _Envelope(Struct, gc=False):
    metadata: Meta
    kind: str = ""


class _Loose(Struct):
    metadata: dict[str, Any]
    kind: Any = ""


class _ManagedFields(Struct, rename="camel"):
    managed_fields: msgspec.Raw = field(default_factory=msgspec.Raw)


class _Managed(Struct):
    metadata: _ManagedFields


class _Metadata(Struct):
    metadata: msgspec.Raw


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_LOOSE = msgspec.json.Decoder(_Loose)
_MANAGED = msgspec.json.Decoder(_Managed)
_METADATA = msgspec.json.Decoder(_Metadata)
_PARTIAL_PREFIX = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'

"""What of a received object enters a store: from the server's bytes to an `Entry`.

One pass over the bytes reads the metadata and skips the rest; managedFields are cut; a
transform may drop more. Objects of the wrong shape get in too, as far as they can be named:
a watch never ends because of one bad object.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Struct

from certwright.kube.identity import Key, Resource
from certwright.runtime.entry import Entry, Meta
from certwright.runtime.managedfields import cut, own_entries

Transform: TypeAlias = Callable[[bytes], bytes]
"""Reduces an object's JSON to what a store should keep; must leave the metadata's identity."""


class UnreadableObject(ValueError):
    """Bytes that are no object: broken JSON, or nothing that could be named."""


class Intake:
    """Turns received objects of one kind into entries."""

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
        # Lists of built-in kinds leave these two out of their items.
        kind = orjson.dumps({"kind": resource.kind, "apiVersion": resource.api_version})
        self._type_prefix = kind[:-1] + b","

    def entry(self, raw: bytes) -> Entry:
        """Return the entry of an object.

        Raises:
            UnreadableObject: not JSON, or without a name.
        """
        try:
            envelope = _ENVELOPE.decode(raw)
        except msgspec.ValidationError as error:
            return self._malformed(raw, str(error))
        except msgspec.DecodeError as error:
            raise UnreadableObject(f"{self.resource.kind}: {error}") from error
        meta = envelope.metadata
        if meta.namespace:
            meta.namespace = sys.intern(meta.namespace)
        return self._finish(raw, meta, typed=bool(envelope.kind))

    def written(self, raw: bytes) -> Entry:
        """Return the entry of an object as a write returned it: whole, whatever the store keeps."""
        if self.metadata_only:
            metadata = _METADATA.decode(raw).metadata
            raw = b"".join((_PARTIAL_PREFIX, metadata, b"}"))
        return self.entry(raw)

    def _finish(self, raw: bytes, meta: Meta, *, typed: bool, malformed: str = "") -> Entry:
        managed = meta.managed_fields
        if memoryview(managed):
            # Also lets go of the received bytes, which this value is a view of.
            meta.managed_fields = own_entries(managed, self._managers)
            raw = cut(raw, managed)
        if not typed and not self.metadata_only:
            raw = self._type_prefix + raw.lstrip()[1:]
        if self._transform is not None:
            raw = self._transform(raw)
        return Entry(Key(meta.namespace, meta.name), meta, raw, malformed)

    def _malformed(self, raw: bytes, why: str) -> Entry:
        """Keep what can be read of an object whose metadata has the wrong shape."""
        try:
            loose = _LOOSE.decode(raw)
            fields = {
                name: value
                for name, value in loose.metadata.items()
                if _fits(name, value) and name != "managedFields"
            }
            meta = msgspec.convert(fields, Meta)
        except msgspec.ValidationError as error:
            raise UnreadableObject(f"{self.resource.kind} without a name: {error}") from error
        what, _, path = why.partition(" - at `$.")
        return self._finish(
            raw, meta, typed=bool(loose.kind), malformed=f"{path.rstrip('`')}: {what}"
        )


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


class _Metadata(Struct):
    metadata: msgspec.Raw


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_LOOSE = msgspec.json.Decoder(_Loose)
_METADATA = msgspec.json.Decoder(_Metadata)
_PARTIAL_PREFIX = (
    b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'
)

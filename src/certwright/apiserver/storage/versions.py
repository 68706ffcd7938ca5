"""One stored object, seen through the versions it is served in.

Versions of a CustomResourceDefinition differ in schema only: the object is read in the
version asked for by renaming it and dropping what that version does not know. Defaults are
those of the stored version. Events are the one built-in served from two groups.
"""

import orjson

from certwright.apiserver.kinds.kind import ServedKind, fill_defaults
from certwright.apiserver.storage.eventversions import from_core, to_core
from certwright.apiserver.storage.storage import StoredRecord
from certwright.kube.objects import JsonObject, exact_json


def to_storage(obj: JsonObject, kind: ServedKind, stored: ServedKind) -> JsonObject:
    """Return an object of *kind* as the version that is stored."""
    if kind is stored:
        return obj
    if kind.resource.group != stored.resource.group:
        return to_core(obj)
    renamed = _renamed(obj, stored)
    stored.decode(renamed)
    fill_defaults(renamed, stored)
    return renamed


def view(record: StoredRecord, kind: ServedKind) -> JsonObject:
    """Return the stored object in a served version. It is shared: not to be changed."""
    if record.kind is kind:
        return record.obj
    obj: JsonObject = orjson.loads(render(record, kind))
    return obj


def view_copy(record: StoredRecord, kind: ServedKind) -> JsonObject:
    """Return the stored object in a served version, for the caller to change."""
    obj: JsonObject = orjson.loads(render(record, kind))
    return obj


def render(record: StoredRecord, kind: ServedKind) -> bytes:
    """Return the stored object in a served version, encoded once for all readers."""
    if record.kind is kind:
        return record.raw
    return record.view(kind, lambda: exact_json(_converted(record, kind)))


def _converted(record: StoredRecord, kind: ServedKind) -> JsonObject:
    if kind.resource.group != record.kind.resource.group:
        return from_core(record.copy())
    obj = _renamed(record.copy(), kind)
    if kind.custom:
        kind.decode(obj)
    if kind.resource.version == record.kind.resource.version:
        fill_defaults(obj, kind)  # its definition changed after the object was stored
    return obj


def _renamed(obj: JsonObject, kind: ServedKind) -> JsonObject:
    return {**obj, "apiVersion": kind.resource.api_version}

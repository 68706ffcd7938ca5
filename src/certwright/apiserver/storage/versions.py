"""One stored object, seen through the versions it is served in.

An object is read as its stored version is defined now: pruned, and with the defaults of that
version. Then it is converted to the version asked for, and pruned by that one's schema, which adds
no defaults. Without a webhook, converting changes ``apiVersion`` and nothing else; what a webhook
made of a record is in the record before it comes here (`webhooks.conversions`). Events are the one
built-in served from two groups.
"""

import orjson

from certwright.apiserver.fields.otherversions import OtherVersions
from certwright.apiserver.kinds.kind import ServedKind, fill_defaults
from certwright.apiserver.refusals import Failed
from certwright.apiserver.storage.eventversions import from_core, to_core
from certwright.apiserver.storage.storage import StoredRecord
from certwright.kube.objects import JsonObject, exact_json

_NOT_CONVERTED = "a webhook converts between versions, and has not been asked"


def to_storage(obj: JsonObject, kind: ServedKind, stored: ServedKind) -> JsonObject:
    """Return an object of *kind* as the version that is stored."""
    if kind is stored:
        return obj
    if kind.resource.group != stored.resource.group:
        return to_core(obj)
    converted = _convert(obj, stored)
    fill_defaults(converted, stored)
    return converted


def is_as_stored(record: StoredRecord, kind: ServedKind, stored: ServedKind) -> bool:
    """Return whether an object, written as *kind* shows it, would be stored as it is.

    It would not if another version is stored by now, or if the stored one has new defaults.
    """
    if record.kind is stored or kind.resource.group != stored.resource.group:
        return True
    return to_storage(view_copy(record, kind), kind, stored) == record.obj


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
    if not kind.versions:
        return _convert(record.copy(), kind)
    obj = as_defined(record, kind)
    if record.kind.resource.version == kind.resource.version:
        return obj
    if kind.conversion is not None:
        raise Failed(f"{obj['metadata']['name']}: {_NOT_CONVERTED}")
    return _convert(obj, kind)


def renamed_versions(kind: ServedKind) -> OtherVersions:
    """Return the versions of a kind in which objects have owners; converting renames them."""
    schemas = {each.resource.api_version: each.schema for each in kind.versions.values()}
    return OtherVersions(schemas, lambda obj, version: {**obj, "apiVersion": version})


def as_defined(record: StoredRecord, kind: ServedKind) -> JsonObject:
    """Return a copy of a stored object, as its version is defined along with *kind*."""
    source = kind.versions.get(record.kind.resource.version)
    if source is None:
        found = record.kind.resource.api_version
        raise Failed(f"request to convert CR from an invalid group/version: {found}")
    obj = record.copy()
    if source is not record.kind:
        source.decode(obj)  # its definition changed after the object was stored
        fill_defaults(obj, source)
    return obj


def _convert(obj: JsonObject, kind: ServedKind) -> JsonObject:
    """Return an object in another version of its kind, in the shape of that version."""
    converted = _renamed(obj, kind)
    if kind.custom:
        kind.decode(converted)
    return converted


def _renamed(obj: JsonObject, kind: ServedKind) -> JsonObject:
    return {**obj, "apiVersion": kind.resource.api_version}

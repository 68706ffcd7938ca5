"""ConfigMaps and Secrets that never change: a name that holds a hash of the contents.

A reference to such an object is a reference to exactly these contents; other contents have
another name. Old ones are collected once nothing refers to them any more, see `COLLECTABLE`.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from certwright.api.managedresources import GROUP
from certwright.kube import JsonObject
from certwright.managed.references import CONFIG_MAP, SECRET

COLLECTABLE: Final = f"{GROUP}/garbage-collectable-reference"
"""The label, with the value ``true``, of what may be collected when it is not used."""

UNUSED_SINCE: Final = "resources.certwright.dev/unused-since"
"""The annotation that holds since when nothing uses an object.

A client that is about to use an old object removes it: then the collector waits as if the object
were new.
"""

_SUFFIX: Final = 8


def make_unique(obj: JsonObject, *, by_keys: bool = False) -> JsonObject:
    """Return an immutable, collectable copy of a ConfigMap or Secret, named by its contents.

    The name is the one Gardener's clients compute, from the values alone, in the order of their
    keys: renaming a key, or changing the type of a Secret, does not change it. With *by_keys* it
    does. `certwright.managed.ensure` takes that name when the other is taken. Raises `ValueError`
    if it is neither a ConfigMap nor a Secret, has no name, or a value that is not data.
    """
    contents = contents_of(obj)
    metadata: JsonObject = obj.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        raise ValueError(f"a unique {obj['kind']} needs a name to begin with")
    checksum = _keyed_checksum(obj, contents) if by_keys else content_checksum(contents)
    labels = {**(metadata.get("labels") or {}), COLLECTABLE: "true"}
    joined = f"{name}{'' if name.endswith('-') else '-'}{checksum[:_SUFFIX]}"
    unique = deepcopy(obj)
    unique["metadata"] = {**unique["metadata"], "name": joined, "labels": labels}
    unique["immutable"] = True
    return unique


def contents_of(obj: JsonObject) -> dict[str, bytes]:
    """Return what a ConfigMap or Secret holds, by key, as bytes; `ValueError` if malformed."""
    if obj.get("apiVersion") != "v1" or obj.get("kind") not in {CONFIG_MAP, SECRET}:
        raise ValueError(
            f"{obj.get('apiVersion')} {obj.get('kind')}: neither a v1 ConfigMap nor a v1 Secret"
        )
    if obj["kind"] == SECRET:
        return _texts(obj, "stringData") | _encoded(obj, "data")
    return _texts(obj, "data") | _encoded(obj, "binaryData")


def content_checksum(contents: Mapping[str, bytes]) -> str:
    """Return the hash of values, in the order of their keys, as Gardener computes it."""
    hashes = (hashlib.sha256(contents[key]).hexdigest() for key in sorted(contents))
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def _keyed_checksum(obj: JsonObject, contents: Mapping[str, bytes]) -> str:
    """Return a hash that also covers the keys and the type; no two inputs read the same."""
    lines = [f"{key}:{hashlib.sha256(contents[key]).hexdigest()}" for key in sorted(contents)]
    text = "\n".join([f"type:{obj.get('type') or 'Opaque'}", *lines])
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(obj: JsonObject, field: str) -> dict[str, bytes]:
    return {key: _text(obj, field, key).encode() for key in obj.get(field) or {}}


def _encoded(obj: JsonObject, field: str) -> dict[str, bytes]:
    found = {}
    for key in obj.get(field) or {}:
        try:
            found[key] = base64.b64decode(_text(obj, field, key), validate=True)
        except binascii.Error:
            raise ValueError(f"{obj['kind']}: {field}[{key!r}] is not base64") from None
    return found


def _text(obj: JsonObject, field: str, key: str) -> str:
    value: Any = obj[field][key]
    if not isinstance(value, str):
        raise ValueError(f"{obj['kind']}: {field}[{key!r}] is not text")  # noqa: TRY004 - input
    return value

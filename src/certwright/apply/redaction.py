"""Secret values never leave: not in diffs, not in change sets, not in messages."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Final

from certwright.kube import JsonObject

MASK: Final = "***"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Where ``kubectl apply`` keeps a copy of the manifest, with the values in it."""

_CONFIDENTIAL: Final = ("data", "stringData")
_SHORTEST: Final = 3
"""Shorter values are no secret, and are part of too many words."""


def is_secret(obj: JsonObject) -> bool:
    """Return whether an object is a Secret, in whatever version it is written."""
    return obj.get("kind") == "Secret" and "/" not in str(obj.get("apiVersion") or "")


def is_confidential(path: tuple[str | int, ...]) -> bool:
    """Return whether a field of a Secret holds values, or something that repeats them."""
    return path[:1] in {(name,) for name in _CONFIDENTIAL} or path == (
        "metadata",
        "annotations",
        LAST_APPLIED,
    )


def masked(obj: JsonObject) -> JsonObject:
    """Return an object that may be shown: of Secrets, also in lists, a copy with keys only."""
    items = obj.get("items")
    if isinstance(items, list):
        # The items of a SecretList do not say what they are.
        shown_item = _without_values if obj.get("kind") == "SecretList" else masked
        return obj | {"items": [shown_item(i) if isinstance(i, dict) else i for i in items]}
    return _without_values(obj) if is_secret(obj) else obj


def _without_values(obj: JsonObject) -> JsonObject:
    shown = {name: _hidden(part) if name in _CONFIDENTIAL else part for name, part in obj.items()}
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict) and LAST_APPLIED in annotations:
        shown["metadata"] = metadata | {"annotations": annotations | {LAST_APPLIED: MASK}}
    return shown


def _hidden(values: Any) -> Any:
    if isinstance(values, dict):
        return dict.fromkeys(values, MASK)
    return None if values is None else MASK


def without_values_of(text: str, obj: JsonObject) -> str:
    """Return a text without the values of a Secret it is about: servers quote what they refuse."""
    if not is_secret(obj):
        return text
    values: set[str] = set()
    for name in _CONFIDENTIAL:
        for value in _texts(obj.get(name)):
            values |= {value, _decoded(value)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, MASK)
    return text


def _texts(part: Any) -> Iterator[str]:
    """Yield all values in a part of an object, whatever its shape."""
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        for item in part:
            yield from _texts(item)
    elif part is not None:
        yield str(part)


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return value

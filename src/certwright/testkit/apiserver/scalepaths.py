"""Where a kind keeps what its scale subresource shows."""

from typing import Any

from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.causes import invalid_value
from certwright.testkit.apiserver.gotext import type_name
from certwright.testkit.apiserver.kinds import ServedKind


def value_at(obj: JsonObject, path: str) -> Any:
    """Return the value at a dotted path; None when there is none."""
    value: Any = obj
    for part in _parts(path):
        value = value.get(part) if isinstance(value, dict) else None
    return value if path else None


def assign_at(obj: JsonObject, path: str, value: Any) -> None:
    """Set the value at a dotted path, making the objects on the way."""
    *parents, last = _parts(path)
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value


def scale_causes(obj: JsonObject, kind: ServedKind) -> list[Cause]:
    """Return why a custom resource cannot be scaled: its replicas are no number."""
    if not kind.custom or "scale" not in kind.subresources:
        return []
    path = kind.scale_paths[0]
    field, value = f".{path.removeprefix('.')}", value_at(obj, path)
    if value is None:
        return []
    if isinstance(value, bool) or not isinstance(value, int):
        why = f"{field} accessor error: {value} is of the type {type_name(value)}, expected int64"
        return [invalid_value(field, 0, why)]
    if value < 0:
        return [invalid_value(field, value, "should be a non-negative integer")]
    return []


def _parts(path: str) -> list[str]:
    return path.removeprefix(".").split(".")

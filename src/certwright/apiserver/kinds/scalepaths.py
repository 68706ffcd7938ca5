"""Where a kind keeps what its scale subresource shows."""

from typing import Any

from certwright.apiserver.causes import invalid_value
from certwright.apiserver.gotext import plain, type_name
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject


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


def replica_causes(obj: JsonObject, path: str) -> list[Cause]:
    """Return why a custom resource with replicas at a path cannot be scaled."""
    field, value = f".{path.removeprefix('.')}", value_at(obj, path)
    parent = value_at(obj, path.rpartition(".")[0])
    if parent is not None and not isinstance(parent, dict):
        return [_inaccessible(field, parent, "map[string]interface{}")]
    if value is None:
        return []
    if isinstance(value, bool) or not isinstance(value, int):
        return [_inaccessible(field, value, "int64")]
    if value < 0:
        return [invalid_value(field, value, "should be a non-negative integer")]
    return []


def _inaccessible(field: str, value: Any, expected: str) -> Cause:
    found = f"{plain(value)} is of the type {type_name(value)}"
    return invalid_value(field, 0, f"{field} accessor error: {found}, expected {expected}")


def _parts(path: str) -> list[str]:
    return path.removeprefix(".").split(".")

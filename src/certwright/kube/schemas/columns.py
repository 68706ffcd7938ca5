"""Paths into a schema: printer columns, scale, and fields that can be selected by.

Each names a place such as ``.spec.replicas``. A path that leads nowhere is accepted by the
API server and silently prints nothing, so it is refused here.
"""

from collections.abc import Sequence

from certwright.kube.objects import JsonObject
from certwright.kube.schemas.check import SchemaError
from certwright.kube.schemas.definition import Column, Scale

_SELECTABLE = {"string", "boolean", "integer"}
_MAX_SELECTABLE = 8


def printer_columns(columns: Sequence[Column], schema: JsonObject) -> list[JsonObject]:
    """Return the columns of ``kubectl get``; Age comes last unless it was placed elsewhere.

    Without this, Kubernetes would show no Age as soon as there are other columns.
    """
    if all(column.name.lower() != "age" for column in columns):
        columns = [*columns, Column("Age", ".metadata.creationTimestamp", "date")]
    return [_printer_column(column, schema) for column in columns]


def scale_paths(scale: Scale, schema: JsonObject) -> JsonObject:
    """Return the scale subresource; `SchemaError` if a path is misplaced, or leads nowhere."""
    places = {
        "specReplicasPath": (scale.spec_replicas, (".spec.",), "integer"),
        "statusReplicasPath": (scale.status_replicas, (".status.",), "integer"),
        "labelSelectorPath": (scale.selector, (".spec.", ".status."), "string"),
    }
    written = {}
    for name, (path, roots, kind) in places.items():
        if not path and name == "labelSelectorPath":
            continue
        if not path.startswith(roots) or _find(path, schema).get("type") != kind:
            raise SchemaError(path, f"{name} must be an {kind} field under {' or '.join(roots)}")
        written[name] = path
    return written


def selectable_fields(paths: Sequence[str], schema: JsonObject) -> list[JsonObject]:
    """Return the fields that selectors may name; `SchemaError` if a path cannot be selected by."""
    if len(paths) > _MAX_SELECTABLE:
        raise SchemaError(paths[-1], f"only {_MAX_SELECTABLE} fields can be selectable")
    for path in paths:
        if path.startswith(".metadata") or _find(path, schema).get("type") not in _SELECTABLE:
            raise SchemaError(path, "only texts, booleans and integers can be selected by")
    return [{"jsonPath": path} for path in paths]


def _printer_column(column: Column, schema: JsonObject) -> JsonObject:
    written: JsonObject = {
        "name": column.name,
        "type": column.type or _column_type(column.path, schema),
        "jsonPath": column.path,
    }
    if column.description:
        written["description"] = column.description
    if column.priority:
        written["priority"] = column.priority
    return written


def _column_type(path: str, schema: JsonObject) -> str:
    if "[" in path or path.startswith(".metadata."):
        return "date" if path.endswith("Timestamp") else "string"
    found = _find(path, schema)
    if found.get("format") == "date-time":
        return "date"
    kind = found.get("type")
    return kind if kind in {"integer", "number", "boolean"} else "string"


def _find(path: str, schema: JsonObject) -> JsonObject:
    """Return the schema of the field a path leads to."""
    if not path.startswith("."):
        raise SchemaError(path, "a path starts with a dot, such as .spec.replicas")
    place = schema
    for name in path[1:].split("."):
        if place.get("x-kubernetes-preserve-unknown-fields"):
            return {}
        inner = place.get("properties", {}).get(name) or place.get("additionalProperties")
        if not isinstance(inner, dict):
            raise SchemaError(path, f"there is no field {name!r}")
        place = inner
    return place

"""Objects as rows: what ``kubectl get`` prints."""

from datetime import datetime
from typing import Any, Final

import orjson

from certwright.apiserver.gotext import age
from certwright.apiserver.http.jsonpath import find
from certwright.apiserver.kinds.kind import PrinterColumn, ServedKind
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.kube.timestamps import parse_time

META: Final = "meta.k8s.io/v1"
_NAME: Final = PrinterColumn(
    "Name", ".metadata.name", format="name", description="The name, unique within a namespace."
)
_AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
_CREATED: Final = PrinterColumn("Created At", ".metadata.creationTimestamp", "date")


def table_of(
    kind: ServedKind, objects: list[JsonObject], include: str, now: datetime
) -> JsonObject:
    """Return a ``Table`` of objects; *include* is None, Metadata (default) or Object."""
    if include not in {"", "None", "Metadata", "Object"}:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    columns = columns_of(kind)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": {},
        "columnDefinitions": [_definition(column, kind) for column in columns],
        "rows": [
            {"cells": [_cell(column, obj, now) for column in columns], **_object(obj, include)}
            for obj in objects
        ],
    }


def columns_of(kind: ServedKind) -> tuple[PrinterColumn, ...]:
    """Return the columns of a kind; the name always comes first."""
    columns = kind.columns
    if not columns:
        return (_NAME, _AGE if kind.custom else _CREATED)
    return columns if any(c.format == "name" for c in columns) else (_NAME, *columns)


def _definition(column: PrinterColumn, kind: ServedKind) -> JsonObject:
    # Built-in kinds announce ages as the text they are sent as.
    is_text = column.type == "date" and not kind.custom and column is not _CREATED
    return {
        "name": column.name,
        "type": "string" if is_text else column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _cell(column: PrinterColumn, obj: JsonObject, now: datetime) -> Any:
    if column.value is not None:
        value = column.value(obj)
    else:
        value = next(iter(find(obj, column.json_path)), None)
    if column.type == "date" and column is not _CREATED:
        return _since(value, now)
    if value is None and column.format == "name":
        return ""  # bookmarks have no name
    if value is None or column.value is not None:
        return value
    if column.type == "string" and not isinstance(value, str):
        return orjson.dumps(value).decode()
    if column.type == "integer" and isinstance(value, float):
        return int(value)
    return value


def _since(value: Any, now: datetime) -> str:
    if not isinstance(value, str):
        return "<unknown>"
    try:
        return age(parse_time(value), now)
    except ValueError:
        return value


def _object(obj: JsonObject, include: str) -> JsonObject:
    if include == "None":
        return {"object": None}
    if include == "Object":
        return {"object": obj}
    return {"object": metadata_of(obj)}


def metadata_of(obj: JsonObject) -> JsonObject:
    """Return an object's metadata in the form clients can ask for."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}

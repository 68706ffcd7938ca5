"""Objects as rows: what ``kubectl get`` prints."""

from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from certwright.apiserver.http.jsonpath import find
from certwright.apiserver.storage.kinds import Column, ServedKind
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.kube.timestamps import parse_time

_NAME: Final = Column(
    "Name", ".metadata.name", format="name", description="The name, unique within a namespace."
)
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_CREATED: Final = Column("Created At", ".metadata.creationTimestamp", "date")

_AGES: Final = (
    # up to, large unit, small unit (shown unless zero)
    (timedelta(minutes=2), "s", ""),
    (timedelta(minutes=10), "m", "s"),
    (timedelta(hours=3), "m", ""),
    (timedelta(hours=8), "h", "m"),
    (timedelta(hours=48), "h", ""),
    (timedelta(days=8), "d", "h"),
    (timedelta(days=730), "d", ""),
    (timedelta(days=2920), "y", "d"),
    (timedelta.max, "y", ""),
)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}


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
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [_definition(column, kind) for column in columns],
        "rows": [
            {"cells": [_cell(column, obj, now) for column in columns], **_object(obj, include)}
            for obj in objects
        ],
    }


def columns_of(kind: ServedKind) -> tuple[Column, ...]:
    """Return the columns of a kind; the name always comes first."""
    columns = kind.columns
    if not columns:
        return (_NAME, _AGE if kind.custom else _CREATED)
    return columns if any(c.format == "name" for c in columns) else (_NAME, *columns)


def age(created: datetime, now: datetime) -> str:
    """Return how long ago something was, as kubectl shortens it."""
    elapsed = now - created
    if elapsed < timedelta(0):
        return "<invalid>" if elapsed < timedelta(seconds=-1) else "0s"
    large, small = next((large, small) for limit, large, small in _AGES if elapsed < limit)
    seconds = int(elapsed.total_seconds())
    count, rest = divmod(seconds, _SECONDS[large])
    rest = rest // _SECONDS[small] if small else 0
    return f"{count}{large}{rest}{small}" if rest else f"{count}{large}"


def _definition(column: Column, kind: ServedKind) -> JsonObject:
    # Built-in kinds announce ages as the text they are sent as.
    is_text = column.type == "date" and not kind.custom and column is not _CREATED
    return {
        "name": column.name,
        "type": "string" if is_text else column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _cell(column: Column, obj: JsonObject, now: datetime) -> Any:
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
    return {
        "object": {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }
    }

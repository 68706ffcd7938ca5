"""Nulls in custom resources: which of them mean nothing."""

from typing import Any

import orjson

from certwright.apiserver.schema.schema import CONTAINERS, UNSET, Schema


def drop_nulls(value: Any, schema: Schema) -> None:
    """Drop nulls of fields that may not be null and have no default, in place.

    The server reads what clients send so. Nulls in an applied configuration stay, to be
    refused by validation.
    """
    if _may_hold_null(value):
        _drop(value, schema)


def _may_hold_null(value: Any) -> bool:
    """Return whether a search is worth its time, of which it takes ten times as much as this."""
    try:
        return b"null" in orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True


def _drop(value: Any, schema: Schema) -> None:
    if isinstance(value, dict):
        for name, child in list(value.items()):
            node = schema.properties.get(name, schema.additional)
            if node is None:
                continue
            if child is None:
                if not node.nullable and node.default is UNSET:
                    del value[name]
            elif isinstance(child, CONTAINERS):
                _drop(child, node)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            if isinstance(item, CONTAINERS):
                _drop(item, schema.items)

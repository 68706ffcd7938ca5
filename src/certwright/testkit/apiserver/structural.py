"""Defaults and pruning along a `Schema`: what happens to an object before it is validated.

Both walk the value, never the schema alone, so cyclic schemas are fine. `certwright.testkit
.apiserver.constraints` holds the rules a value must keep.
"""

import copy
from typing import Any

from certwright.testkit.apiserver.schema import UNSET, Schema

_EMBEDDED = frozenset({"apiVersion", "kind", "metadata"})


def default(value: Any, schema: Schema) -> None:
    """Fill in missing fields that have defaults, in place and at every depth.

    A null is missing where the schema is not nullable: it is replaced by the default, or
    dropped. Defaults are themselves defaulted.
    """
    if isinstance(value, dict):
        for name, node in schema.defaulted():
            if name not in value or (value[name] is None and not node.nullable):
                value[name] = copy.deepcopy(node.default)
        _default_children(value, schema)
    elif isinstance(value, list) and schema.items is not None:
        items = schema.items
        for index, item in enumerate(value):
            if item is None and items.default is not UNSET and not items.nullable:
                value[index] = copy.deepcopy(items.default)
            elif isinstance(item, dict | list):
                default(item, items)


def _default_children(value: dict[str, Any], schema: Schema) -> None:
    nulls = []
    for name, child in value.items():
        if isinstance(child, dict | list):
            node = schema.properties.get(name, schema.additional)
            if node is not None:
                default(child, node)
        elif child is None:
            nulls.append(name)
    for name in nulls:
        node = schema.properties.get(name, schema.additional)
        if node is None or node.nullable or not node.type:
            continue
        if node.default is UNSET:
            del value[name]
        else:
            value[name] = copy.deepcopy(node.default)


def prune(value: Any, schema: Schema, path: str = "") -> list[str]:
    """Drop fields the schema does not know, in place; return their paths."""
    dropped: list[str] = []
    _prune(value, schema, path, dropped)
    return dropped


def _prune(value: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    if isinstance(value, dict):
        unknown = []
        for name, child in value.items():
            node = schema.properties.get(name)
            if node is None and schema.embedded_resource and name in _EMBEDDED:
                continue
            if node is None:
                node = schema.additional
            if node is not None:
                if isinstance(child, dict | list):
                    _prune(child, node, f"{path}.{name}" if path else name, dropped)
            elif not schema.preserve_unknown:
                unknown.append(name)
        for name in unknown:
            del value[name]
            dropped.append(f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        if schema.items is None:
            return
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                _prune(item, schema.items, f"{path}[{index}]", dropped)


def drop_nulls(value: Any, schema: Schema) -> None:
    """Drop nulls of fields that may not be null and have no default, in place.

    The server reads what clients send so; a null that apply makes of a field stays, to be
    refused by validation.
    """
    if isinstance(value, dict):
        for name, child in list(value.items()):
            node = schema.properties.get(name, schema.additional)
            if node is None:
                continue
            if child is None:
                if not node.nullable and node.default is UNSET:
                    del value[name]
            elif isinstance(child, dict | list):
                drop_nulls(child, node)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            if isinstance(item, dict | list):
                drop_nulls(item, schema.items)

"""Defaults and pruning along a `Schema`: what happens to an object before it is validated.

Both walk the value, never the schema alone, so cyclic schemas are fine. `certwright.testkit
.apiserver.constraints` holds the rules a value must keep.
"""

import copy
from typing import Any

from certwright.apiserver.schema.schema import CONTAINERS, UNSET, Schema

_EMBEDDED = frozenset({"apiVersion", "kind", "metadata"})


def default(value: Any, schema: Schema) -> None:
    """Fill in missing fields that have defaults, in place and at every depth.

    A null is missing where the schema is not nullable; defaults are themselves defaulted.
    """
    if not schema.has_defaults_below():
        return
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
            elif isinstance(item, CONTAINERS):
                default(item, items)


def _default_children(value: dict[str, Any], schema: Schema) -> None:
    for name, child in value.items():
        if child is not None and not isinstance(child, CONTAINERS):
            continue
        node = schema.properties.get(name, schema.additional)
        if node is None:
            continue
        if child is not None:
            default(child, node)
        elif node.default is not UNSET and not node.nullable:
            value[name] = copy.deepcopy(node.default)


def prune(value: Any, schema: Schema, path: str = "") -> list[str]:
    """Drop fields the schema does not know, in place; return their paths."""
    dropped: list[str] = []
    if isinstance(value, CONTAINERS):
        _prune(value, schema, path, dropped)
    return dropped


def _prune(value: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    if isinstance(value, dict):
        unknown = []
        for name, child in value.items():
            node = schema.properties.get(name, schema.additional)
            if node is None:
                if not _is_kept(name, schema):
                    unknown.append(name)
            elif isinstance(child, CONTAINERS):
                _prune(child, node, f"{path}.{name}" if path else name, dropped)
        for name in unknown:
            del value[name]
            dropped.append(f"{path}.{name}" if path else name)
    elif schema.items is not None:
        for index, item in enumerate(value):
            if isinstance(item, CONTAINERS):
                _prune(item, schema.items, f"{path}[{index}]", dropped)


def _is_kept(name: str, schema: Schema) -> bool:
    return schema.preserve_unknown or (schema.embedded_resource and name in _EMBEDDED)

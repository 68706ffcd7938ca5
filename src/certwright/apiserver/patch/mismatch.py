"""Why a patched object does not fit the Go struct it is read into.

A strategic merge patch is worked out on maps, which are then copied into the struct by other
code than reads JSON, with other words for what does not fit.
"""

from typing import Any

from certwright.apiserver.builtins.decode import Unreadable, read_bytes
from certwright.apiserver.schema.schema import Schema

_KINDS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_GO_KINDS = {"string": "string", "boolean": "bool", "number": "float64"}


def type_mismatch(value: Any, schema: Schema) -> str:
    """Return what is wrong with the first value of a wrong type; empty if nothing is."""
    if value is None or schema.preserve_unknown:
        return ""
    if schema.type == "object":
        return _in_object(value, schema)
    if schema.type == "array":
        if not isinstance(value, list):
            return f"cannot restore slice from {_KINDS[type(value)]}"
        children = ((item, schema.items) for item in value)
        return next(
            (why for item, node in children if node and (why := type_mismatch(item, node))), ""
        )
    return _in_scalar(value, schema)


def _in_object(value: Any, schema: Schema) -> str:
    if not isinstance(value, dict):
        found = _KINDS[type(value)]
        known = schema.additional is not None
        return (
            f"cannot restore map from {found}" if known else f"cannot restore struct from: {found}"
        )
    for name, child in value.items():
        node = schema.properties.get(name, schema.additional)
        if node is not None and (why := type_mismatch(child, node)):
            return why
    return ""


def _in_scalar(value: Any, schema: Schema) -> str:
    if schema.int_or_string or schema.format in {"quantity", "date-time"}:
        return ""  # these read themselves, and say so in their own words
    if schema.format == "byte" and isinstance(value, str):
        try:
            read_bytes(value)
        except Unreadable as error:
            return f"error decoding from json: {error}"
        return ""
    wanted = _GO_KINDS.get(schema.type, schema.format)
    found = _KINDS[type(value)]
    if found == wanted or (found == "int64" and wanted in {"int32", "float64"}):
        return ""
    numbers = {"int32", "int64", "float64"}
    if (found, wanted) == ("int64", "string") or (found in numbers and wanted in numbers):
        return f"cannot convert {found} to {wanted}"
    return f"unrecognized type: {wanted}"

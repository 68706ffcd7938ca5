"""Reads objects of built-in kinds the way Go structs are filled from JSON.

Unknown fields are dropped and reported; null means absent; empty values of fields that
are not pointers are left out; times and quantities get their canonical form. A value of
the wrong JSON type makes the whole object unreadable.
"""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

import orjson

from certwright.apiserver.schema.schema import CONTAINERS, Schema
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.kube.quantities import Quantity
from certwright.kube.timestamps import format_micro_time, format_time, parse_time

DEPTH_LIMIT = 200
"""Deeper objects than any kind has, and shallower than Python's stack."""

_GO_TYPES = {"boolean": "bool", "string": "string", "number": "float64"}
_FRACTION = re.compile(r"(.*T[0-9:]+)((?:\.\d+)?)(Z|[+-]\d\d:\d\d)")
_INT_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}


class Unreadable(ValueError):
    """A value that does not fit its Go type."""


def decoder(schema: Schema, kind: str, version: str) -> Callable[[JsonObject], list[str]]:
    """Return the `decode` hook of a built-in kind."""
    read = reader(schema, kind, version)

    def decode(obj: JsonObject) -> list[str]:
        check_depth(obj)
        return read(obj)

    return decode


def reader(schema: Schema, kind: str, version: str) -> Callable[[JsonObject], list[str]]:
    """Return what reads an object, or a part of one, that is known not to be too deep."""

    def read(obj: JsonObject) -> list[str]:
        unknown: list[str] = []
        try:
            _struct(obj, schema, ("", ""), unknown)
        except Unreadable as error:
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            ) from None
        return unknown

    return read


def check_depth(value: Any) -> None:
    """Refuse values nested deeper than `DEPTH_LIMIT` with `BadRequest`."""
    if _is_small(value):
        return
    level = [value]
    for _ in range(DEPTH_LIMIT):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, CONTAINERS)
        ]
        if not level:
            return
    raise BadRequest("error decoding JSON: exceeded max depth")


def _is_small(value: Any) -> bool:
    """Return whether a value has fewer containers than levels are allowed, as nearly all have."""
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return text.count(b"{") + text.count(b"[") <= DEPTH_LIMIT


_Where = tuple[str, str]
"""The path with indexes, for unknown fields, and the one Go names in errors, without."""


def _struct(value: Any, schema: Schema, where: _Where, unknown: list[str]) -> None:
    path, fields = where
    struct = schema.name.rpartition(".")[2]
    for name in list(value):
        node = schema.properties.get(name)
        full = f"{path}.{name}" if path else name
        if node is None:
            unknown.append(full)
            del value[name]
            continue
        inner = (full, f"{fields}.{name}" if fields else name)
        decoded = _decode(value[name], node, inner, unknown, struct)
        if decoded is None or (
            not decoded and not node.optional and name not in schema.required
            and _left_out_when_empty(node)
        ):  # fmt: skip
            del value[name]
        else:
            value[name] = decoded


def _left_out_when_empty(node: Schema) -> bool:
    if node.int_or_string or node.preserve_unknown or node.format == "quantity":
        return False
    return node.type != "object" or node.additional is not None


def _decode(value: Any, node: Schema, where: _Where, unknown: list[str], struct: str) -> Any:
    """Return the value as Go would write it back, or None for null."""
    if value is None or node.preserve_unknown:
        return value
    if type(value) is str and node.type == "string" and not node.format:
        return value  # as most are
    match node.type:
        case "object" if isinstance(value, dict):
            if node.additional is None:
                _struct(value, node, where, unknown)
                return value
            return _map(value, node.additional, where, unknown, struct)
        case "array" if isinstance(value, list) and node.items is not None:
            return _list(value, node.items, where, unknown, struct)
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" | "number" if _is_number(value):
            return _integer(value, node, where, struct) if node.type == "integer" else value
        case "string":
            return _string(value, node, where, struct)
    raise _mismatch(value, node, where, struct)


def _map(
    value: JsonObject, node: Schema, where: _Where, unknown: list[str], struct: str
) -> JsonObject:
    for key, child in value.items():
        inner = (f"{where[0]}.{key}", where[1])
        decoded = _decode(child, node, inner, unknown, struct)
        value[key] = _zero(node) if decoded is None else decoded
    return value


def _list(
    value: list[Any], node: Schema, where: _Where, unknown: list[str], struct: str
) -> list[Any]:
    for index, child in enumerate(value):
        inner = (f"{where[0]}[{index}]", where[1])
        decoded = _decode(child, node, inner, unknown, struct)
        value[index] = _zero(node) if decoded is None else decoded
    return value


def _zero(node: Schema) -> Any:
    """Return what Go makes of a null inside a list or map."""
    if node.format in {"quantity", "date-time"}:
        return "0" if node.format == "quantity" else None
    zeros: dict[str, Any] = {"string": "", "integer": 0, "boolean": False, "array": []}
    return {} if node.type == "object" else zeros.get(node.type)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: float, node: Schema, where: _Where, struct: str) -> int:
    limit = _INT_LIMITS[node.format]
    if not float(value).is_integer() or not -limit <= value < limit:
        raise _mismatch(value, node, where, struct, number=f"number {value}")
    return int(value)


def _string(value: Any, node: Schema, where: _Where, struct: str) -> Any:
    if node.format == "quantity" and (isinstance(value, str) or _is_number(value)):
        return _quantity(value)
    if node.int_or_string and isinstance(value, int) and not isinstance(value, bool):
        return _integer(value, Schema(format="int32"), where, struct)
    if not isinstance(value, str):
        raise _mismatch(value, node, where, struct)
    if node.format == "date-time":
        return _time(value, micro=node.name.endswith("MicroTime"))
    if node.format == "byte":
        return read_bytes(value)
    return value


def _quantity(value: Any) -> str:
    try:
        return str(Quantity.parse(value))
    except ValueError:
        raise Unreadable(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def _time(value: str, *, micro: bool) -> str | None:
    if not value:
        return None
    layout = f"2006-01-02T15:04:05{'.000000' if micro else ''}Z07:00"
    fraction = _FRACTION.fullmatch(value)
    problem = f'"{value}" as "2006"'
    # Six decimals, no fewer: Go's layout is taken literally when it is read.
    if micro and fraction and len(fraction[2]) != 7:
        rest = f"{fraction[2][7:]}{fraction[3]}"
        problem = f'"{rest}" as "Z07:00"' if len(fraction[2]) > 7 else f'"{rest}" as ".000000"'
    else:
        try:
            instant = parse_time(value)
            return format_micro_time(instant) if micro else format_time(instant)
        except ValueError:
            pass
    raise Unreadable(f'parsing time "{value}" as "{layout}": cannot parse {problem}')


def read_bytes(value: str) -> str:
    """Return base64 as Go would write it; `Unreadable` if it is none."""
    compact = value.replace("\n", "").replace("\r", "")
    try:
        decoded = base64.b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        good = 0
        while good < len(compact) and (compact[good].isalnum() or compact[good] in "+/"):
            good += 1
        raise Unreadable(f"illegal base64 data at input byte {good}") from None
    return base64.b64encode(decoded).decode()


def _mismatch(
    value: Any, node: Schema, where: _Where, struct: str, number: str = "number"
) -> Unreadable:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    found = kinds.get(type(value), number)
    return Unreadable(
        f"json: cannot unmarshal {found} into Go struct field {struct}.{where[1]} "
        f"of type {_go_type(node)}"
    )


def _go_type(node: Schema) -> str:
    if node.type == "array" and node.items is not None:
        return f"[]{_go_type(node.items)}"
    if node.additional is not None:
        return f"map[string]{_go_type(node.additional)}"
    if node.type == "object":
        return f"v1.{node.name.rpartition('.')[2]}"
    return _GO_TYPES.get(node.type, node.format)

"""Request bodies in protobuf, which kubectl prefers for built-in kinds, read as JSON.

Only reading: answers are JSON, which every client accepts. The shapes of the kinds say what
the fields hold; ``messages.numbers`` says which number belongs to which field.
"""

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

from certwright.apiserver.builtins import definition_name, definitions
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import BadRequest
from certwright.kube.objects import GroupVersionKind, JsonObject, Resource
from certwright.kube.timestamps import format_micro_time, format_time

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"

_MAGIC: Final = b"k8s\0"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT: Final = 10

Table = dict[int, str]
"""The field of each number; an embedded message as ``@`` and its full name."""


def to_json(body: bytes) -> bytes:
    """Return a protobuf body as JSON; `BadRequest` if it is malformed, or its kind not built in."""
    try:
        if not body.startswith(_MAGIC):
            raise ValueError("the body does not begin as Kubernetes protobuf does")
        envelope = dict(_fields(body[len(_MAGIC) :]))
        named = dict(_fields(envelope.get(1, b"")))
        api_version, kind = named.get(1, b"").decode(), named.get(2, b"").decode()
        schema = _schema_of(api_version, kind)
        obj = {"apiVersion": api_version, "kind": kind}
        return orjson.dumps(obj | _message(envelope.get(2, b""), schema, schema.name))
    except (ValueError, KeyError, AttributeError, struct.error) as error:
        raise BadRequest(f"error decoding protobuf: {error}") from None


def _schema_of(api_version: str, kind: str) -> Schema:
    if kind == "DeleteOptions":
        return definitions()[f"{_META}.DeleteOptions"]
    gvk = GroupVersionKind.parse(api_version, kind)
    name = definition_name(Resource(gvk.group, gvk.version, gvk.kind, ""))
    if name not in definitions():
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}"')
    return definitions()[name]


@cache
def _tables() -> dict[str, Table]:
    """Read ``messages.numbers``."""
    text = files(__package__).joinpath("messages.numbers").read_text("utf-8")
    tables: dict[str, Table] = {}
    section = ""
    table: Table = {}
    for line in text.splitlines():
        if line.startswith("== "):
            section = line.removeprefix("== ")
        elif line and not line.startswith("#"):
            words = line.split()
            if not line.startswith(" "):
                table = tables.setdefault(f"{section}.{words.pop(0).removesuffix(':')}", {})
                number = 1
            for word in words:
                if word.startswith("="):
                    number = int(word[1:])
                    continue
                if word.startswith("@") and "." not in word:
                    table[number] = f"@{section}.{word[1:]}"
                elif word != "-":
                    table[number] = word
                number += 1
    return tables


def _message(data: bytes, schema: Schema, name: str) -> JsonObject:
    table = _tables().get(name, {})
    obj: JsonObject = {}
    for number, value in _fields(data):
        field = table.get(number, "")
        if field.startswith("@"):
            obj |= _message(value, schema, field[1:])
            continue
        node = schema.properties.get(field)
        if node is None:
            continue
        if node.type == "array":
            assert node.items is not None
            obj.setdefault(field, []).append(_value(value, node.items))
        elif node.additional is not None:
            entry = dict(_fields(value))
            key = entry.get(1, b"").decode()
            obj.setdefault(field, {})[key] = _value(entry.get(2, b""), node.additional)
        else:
            obj[field] = _value(value, node)
    return obj


def _value(value: Any, node: Schema) -> Any:
    """Return one value; lists inside maps are wrapped in messages of their own."""
    if node.preserve_unknown:
        raw = dict(_fields(value)).get(1, b"")
        return orjson.loads(raw) if raw else None
    match node.type:
        case "boolean":
            return bool(value)
        case "integer":
            return value if value < 1 << 63 else value - (1 << 64)
        case "number":
            return struct.unpack("<d", struct.pack("<Q", value))[0]
        case "array":
            assert node.items is not None
            return [_value(item, node.items) for _, item in _fields(value)]
        case "object":
            return _message(value, node, node.name)
    return _text(value, node)


def _text(value: bytes, node: Schema) -> Any:
    if node.int_or_string:
        parts = dict(_fields(value))
        is_text = parts.get(1, 0) == 1
        number = parts.get(2, 0)
        return parts.get(3, b"").decode() if is_text else number - (number >> 63 << 64)
    match node.format:
        case "quantity":
            return dict(_fields(value)).get(1, b"").decode()
        case "byte":
            return base64.b64encode(value).decode()
        case "date-time":
            return _time(dict(_fields(value)), node)
    return value.decode()


def _time(parts: dict[int, Any], node: Schema) -> str | None:
    seconds = parts.get(1, 0)
    seconds -= seconds >> 63 << 64
    nanoseconds = parts.get(2, 0)
    if not seconds and not nanoseconds:
        return None
    instant = _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    is_micro = node.name.endswith(".MicroTime")
    return format_micro_time(instant) if is_micro else format_time(instant)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of every field: integers, or bytes for what has a length."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == _BYTES:
            length, position = _varint(data, position)
        elif wire_type in {_FIXED32, _FIXED64}:
            length = 4 if wire_type == _FIXED32 else 8
        else:
            raise ValueError(f"unknown wire type {wire_type}")
        if position + length > len(data):
            raise ValueError("the body ends in the middle of a field")
        piece = data[position : position + length]
        yield number, piece if wire_type == _BYTES else int.from_bytes(piece, "little")
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for count in range(_LONGEST_VARINT):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, position
    raise ValueError("the body ends in the middle of a number")

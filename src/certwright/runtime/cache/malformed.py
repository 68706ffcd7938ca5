"""Objects of an unusual shape: slower ways to read what is usually read in one pass."""

import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct

S = TypeVar("S", bound=Struct)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]')


def fitting(metadata: dict[str, Any], kind: type[S]) -> tuple[S, str]:
    """Return the metadata without fields of the wrong type, and what is wrong with the first."""
    given = {name: value for name, value in metadata.items() if value is not None}
    given.pop("managedFields", None)  # its JSON is wanted, not its value
    try:
        return msgspec.convert(given, kind), ""  # nulls were all that was unusual
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        rest = {name: value for name, value in given.items() if _fits(name, value, kind)}
        return msgspec.convert(rest, kind), f"metadata{path.rstrip('`')}: {what}"


def _fits(name: str, value: Any, kind: type[Struct]) -> bool:
    try:
        msgspec.convert({"name": "", name: value}, kind)
    except msgspec.ValidationError:
        return False
    return True


def without_managed_fields(raw: bytes) -> bytes:
    """Return an object's JSON without managedFields, wherever and however often they stand."""
    pieces: list[bytes] = []
    copied = 0
    for key, start, end in _members(raw, 0):
        if key != "metadata" or raw[start : start + 1] != b"{":
            continue
        kept = []
        for name, value_start, value_end in _members(raw, start):
            if name != "managedFields":
                kept.append(orjson.dumps(name) + b":" + raw[value_start:value_end])
        pieces += (raw[copied:start], b"{", b",".join(kept), b"}")
        copied = end
    pieces.append(raw[copied:])
    return b"".join(pieces)


def _members(raw: bytes, position: int) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of each value of the object that opens at *position*."""
    depth = 0
    name: str | None = None
    value_start = 0
    for token in _TOKEN.finditer(raw, position):
        text = token.group()
        if depth == 1 and name is None and text[:1] == b'"':
            name = orjson.loads(text)
            value_start = _skip(raw, _skip(raw, token.end()) + 1)  # over the colon
        elif text in b"{[":
            depth += 1
        elif text in b"}],":
            if depth == 1 and name is not None:
                yield name, value_start, _skip_back(raw, token.start())
                name = None
            if text != b",":
                depth -= 1
                if depth == 0:
                    return


def _skip(raw: bytes, position: int) -> int:
    while raw[position] in b" \t\r\n":
        position += 1
    return position


def _skip_back(raw: bytes, position: int) -> int:
    while raw[position - 1] in b" \t\r\n":
        position -= 1
    return position

"""JSON as bytes: how deep it is, and where its members stand, without decoding it.

API servers store objects of up to 10,000 levels. Decoders, and functions that walk through an
object, end at about a thousand, each Python and each library elsewhere. So what is nested deeper
than `MAX_DEPTH` need not be read. managedFields are cut out first: any user who may write an
object may nest them at will, and without them the object is like others.

Nothing here recurses deeply. Bytes that are not JSON give useless results, or `ValueError`.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

import msgspec
import orjson
from msgspec import Struct, field

MAX_DEPTH = 200
"""How many levels of objects and lists are read. Definitions, the deepest objects people write,
have some sixty."""

_STEPS = bytes.maketrans(b"{[}]", b"\x01\x01\xff\xff")
"""Up one level, or down one, as signed bytes."""
_NOT_OPENING = bytes(set(range(256)) - set(b"{["))
_OTHERS = bytes(set(range(256)) - set(b'{}[]"'))


def is_deep(raw: bytes, limit: int = MAX_DEPTH) -> bool:
    """Return whether a document is nested deeper than *limit* levels."""
    if len(raw) <= 2 * limit or len(raw.translate(None, _NOT_OPENING)) <= limit:
        return False  # most documents have fewer brackets than that
    return max(_depths(_brackets(raw)), default=0) > limit


def members(raw: bytes, position: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of each value of the object that opens at *position*."""
    position = _skip(raw, _after(raw, position, b"{"))
    while raw[position] != _CLOSING_BRACE:
        found = _string(raw, position)
        if found is None:
            raise ValueError(_NOT_JSON)
        start = _skip(raw, _after(raw, found.end(), b":"))
        end = _value_end(raw, start)
        yield orjson.loads(found.group()), start, end
        position = _skip(raw, end)
        if raw[position] == _COMMA:
            position = _skip(raw, position + 1)


def elements(raw: bytes, position: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each value of the list that opens at *position*."""
    position = _skip(raw, _after(raw, position, b"["))
    while raw[position] != _CLOSING_BRACKET:
        end = _value_end(raw, position)
        yield position, end
        position = _skip(raw, end)
        if raw[position] == _COMMA:
            position = _skip(raw, position + 1)


def shallow(raw: bytes) -> bytes:
    """Return an object's JSON as it is, or if it is deep without managedFields."""
    return without_managed_fields(raw) if is_deep(raw) else raw


def without_managed_fields(raw: bytes) -> bytes:
    """Return an object's JSON without managedFields, wherever and however often they stand."""
    pieces: list[bytes] = []
    copied = 0
    for key, start, end in members(raw):
        if key != "metadata" or raw[start : start + 1] != b"{":
            continue
        kept = [
            orjson.dumps(name) + b":" + raw[value_start:value_end]
            for name, value_start, value_end in members(raw, start)
            if name != "managedFields"
        ]
        pieces += (raw[copied:start], b"{", b",".join(kept), b"}")
        copied = end
        if raw.find(b'"managedFields"', end) < 0:
            break  # what follows the metadata may be long
    pieces.append(raw[copied:])
    return b"".join(pieces)


def identity(raw: bytes) -> bytes:
    """Return what names an object that is too deep: flat metadata, and what is before them.

    That is apiVersion and kind, if the server does not leave them out, as it does in lists.
    """
    kept = []
    for name, start, end in members(raw):
        if name == "metadata" and raw[start : start + 1] == b"{":
            value = b"{" + b",".join(_flat_members(raw, start)) + b"}"
        elif name in {"apiVersion", "kind"} and raw[start : start + 1] == b'"':
            value = raw[start:end]
        else:
            continue
        kept.append(orjson.dumps(name) + b":" + value)
        if name == "metadata":
            break
    return b"{" + b",".join(kept) + b"}"


def _flat_members(raw: bytes, position: int) -> Iterator[bytes]:
    for name, start, end in members(raw, position):
        if name != "managedFields" and not is_deep(value := raw[start:end]):
            yield orjson.dumps(name) + b":" + value


def _brackets(raw: bytes) -> bytes:
    """Return the brackets of a document, or of its beginning, without those in texts."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = raw.translate(None, _OTHERS).replace(b'""', b"")
    return b"".join(brackets.split(b'"')[::2]) if b'"' in brackets else brackets


def _depths(brackets: bytes) -> Iterator[int]:
    """Return on which level one is after each bracket."""
    return accumulate(memoryview(brackets.translate(_STEPS)).cast("b"))


def _value_end(raw: bytes, start: int) -> int:
    """Return where the value that begins at *start* ends."""
    first = raw[start : start + 1]
    if first in {b"{", b"["}:
        return _closing(raw, start) + 1
    found = _string(raw, start) if first == b'"' else _plain(raw, start)
    if found is None:
        raise ValueError(_NOT_JSON)
    return found.end()


def _closing(raw: bytes, start: int) -> int:
    """Return where the bracket that opens at *start* is closed. Takes time like its contents."""
    size = _WINDOW
    while True:
        window = raw[start : start + size]
        levels = [*_depths(_brackets(window))]
        if 0 in levels:
            needed = levels.index(0) + 1
            return start + bisect_left(
                range(len(window)), needed, key=lambda end: len(_brackets(window[: end + 1]))
            )
        if start + size >= len(raw):
            raise ValueError(_NOT_JSON)
        size *= 4


def _after(raw: bytes, position: int, expected: bytes) -> int:
    position = _skip(raw, position)
    if not raw.startswith(expected, position):
        raise ValueError(_NOT_JSON)
    return position + 1


def _skip(raw: bytes, position: int) -> int:
    """Return where the next token begins."""
    found = _token(raw, position)
    if found is None:
        raise ValueError(_NOT_JSON)
    return found.end() - 1


_NOT_JSON = "not a JSON document"
_WINDOW = 256
_COMMA, _CLOSING_BRACE, _CLOSING_BRACKET = b",}]"
_token = re.compile(rb"[ \t\r\n]*[^ \t\r\n]").match
_string = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"').match
_plain = re.compile(rb"[-+.\w]+").match


def foreign_entries(value: bytes, managers: frozenset[bytes]) -> bytes:
    """Return what managedFields tell about others, as a JSON array; empty if nothing.

    Of entries of *managers*, which are given as JSON strings, only labels and annotations stay;
    others stay whole, without times, but for those of subresources other than ``scale``. So of
    an object that no other client has written to there are a few bytes, the same for many.
    Empty when the value does not have the shape of managedFields, or is nested too deeply.
    """
    if is_deep(value):
        return b""
    try:
        return (
            b"["
            + b",".join(
                _reduced(entry, own=orjson.dumps(entry.manager) in managers)
                for entry in _HELD.decode(value)
                if entry.subresource in ("", "scale")
            )
            + b"]"
        )
    except msgspec.DecodeError:
        return b""


def _reduced(entry: "_HeldEntry", *, own: bool) -> bytes:
    fields = bytes(entry.fields) or b"{}"
    if own and not entry.subresource:
        metadata = bytes(_OWN_METADATA.decode(fields).metadata) or b"{}"
        fields = b'{"f:metadata":' + metadata + b"}"
    head = {"manager": entry.manager, "operation": entry.operation}
    if entry.subresource:
        head["subresource"] = entry.subresource
    return orjson.dumps(head)[:-1] + b',"fieldsV1":' + fields + b"}"


class _HeldEntry(Struct):
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields: msgspec.Raw = field(default_factory=msgspec.Raw, name="fieldsV1")


class _OwnMetadata(Struct):
    metadata: msgspec.Raw = field(default_factory=msgspec.Raw, name="f:metadata")


_HELD = msgspec.json.Decoder(list[_HeldEntry])
_OWN_METADATA = msgspec.json.Decoder(_OwnMetadata)

"""Cutting ``metadata.managedFields`` out of an object's bytes.

Field ownership is a third of a typical object and interests us only where it is our own.
Decoding and re-encoding the object to drop it would cost more than everything else a watch
does, and leaves the heap in pieces; so the bytes are cut where the field stands.
"""

import re
from collections.abc import Iterator

import msgspec
import orjson

_NAME = b'"managedFields"'
_COMMA, _COLON = b",:"
_TIME = re.compile(
    rb',\s*"time":\s*"[^"\\]*"'
)  # an entry's own: keys of field sets begin otherwise
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]')


def find(raw: bytes, value: msgspec.Raw, start: int, stop: int) -> tuple[int, int] | None:
    """Return where ``,"managedFields":…`` stands between *start* and *stop*, if it is easy to tell.

    *value* is the field's JSON as a decoder found it there.
    """
    name = raw.find(_NAME, start, stop)
    value_start = name + len(_NAME) + 1
    value_stop = value_start + len(memoryview(value))
    # A quoted name cannot occur inside a JSON string, where its quotes would be escaped; so
    # if it occurs once, and the right value follows, it is the field.
    usual = (
        name > 0
        and raw[name - 1] == _COMMA  # the field is never an object's first
        and raw[value_start - 1] == _COLON
        and raw.find(_NAME, value_stop, stop) < 0
        and raw[value_start:value_stop] == bytes(value)
    )
    return (name - 1, value_stop) if usual else None


def own_entries(value: msgspec.Raw, managers: frozenset[bytes]) -> bytes:
    """Return the JSON array of those entries whose manager is one of *managers*, without times.

    So objects of the same shape have the same, whenever they were written. Managers are given
    as JSON strings. Empty when there is none, or when the value does not have the shape of
    managedFields.
    """
    text = bytes(value)
    if not any(manager in text for manager in managers):
        return b""
    try:
        entries = _ENTRIES.decode(text)
        own = [bytes(e) for e in entries if orjson.dumps(_ENTRY.decode(e).manager) in managers]
        own = [_TIME.sub(b"", one, count=1) for one in own]
    except msgspec.ValidationError:
        return b""
    return b"[" + b",".join(own) + b"]" if own else b""


class _ManagerName(msgspec.Struct):
    manager: str = ""


_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_ManagerName)


def rebuild(raw: bytes) -> bytes:
    """Return an object's JSON without the field, by walking its tokens: for whatever is odd."""
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

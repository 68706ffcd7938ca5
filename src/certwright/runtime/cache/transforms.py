"""What is cut out of an object before it enters a store.

``metadata.managedFields`` always: field ownership is a third of a typical object, and only our
own is of use. Decoding and re-encoding the object would cost more than everything else a watch
does, and fragments the heap; so the bytes are cut where the field stands.

With `KeepFields` or `DropFields` also other parts. A path names members from the top,
JSON-pointer style: ``/data/tls.crt``. Lists are taken or left whole. What identifies an object
(apiVersion, kind, metadata) always stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from certwright.kube.objects import JsonObject

_IDENTITY = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, init=False)
class KeepFields:
    """A transform that keeps the named parts and drops the rest."""

    paths: tuple[str, ...]

    def __init__(self, *paths: str) -> None:
        object.__setattr__(self, "paths", tuple(sorted(_checked(path) for path in paths)))

    def __call__(self, raw: bytes) -> bytes:
        """Return the object's JSON with nothing but identity and the kept parts."""
        obj: JsonObject = orjson.loads(raw)
        kept: JsonObject = {name: obj[name] for name in _IDENTITY if name in obj}
        for path in self.paths:
            *parents, last = _members(path)
            source: Any = obj
            target: Any = kept
            for member in parents:
                if not isinstance(source, dict) or member not in source:
                    break
                source = source[member]
                target = target.setdefault(member, {})
            else:
                if isinstance(source, dict) and last in source:
                    target[last] = source[last]
        return orjson.dumps(kept)


@dataclass(frozen=True, init=False)
class DropFields:
    """A transform that drops the named parts and keeps the rest."""

    paths: tuple[str, ...]

    def __init__(self, *paths: str) -> None:
        object.__setattr__(self, "paths", tuple(sorted(_checked(path) for path in paths)))

    def __call__(self, raw: bytes) -> bytes:
        """Return the object's JSON without the dropped parts; the same bytes if it has none."""
        obj: JsonObject = orjson.loads(raw)
        found = False
        for path in self.paths:
            *parents, last = _members(path)
            holder: Any = obj
            for member in parents:
                holder = holder.get(member) if isinstance(holder, dict) else None
            if isinstance(holder, dict) and last in holder:
                del holder[last]
                found = True
        return orjson.dumps(obj) if found else raw


def _checked(path: str) -> str:
    first = _members(path)[0] if path.startswith("/") else ""
    if not first or path.endswith("/"):
        raise ValueError(f"{path!r} is no path of the form /member/member")
    if path.strip("/") in {*_IDENTITY, "metadata/name", "metadata/namespace"}:
        raise ValueError(f"{path!r} is part of an object's identity and always stays")
    return path


def _members(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


_NAME = b'"managedFields"'
_COMMA, _COLON = b",:"
_TIME = re.compile(
    rb',\s*"time":\s*"[^"\\]*"'
)  # an entry's own: keys of field sets begin otherwise
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]')


def find(raw: bytes, value: msgspec.Raw, start: int, stop: int) -> tuple[int, int] | None:
    """Return where ``,"managedFields":…`` stands between *start* and *stop*, if that is certain.

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
    for key, start, end in _json_members(raw, 0):
        if key != "metadata" or raw[start : start + 1] != b"{":
            continue
        kept = []
        for name, value_start, value_end in _json_members(raw, start):
            if name != "managedFields":
                kept.append(orjson.dumps(name) + b":" + raw[value_start:value_end])
        pieces += (raw[copied:start], b"{", b",".join(kept), b"}")
        copied = end
    pieces.append(raw[copied:])
    return b"".join(pieces)


def _json_members(raw: bytes, position: int) -> Iterator[tuple[str, int, int]]:
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

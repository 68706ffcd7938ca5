"""Transforms: keep only, or leave out, parts of each object in a store.

A path names members from the top, JSON-pointer style: ``/data/tls.crt``. Lists are taken or
left whole. What identifies an object (apiVersion, kind, metadata) always stays.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from certwright.kube.objects import JsonObject, exact_json

_IDENTITY = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, init=False)
class _ByPath:
    paths: tuple[str, ...]

    def __init__(self, *paths: str) -> None:
        object.__setattr__(self, "paths", tuple(sorted(_checked(path) for path in paths)))


class KeepFields(_ByPath):
    """A transform that keeps the named parts and drops the rest."""

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
        return exact_json(kept)


class DropFields(_ByPath):
    """A transform that drops the named parts and keeps the rest."""

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
        return exact_json(obj) if found else raw


def _checked(path: str) -> str:
    first = _members(path)[0] if path.startswith("/") else ""
    if not first or path.endswith("/"):
        raise ValueError(f"{path!r} is no path of the form /member/member")
    if path.strip("/") in {*_IDENTITY, "metadata/name", "metadata/namespace"}:
        raise ValueError(f"{path!r} is part of an object's identity and always stays")
    return path


def _members(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]

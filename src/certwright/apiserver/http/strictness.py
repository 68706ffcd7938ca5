"""Strict reading of request bodies: fields that occur twice or that the kind does not have.

Parsers keep the last of two equal keys, so finding duplicates takes a second, slower look at
the body. It is spared the bodies that cannot hold any, which is nearly all of them.
"""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import yaml

_Pairs = list[tuple[str, Any]]


def stray_fields(body: bytes, unknown: list[str], *, custom: bool) -> list[str]:
    """Return which fields of a JSON body are duplicate or unknown, in the server's order.

    *unknown* has the paths that the kind does not know. Built-in kinds report in the order of
    the document and do not look into unknown fields; custom resources report duplicates first,
    then what is unknown in metadata, then the rest by path.
    """
    if custom:
        found = [message for message, _ in _strays(body, frozenset())]
        rest = sorted(unknown, key=lambda path: (not path.startswith("metadata."), path))
        return found + [_unknown(path) for path in rest]
    reported = list(_strays(body, frozenset(unknown)))
    seen = {path for _, path in reported}
    return [message for message, _ in reported] + [_unknown(p) for p in unknown if p not in seen]


def duplicate_keys(body: bytes, value: Any) -> list[str]:
    """Return which keys of a YAML body occur twice in one map; JSON is YAML, too."""
    if not _may_have_duplicates(body, value):
        return []
    try:
        root = yaml.compose(body, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return []  # the parser has accepted it by other means
    return list(_repeated(root)) if root is not None else []


def _may_have_duplicates(body: bytes, value: Any) -> bool:
    """Compare the body, or at least the number of its strings, with what was read from it."""
    written = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    return written != body and (b"\\" in body or body.count(b'"') != written.count(b'"'))


def _strays(body: bytes, unknown: frozenset[str]) -> Iterator[tuple[str, str]]:
    try:
        if not unknown and not _may_have_duplicates(body, orjson.loads(body)):
            return
        document = json.loads(body, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return  # YAML, which has its own way; or too deep for any kind
    yield from _walk(document, "", unknown)


class _Object(list[tuple[str, Any]]):
    """An object as its pairs, in order, duplicates included."""


def _walk(value: Any, path: str, unknown: frozenset[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Object):
        seen: dict[str, int] = {}
        for name, part in value:
            inner = f"{path}.{name}" if path else name
            seen[name] = seen.get(name, 0) + 1
            if inner in unknown:
                if seen[name] == 1:
                    yield _unknown(inner), inner
                continue
            if seen[name] == 2:
                yield f'duplicate field "{inner}"', ""
            yield from _walk(part, inner, unknown)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]", unknown)


def _unknown(path: str) -> str:
    return f'unknown field "{path}"'


def _repeated(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    yield f'line {line}: key "{key.value}" already set in map'
                seen.add(key.value)
            yield from _repeated(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)

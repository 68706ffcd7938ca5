"""Secret values never leave: not in diffs, not in change sets, not in messages."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from certwright.kube.objects import JsonObject

MASK: Final = "***"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Where ``kubectl apply`` keeps a copy of the manifest, with the values in it."""

_CONFIDENTIAL: Final = ("data", "stringData")
_SHORTEST: Final = 3
"""Shorter values are no secret, and are part of too many words."""
_SHORTEST_LINE: Final = 8
_SHORTEST_FRAGMENT: Final = 15
"""Of a value: shorter pieces are in too many texts."""
_STEP: Final = 8
"""A common part of this length is found at every such position of a value."""
_MOST_ROUNDS: Final = 20
"""How often one part of a value is looked for: a text may quote it again and again."""
_AS_GO_JSON: Final = {ord(char): f"\\u{ord(char):04x}" for char in "&<>\u2028\u2029\x7f"}
_AS_GO_QUOTES: Final = {
    **{chr(code): f"\\x{code:02x}" for code in (*range(32), 127)},
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_COMPRESSED: Final = "H4sI"
"""How gzip begins in base64: some tools keep the manifest so."""


def is_secret(obj: JsonObject) -> bool:
    """Return whether an object is a Secret, in whatever version it is written."""
    return obj.get("kind") == "Secret" and "/" not in str(obj.get("apiVersion") or "")


def is_confidential(path: tuple[str | int, ...]) -> bool:
    """Return whether a field of a Secret holds values, or something that repeats them."""
    return path[:1] in {(name,) for name in _CONFIDENTIAL} or path == (
        "metadata",
        "annotations",
        LAST_APPLIED,
    )


def repeats_values(path: tuple[str | int, ...], value: Any) -> bool:
    """Return whether a field of a Secret is an annotation in which a tool keeps the manifest."""
    return (
        path[:2] == ("metadata", "annotations")
        and isinstance(value, str)
        and value.lstrip().startswith(("{", _COMPRESSED))
    )


def shown_annotations(
    api_version: str, kind: str, annotations: Mapping[str, str]
) -> dict[str, str]:
    """Return the annotations of an object that may be copied to where others read them."""
    if not is_secret({"apiVersion": api_version, "kind": kind}):
        return dict(annotations)
    place = ("metadata", "annotations")
    return {
        name: value
        for name, value in annotations.items()
        if not is_confidential((*place, name)) and not repeats_values((*place, name), value)
    }


def masked(obj: JsonObject) -> JsonObject:
    """Return an object that may be shown: of Secrets, also in lists, a copy with keys only."""
    items = obj.get("items")
    if isinstance(items, list):
        # The items of a SecretList do not say what they are.
        shown_item = _without_values if obj.get("kind") == "SecretList" else masked
        return obj | {"items": [shown_item(i) if isinstance(i, dict) else i for i in items]}
    return _without_values(obj) if is_secret(obj) else obj


def _without_values(obj: JsonObject) -> JsonObject:
    shown = {name: _hidden(part) if name in _CONFIDENTIAL else part for name, part in obj.items()}
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict):
        hidden = {
            name: MASK
            for name, value in annotations.items()
            if name == LAST_APPLIED or repeats_values(("metadata", "annotations"), value)
        }
        shown["metadata"] = metadata | {"annotations": annotations | hidden}
    return shown


def _hidden(values: Any) -> Any:
    if isinstance(values, dict):
        return dict.fromkeys(values, MASK)
    return None if values is None else MASK


def without_values_of(text: str, obj: Any) -> str:
    """Return a text without the values of a Secret it is about: servers quote what they refuse.

    Each is masked however it is spelt (base64 or not, as JSON or as Go quotes it), and so are long
    parts of it. *obj* is the Secret, or a patch of one as a list of operations.
    """
    if isinstance(obj, list):
        values = {*_texts(obj)}
    elif is_secret(obj):
        values = {*_values_of(obj)}
    else:
        return text
    spelt = {one for value in values for one in _spellings(value) if len(one) >= _SHORTEST}
    for _ in range(_MOST_ROUNDS):
        before, text = text, _without_fragments(text, spelt)
        if text == before:
            break
    for value in sorted(spelt, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _values_of(obj: JsonObject) -> Iterator[str]:
    """Yield the values of a Secret, also those that annotations repeat."""
    for name in _CONFIDENTIAL:
        yield from _texts(obj.get(name))
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    for value in annotations.values() if isinstance(annotations, dict) else ():
        copy = _manifest(value)
        for name in _CONFIDENTIAL if copy else ():
            yield from _texts(copy.get(name))


def _manifest(annotation: Any) -> JsonObject:
    if not isinstance(annotation, str) or not annotation.lstrip().startswith("{"):
        return {}
    try:
        found = orjson.loads(annotation)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _texts(part: Any) -> Iterator[str]:
    """Yield all values in a part of an object, whatever its shape."""
    rest = [part]
    while rest:
        match rest.pop():
            case dict() as found:
                rest += found.values()
            case list() as found:
                rest += found
            case float() as number:
                yield from {str(number), f"{number:g}", f"{number:.0f}", _go_number(number)}
            case None | bool():
                pass
            case value:
                yield str(value)


def _go_number(number: float) -> str:
    """Return a number with an exponent, as Go prints large ones: 1.5e+07."""
    digits, _, exponent = f"{number:e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{exponent}"


def _spellings(value: str) -> Iterator[str]:
    for text in {value, _decoded(value)}:
        yield from (text, repr(text)[1:-1])
        quoted = orjson.dumps(text).decode()[1:-1] if _is_whole(text) else text
        yield from (quoted, quoted.translate(_AS_GO_JSON), json.dumps(text)[1:-1])
        yield "".join(_AS_GO_QUOTES.get(char, char) for char in text)
        yield b64encode(text.encode(errors="replace")).decode()
        lines = text.splitlines()
        yield from (line for line in lines if len(line.strip()) >= _SHORTEST_LINE)


def _is_whole(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair, which JSON cannot carry."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return value


def _without_fragments(text: str, values: Iterable[str]) -> str:
    """Mask what a text has in common with a value, if it is long; takes time like the values."""
    places: dict[str, int] = {}
    for place in range(len(text) - _STEP, -1, -1):
        places[text[place : place + _STEP]] = place
    hidden: list[tuple[int, int]] = []
    for value in values:
        for start in range(0, len(value) - _STEP + 1, _STEP):
            found = places.get(value[start : start + _STEP])
            if found is not None and not any(a <= found < b for a, b in hidden):
                first, last = _extent(text, found, value, start)
                if last - first >= _SHORTEST_FRAGMENT:
                    hidden.append((first, last))
    for first, last in sorted(hidden, reverse=True):
        text = text[:first] + MASK + text[last:]
    return text


def _extent(text: str, place: int, value: str, start: int) -> tuple[int, int]:
    """Return where in a text a common part begins and ends, of which a piece was found."""
    first, last = place, place + _STEP
    while first and start and text[first - 1] == value[start - 1]:
        first, start = first - 1, start - 1
    end = start + last - first
    while last < len(text) and end < len(value) and text[last] == value[end]:
        last, end = last + 1, end + 1
    return first, last

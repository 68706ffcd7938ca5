"""JSON patch and merge patch, and the media types that patches travel under.

``create_*`` computes the patch that turns one document into another, ``apply_*`` performs
it. Documents are JSON values as Python spells them; none is ever changed in place. Strategic
merge and server-side apply need a kind's schema, so only their media types are here.

Documents come from the network: one that is nested thousands of levels deep must end in an
error that names the cause, not in a stack overflow.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import orjson

from certwright.kube.rawjson import is_deep

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

MAX_DEPTH = 200
"""Deeper than any object a server accepts, shallower than Python's stack."""


class PatchError(ValueError):
    """A patch is malformed, or does not fit the document; the message says where."""


_NESTED = (dict, list)


def check_depth(depth: int) -> None:
    """Refuse to go deeper than `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise PatchError(f"the document is nested more than {MAX_DEPTH} levels deep")


def equal(left: Any, right: Any, depth: int = 0) -> bool:
    """Return whether two JSON values are the same. Unlike in Python, ``true`` is not ``1``."""
    check_depth(depth)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            equal(value, right[key], depth + 1) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            equal(value, other, depth + 1) for value, other in zip(left, right, strict=True)
        )
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def copy(value: Any, depth: int = 0) -> Any:
    """Return a copy that shares no object or list with the original."""
    if depth >= MAX_DEPTH:
        check_depth(depth + 1 if value and isinstance(value, _NESTED) else depth)
    if isinstance(value, dict):
        return {
            key: copy(item, depth + 1) if isinstance(item, _NESTED) else item
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [copy(item, depth + 1) if isinstance(item, _NESTED) else item for item in value]
    return value


def create_merge_patch(old: Any, new: Any) -> Any:
    """Return the merge patch that turns *old* into *new*; ``{}`` if they are equal objects.

    Raises:
        PatchError: an object in *new* holds a null that *old* does not. A merge patch says
            null to delete, so it cannot say that.
    """
    if not isinstance(new, dict):
        return copy(new)
    return _difference(old if isinstance(old, dict) else {}, new, "", 0)


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return *document* merged with *patch*: objects merge, null deletes, the rest replaces.

    Raises:
        PatchError: document or patch are nested too deeply.
    """
    return _merge(document, patch, 0)


def merge_into(document: dict[str, Any], patch: dict[str, Any], depth: int = 0) -> None:
    """Merge *patch* into *document* as `apply_merge_patch` does, in place.

    Both are the caller's own and of no more use apart. Where objects are written by the thousand,
    most of the time to merge them would go into copies.
    """
    check_depth(depth)
    for key, value in patch.items():
        before = document.pop(key, None)
        if isinstance(value, dict):
            document[key] = before if isinstance(before, dict) else {}
            merge_into(document[key], value, depth + 1)
        elif value is not None:
            document[key] = value


def _difference(old: dict[str, Any], new: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
    check_depth(depth)
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if key in old and equal(before, value, depth + 1):
            continue
        if value is None:
            raise PatchError(f"{path}/{key} becomes null, which a merge patch cannot express")
        if isinstance(value, dict):
            base = before if isinstance(before, dict) else {}
            patch[key] = _difference(base, value, f"{path}/{key}", depth + 1)
        else:
            patch[key] = copy(value, depth + 1)
    return patch


def _merge(document: Any, patch: Any, depth: int) -> Any:
    check_depth(depth)
    if not isinstance(patch, dict):
        return copy(patch, depth)
    # Everything the patch does not mention is copied, so that the result stands alone.
    merged = (
        {key: copy(value, depth + 1) for key, value in document.items() if key not in patch}
        if isinstance(document, dict)
        else {}
    )
    for key, value in patch.items():
        if value is not None:
            before = document.get(key) if isinstance(document, dict) else None
            merged[key] = _merge(before, value, depth + 1)
    return merged


MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""``copy`` lets a small patch make a huge document; this much, as JSON, may be copied."""


def create_json_patch(written: bytes, new: Any) -> list[dict[str, Any]]:
    """Return operations that turn a document, as it is *written*, into *new*; none if equal.

    Members of objects are compared as JSON, and only those that differ are decoded: most parts of
    an object stay as they are. Lists are compared item by item between their common beginning and
    end, which gives short patches for the usual insertion or removal, not the shortest for any
    shuffle.
    """
    return list(_differences_from(written, new, "", 0))


def apply_json_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return *document* with all *operations* performed, in order.

    Raises:
        PatchError: an operation is malformed, points nowhere, or is a test that fails. The
            document is never half patched: it is not changed at all.
    """
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(f"the patch has {len(operations)} operations; {MAX_OPERATIONS} may be")
    patched, copied = copy(document), 0
    for number, operation in enumerate(operations):
        try:
            patched, size = _perform(patched, operation)
            copied += size
            if copied > MAX_COPIED_BYTES:
                raise PatchError(f"more than {MAX_COPIED_BYTES} bytes would be copied")
        except PatchError as error:
            raise PatchError(f"operation {number}: {error}") from error
    return patched


def escape(token: str) -> str:
    """Write the name of a field as part of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def _differences(old: Any, new: Any, path: str, depth: int) -> Iterator[dict[str, Any]]:
    check_depth(depth)
    if isinstance(old, dict | list) and _is_written_alike(old, new, depth):
        return  # as most parts of an object are
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            yield {"op": "remove", "path": f"{path}/{escape(key)}"}
        for key, value in new.items():
            if isinstance(value, str) and old.get(key) == value:
                continue
            place = f"{path}/{escape(key)}"
            if key in old:
                yield from _differences(old[key], value, place, depth + 1)
            else:
                yield {"op": "add", "path": place, "value": copy(value, depth + 1)}
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_differences(old, new, path, depth)
    elif not equal(old, new, depth):
        yield {"op": "replace", "path": path, "value": copy(new, depth)}


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _differences_from(written: bytes, new: Any, path: str, depth: int) -> Iterator[dict[str, Any]]:
    check_depth(depth)
    if not isinstance(new, dict) or written[:1] != b"{":
        yield from _differences(orjson.loads(written), new, path, depth)
        return
    old = _MEMBERS.decode(written)
    for key in old.keys() - new.keys():
        yield {"op": "remove", "path": f"{path}/{escape(key)}"}
    for key, value in new.items():
        raw = old.get(key)
        if raw is None:
            yield {"op": "add", "path": f"{path}/{escape(key)}", "value": copy(value, depth + 1)}
            continue
        text = bytes(raw)
        try:
            if orjson.dumps(value) == text:
                continue
        except TypeError:  # too deep, or numbers that orjson does not write
            pass
        yield from _differences_from(text, value, f"{path}/{escape(key)}", depth + 1)


def _is_written_alike(old: Any, new: Any, depth: int) -> bool:
    """Return whether two values are the same JSON: ten times quicker than to walk through them.

    Those that are written in another way, with their keys in another order for instance, may still
    be equal.
    """
    try:
        if old != new:
            return False
        text = orjson.dumps(old)
        return text == orjson.dumps(new) and not is_deep(text, MAX_DEPTH - depth)
    except (TypeError, RecursionError):  # too deep, or numbers that orjson does not write
        return False


def _list_differences(
    old: list[Any], new: list[Any], path: str, depth: int
) -> Iterator[dict[str, Any]]:
    start, end = 0, 0
    shorter = min(len(old), len(new))
    while start < shorter and equal(old[start], new[start], depth + 1):
        start += 1
    while end < shorter - start and equal(old[-1 - end], new[-1 - end], depth + 1):
        end += 1
    common = shorter - end
    for index in range(start, common):
        yield from _differences(old[index], new[index], f"{path}/{index}", depth + 1)
    # From the back, so that every index is still right when its turn comes.
    for index in reversed(range(common, len(old) - end)):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index in range(common, len(new) - end):
        yield {"op": "add", "path": f"{path}/{index}", "value": copy(new[index], depth + 1)}


def _perform(document: Any, operation: Mapping[str, Any]) -> tuple[Any, int]:
    """Return the document after one operation, and how many bytes it copied."""
    if not isinstance(operation, Mapping):
        raise PatchError("an operation is an object with op and path")
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, copy(_value(operation))), 0
        case "remove":
            return _remove(document, path)[0], 0
        case "replace":
            _find(document, path)
            return _replace(document, path, copy(_value(operation))), 0
        case "move":
            return _move(document, _pointer(operation, "from"), path), 0
        case "copy":
            value = copy(_find(document, _pointer(operation, "from")))
            return _add(document, path, value), len(orjson.dumps(value))
        case "test":
            if not equal(_find(document, path), _value(operation)):
                raise PatchError(f"test failed: {operation['path']!r} has another value")
            return document, 0
        case unknown:
            raise PatchError(f"{unknown!r} is not add, remove, replace, move, copy or test")


def _move(document: Any, source: list[str], target: list[str]) -> Any:
    if target[: len(source)] == source and target != source:
        raise PatchError(f"{_text(source)!r} cannot move into itself")
    rest, value = _remove(document, source)
    return _add(rest, target, value)


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        end = len(parent)
        parent.insert(end if last == "-" else _index(last, end + 1, path), value)
    else:
        raise PatchError(f"{_text(path)!r}: only objects and lists have members")
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    parent[path[-1] if isinstance(parent, dict) else int(path[-1])] = value
    return document


def _remove(document: Any, path: list[str]) -> tuple[Any, Any]:
    """Return what remains, and what was removed; without the whole, null remains."""
    value = _find(document, path)
    if not path:
        return None, value
    parent = _find(document, path[:-1])
    del parent[path[-1] if isinstance(parent, dict) else int(path[-1])]
    return document, value


def _find(document: Any, path: list[str]) -> Any:
    value = document
    for token in path:
        if isinstance(value, dict):
            if token not in value:
                raise PatchError(f"{_text(path)!r} does not exist")
            value = value[token]
        elif isinstance(value, list):
            value = value[_index(token, len(value), path)]
        else:
            raise PatchError(f"{_text(path)!r} does not exist")
    return value


def _index(text: str, length: int, path: list[str]) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]{0,9}", text):
        raise PatchError(f"{_text(path)!r}: {text!r} is not an index of a list")
    if int(text) >= length:
        raise PatchError(f"{_text(path)!r}: the list is shorter")
    return int(text)


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError(f"{operation['op']} needs a value")
    return operation["value"]


def _pointer(operation: Mapping[str, Any], name: str) -> list[str]:
    text = operation.get(name)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise PatchError(f"{name} {text!r} is not a JSON pointer such as /spec/replicas")
    tokens = text.split("/")[1:]
    check_depth(len(tokens))
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def _text(path: list[str]) -> str:
    return "".join(f"/{escape(token)}" for token in path)

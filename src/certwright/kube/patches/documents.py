"""JSON documents as values: equality and copies, with a bound on depth.

Shared by the two kinds of patches. Documents come from the network; one that is nested
thousands of levels deep must end in an error that names the cause, not in a stack overflow.
"""

from typing import Any

MAX_DEPTH = 200
"""Deeper than any object a server accepts, shallower than Python's stack."""


class PatchError(ValueError):
    """A patch is malformed, or does not fit the document; the message says where."""


def check_depth(depth: int) -> None:
    """Refuse to go deeper than `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise PatchError(f"the document is nested more than {MAX_DEPTH} levels deep")


def equal(left: Any, right: Any, depth: int = 0) -> bool:
    """Say whether two JSON values are the same. Unlike in Python, ``true`` is not ``1``."""
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
    check_depth(depth)
    if isinstance(value, dict):
        return {key: copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [copy(item, depth + 1) for item in value]
    return value

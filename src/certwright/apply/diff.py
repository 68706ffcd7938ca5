"""What differs between two versions of an object, field by field.

A difference is a list of `FieldChange` values: data for change sets and conditions, printed by
`render`. Values of Secrets are masked here, before anybody can print them. Items of lists are
matched by their ``name`` where they all have one, otherwise by position.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from certwright.kube import JsonObject
from certwright.kube.redaction import MASK, is_confidential, is_secret, repeats_values

Path = tuple[str | int, ...]

_BOOKKEEPING: Final[frozenset[Path]] = frozenset(
    ("metadata", name)
    for name in ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
)
MAX_CHANGES: Final = 200
MAX_DEPTH: Final = 100
LONGEST_VALUE: Final = 200
LONGEST_IN_ONE_LINE: Final = 60
"""Characters of a map or list that is not spread over lines."""
DEEPEST_BLOCK: Final = 30
"""Levels that are; below, all is in one line again."""
MAX_LINES: Final = 200
MOST_COMPARED: Final = 1000
"""Lines of a text; finding what differs in more takes longer than anybody reads."""


class _Absent:
    """Nothing is there; not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that was added (*old* is `ABSENT`), removed (*new* is) or changed."""

    path: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Diff:
    """All fields that differ, by path; *omitted* says how many more there are than are kept."""

    changes: tuple[FieldChange, ...] = ()
    omitted: int = 0

    def __bool__(self) -> bool:
        return bool(self.changes)


NO_DIFF: Final = Diff()


def compare(old: JsonObject | None, new: JsonObject | None, *, limit: int = MAX_CHANGES) -> Diff:
    """Compare two versions of an object; None stands for its absence.

    What the server counts for itself (resourceVersion, generation, managedFields …) is left
    out, and of Secrets only the fact that a value differs is told.
    """
    secret = any(side is not None and is_secret(side) for side in (old, new))
    kept: list[FieldChange] = []
    omitted = 0
    if old is None or new is None:  # then metadata is shown as a whole
        old, new = _without_bookkeeping(old or {}), _without_bookkeeping(new or {})
    for path, before, after in _compare(old, new, ()):
        if len(kept) >= limit:
            omitted += 1
            continue
        if secret:
            before, after = _masked(path, before, after)  # noqa: PLW2901 - must not survive
        kept.append(FieldChange(_text(path), before, after))
    return Diff(tuple(kept), omitted)


def render(difference: Diff, *, lines: int = MAX_LINES) -> str:
    """Print a difference: ``-`` the old value, ``+`` the new one; texts line by line."""
    printed: list[str] = []
    for change in difference.changes:
        printed += _rendered(change)
    omitted = difference.omitted
    if len(printed) > lines:
        printed = [*printed[:lines], f"… {len(printed) - lines} more lines"]
    if omitted:
        printed.append(f"… {omitted} more fields differ")
    return "\n".join(printed)


def _without_bookkeeping(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    kept = {name: v for name, v in metadata.items() if ("metadata", name) not in _BOOKKEEPING}
    return {**obj, "metadata": kept}


def _compare(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if path in _BOOKKEEPING or _same(old, new):
        return
    if len(path) < MAX_DEPTH and isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            inner = (*path, name)
            yield from _compare(old.get(name, ABSENT), new.get(name, ABSENT), inner)
    elif len(path) < MAX_DEPTH and isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(old, new, path)
    elif len(path) < MAX_DEPTH or old != new:
        yield path, old, new


def _compare_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    before, after = _by_name(old), _by_name(new)
    if before is None or after is None:
        for position in range(max(len(old), len(new))):
            yield from _compare(
                old[position] if position < len(old) else ABSENT,
                new[position] if position < len(new) else ABSENT,
                (*path, position),
            )
        return
    found = False
    for name in dict.fromkeys([*before, *after]):
        for change in _compare(
            before.get(name, ABSENT), after.get(name, ABSENT), (*path, f"[name={name}]")
        ):
            found = True
            yield change
    if not found and list(before) != list(after):
        yield path, list(before), list(after)  # only their order differs


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return items by name, or None if they do not all have one of their own."""
    named = {
        item["name"]: item
        for item in items
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    }
    return named if len(named) == len(items) else None


def _same(old: Any, new: Any) -> bool:
    """Compare single values as the API does: 1 is 1.0 but not true, and null is nothing."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if old in (None, ABSENT) and new in (None, ABSENT):
        return True
    if isinstance(old, dict | list):
        return False  # their parts are compared
    return bool(old == new)


def _masked(path: Path, old: Any, new: Any) -> tuple[Any, Any]:
    if not is_confidential(path) and not any(repeats_values(path, side) for side in (old, new)):
        return _masked_inside(path, old), _masked_inside(path, new)
    return _hidden(old, f"{MASK} (before)"), _hidden(new, f"{MASK} (after)")


def _hidden(value: Any, mask: str) -> Any:
    """Return a mask for a value, or for each of several; their names may be seen."""
    if value is ABSENT or value is None:
        return value
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else mask


def _masked_inside(path: Path, value: Any) -> Any:
    """Mask what a whole part that was added or removed holds: ``metadata``, ``annotations``."""
    if not isinstance(value, dict):
        return value
    return {
        name: MASK
        if is_confidential((*path, name)) or repeats_values((*path, name), part)
        else _masked_inside((*path, name), part)
        for name, part in value.items()
    }


def _text(path: Path) -> str:
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        elif element.startswith("[name="):
            text += element
        elif "." in element or "/" in element:
            text += f'["{element}"]'
        else:
            text += f".{element}" if text else element
    return text


def _rendered(change: FieldChange) -> list[str]:
    old, new = change.old, change.new
    if (
        isinstance(old, str)
        and isinstance(new, str)
        and (0 < max(old.count("\n"), new.count("\n")) <= MOST_COMPARED)
    ):
        return [f"  {change.path}:", *_changed_lines(old, new)]
    sides = (("-", old), ("+", new))
    return [
        f"{sign} {line}"
        for sign, value in sides
        if value is not ABSENT
        for line in _named(change.path, value, 0)
    ]


def _named(name: str, value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a value under its name: one if it is short, else as in YAML."""
    if depth >= DEEPEST_BLOCK or not isinstance(value, dict | list) or _is_short(value):
        yield f"{name}: {_shown(value)}"
        return
    yield f"{name}:"
    yield from (f"  {line}" for line in _block(value, depth + 1))


def _block(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _named(name, part, depth)
        return
    for item in value:
        nested = isinstance(item, dict | list) and depth < DEEPEST_BLOCK and not _is_short(item)
        lines = _block(item, depth + 1) if nested else iter([_shown(item)])
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    return len(value) <= 1 and len(_shown(value)) <= LONGEST_IN_ONE_LINE


def _changed_lines(old: str, new: str) -> list[str]:
    """Return the lines that differ, each with a neighbour, and a gap where some are left out."""
    unified = list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=1))
    # Two lines of file names and the position of the first hunk say nothing here.
    return [
        "    …" if line.startswith("@@") else f"{line[0]}   {_cut(line[1:])}"
        for line in unified[3:]
    ]


def _shown(value: Any) -> str:
    if isinstance(value, str) and value and "\n" not in value and value.isprintable():
        return _cut(value)
    try:
        return _cut(orjson.dumps(value).decode())
    except orjson.JSONEncodeError:
        return "… (too deep to show)"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"

"""What dialects read from annotations and write into them: lists, maps, flags and times.

Annotations are written by anyone who may write the workload, so each value is bounded, and one that
makes no sense is said to, not guessed at.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import orjson

LONGEST: Final = 16_384
"""How many characters a list or a map may have."""
MOST: Final = 256
"""How many entries a list or a map may have."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def listed(text: str) -> list[str]:
    """Return the parts of a text with commas between; `ValueError` if there are too many."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters, more than the {LONGEST} allowed")
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if len(parts) > MOST:
        raise ValueError(f"it lists {len(parts)} names, more than the {MOST} allowed")
    return parts


def names(text: str) -> list[str]:
    """Return the names of objects with commas between; `ValueError` if one is none."""
    found = listed(text)
    for name in found:
        require_name(name)
    return found


def require_name(name: str) -> None:
    """Raise `ValueError` if no object can have this name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:64]!r} is not the name of an object")


def is_true(text: str | None) -> bool:
    """Return whether a text is true as Go's ParseBool reads it."""
    return text in _TRUE


def read_map(text: str | None) -> dict[str, str]:
    """Return a map of names to texts as JSON has it; empty if it is anything else."""
    if not text or len(text) > LONGEST:
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(found, dict) or len(found) > MOST:
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def write_map(entries: Mapping[str, str]) -> str:
    """Return a map as JSON, in the order of its names."""
    return orjson.dumps(dict(entries), option=orjson.OPT_SORT_KEYS).decode()


def label_time(now: datetime, *, seconds: bool = False) -> str:
    """Return a time that may be the value of a label: ``2021-3-2.1607``."""
    clock = now.strftime("%H%M%S" if seconds else "%H%M")
    return f"{now.year}-{now.month}-{now.day}.{clock}"

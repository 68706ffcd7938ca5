"""The indexes of an Indexed Job: which pod has which, and how many must succeed. Pure."""

from collections.abc import Iterable, Set
from typing import Final

from certwright.kube import JsonObject

INDEX: Final = "batch.kubernetes.io/job-completion-index"


def index_of(pod: JsonObject) -> int:
    """Return the completion index of a pod; -1 without one."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def read_indexes(text: str) -> set[int]:
    """Return the indexes of a text such as ``0-3,5``."""
    indexes: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def index_ranges(indexes: Iterable[int]) -> str:
    """Return indexes as a Job's status has them, such as ``0-3,5``."""
    ranges: list[list[int]] = []
    for index in sorted(indexes):
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    words = [
        str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}"
        for first, last in ranges
    ]
    return ",".join(words)


def matched_success(policy: JsonObject, succeeded: Set[int]) -> str:
    """Return which rule of a ``successPolicy`` these indexes fulfil, in a message; or nothing."""
    for number, rule in enumerate(policy.get("rules") or () if succeeded else ()):
        required = rule.get("succeededIndexes")
        indexes = succeeded if required is None else succeeded & read_indexes(required)
        enough = rule.get("succeededCount")
        if enough is None:
            enough = len(read_indexes(required or ""))
        if len(indexes) >= enough:
            return f"Matched rules at index {number}"
    return ""

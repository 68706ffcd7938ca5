"""The conditions of custom resources as series: what the stores hold at the moment of a scrape.

One series per object and condition, with its present status and reason as labels, in the process
that leads. Nothing is kept between scrapes: the series of an object are gone with the object, and
there again right after a restart. Their number is bounded; what is not as it should be comes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from certwright.kube import JsonObject, Resource
from certwright.runtime.cache.entries import Entry
from certwright.runtime.controller import Controller
from certwright.runtime.writes.conditions import conditions_in, read_conditions

MOST_SERIES: Final = 20_000
"""Of all kinds together. A line of each scrape is about 150 bytes."""
MOST_PER_OBJECT: Final = 16
_LONGEST_LABEL: Final = 128
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_SERIES: Final = "certwright_condition"
_LEFT_OUT: Final = "certwright_condition_series_left_out"
_HEADERS: Final = (
    f"# HELP {_SERIES} Conditions of objects with their status and reason, always 1",
    f"# TYPE {_SERIES} gauge",
)
_LEFT_OUT_HEADERS: Final = (
    f"# HELP {_LEFT_OUT} Conditions that are not shown because there are too many",
    f"# TYPE {_LEFT_OUT} gauge",
)


class ConditionView(NamedTuple):
    """The objects of one controller."""

    controller: Controller
    entries: Sequence[Entry]


def exposition(views: Iterable[ConditionView], limit: int = MOST_SERIES) -> bytes:
    """Return the series in Prometheus' text format. Call it in a thread: objects are decoded."""
    wrong: dict[str, None] = {}
    well: dict[str, None] = {}  # several controllers may be about the same objects
    for view in views:
        resource = view.controller.resource
        if not is_shown(resource):
            continue
        for entry in view.entries:
            conditions = conditions_in(read_conditions(entry.json))[:MOST_PER_OBJECT]
            found = well if _is_well(conditions, view.controller.conditions) else wrong
            found.update(dict.fromkeys(_lines(resource.kind, entry, conditions)))
    lines = [*wrong, *well]
    shown, left_out = lines[:limit], max(0, len(lines) - limit)
    return "\n".join((*_HEADERS, *shown, *_LEFT_OUT_HEADERS, f"{_LEFT_OUT} {left_out}", "")).encode(
        errors="replace"
    )


def is_shown(resource: Resource) -> bool:
    """Return whether conditions of a kind become series: of custom resources only.

    There may be very many pods and nodes, and others report on them.
    """
    return "." in resource.group and not resource.group.endswith(".k8s.io")


def _is_well(conditions: Iterable[JsonObject], expected: Sequence[str]) -> bool:
    return all(one.get("status") == "True" for one in conditions if one["type"] in expected)


def _lines(kind: str, entry: Entry, conditions: Iterable[JsonObject]) -> Iterator[str]:
    for one in conditions:
        labels = {
            "kind": kind,
            "namespace": entry.key.namespace,
            "name": entry.key.name,
            "type": one["type"],
            "status": one.get("status"),
            "reason": one.get("reason"),
        }
        text = ",".join(f'{name}="{_label(value)}"' for name, value in labels.items())
        yield f"{_SERIES}{{{text}}} 1.0"


def _label(value: object) -> str:
    return str(value or "")[:_LONGEST_LABEL].translate(_ESCAPED)

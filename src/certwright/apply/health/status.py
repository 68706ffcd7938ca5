"""Parts of ``status``, whose writers may put anything there.

Unlike conditions of our own, those of others know more values than True, False and Unknown
(``Degraded``, ``Progressing``), so any text is accepted here.
"""

from dataclasses import dataclass
from typing import Any

from certwright.kube import JsonObject


@dataclass(frozen=True, slots=True)
class StatusCondition:
    """A condition as it was written."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int


def section(obj: JsonObject, *path: str) -> JsonObject:
    """Return the object at a path, or an empty one."""
    value: Any = obj
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def whole(values: JsonObject, name: str, default: int = 0) -> int:
    """Return an integer, or *default* if there is none."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text(values: JsonObject, name: str) -> str:
    """Return a string, or an empty one."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def find(obj: JsonObject, type_: str) -> StatusCondition | None:
    """Return the condition of a type."""
    conditions = section(obj, "status").get("conditions")
    for entry in conditions if isinstance(conditions, list) else ():
        if isinstance(entry, dict) and entry.get("type") == type_:
            return StatusCondition(
                type_,
                text(entry, "status"),
                text(entry, "reason"),
                text(entry, "message"),
                whole(entry, "observedGeneration"),
            )
    return None


def outdated(obj: JsonObject, observed: int | None = None) -> str:
    """Return that the status, or a condition, is of an older spec; empty if it is not."""
    generation = whole(section(obj, "metadata"), "generation")
    if observed is None:
        observed = whole(section(obj, "status"), "observedGeneration")
    return (
        f"observed generation outdated ({observed}/{generation})" if observed < generation else ""
    )


def violated(obj: JsonObject, type_: str, expected: str, *, required: bool = False) -> str:
    """Return that a condition does not have the expected status; empty if it has.

    A condition that is not set is fine, unless it is *required*.
    """
    condition = find(obj, type_)
    if condition is None:
        return f'condition "{type_}" is missing' if required else ""
    return "" if condition.status == expected else mismatch(condition, expected)


def mismatch(condition: StatusCondition, expected: str) -> str:
    """Return the message for a condition that has another status than expected."""
    return (
        f'condition "{condition.type}" has invalid status {condition.status}'
        f" (expected {expected}) due to {condition.reason}: {condition.message}"
    )

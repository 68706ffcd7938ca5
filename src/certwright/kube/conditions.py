"""Conditions in the status of an object, kept comparable over time; nothing here reads a clock."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from certwright.kube.objects import JsonObject

ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]


class Condition(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One aspect of the state of an object, such as whether it is ready."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: datetime | None = None


def merge_conditions(
    existing: Iterable[Condition], new: Iterable[Condition], now: datetime
) -> list[Condition]:
    """Return *existing* conditions, updated and completed by *new* ones.

    Conditions keep their places; types seen for the first time are appended.
    ``last_transition_time`` moves only when ``status`` does: to the time the new condition
    carries, or else to *now*, in whole seconds because the API stores no finer ones. So
    merging the same conditions again returns equal ones, and nothing needs to be written.
    """
    merged = {condition.type: condition for condition in existing}
    for condition in new:
        before = merged.get(condition.type)
        if before is not None and before.status == condition.status:
            since = before.last_transition_time or condition.last_transition_time or now
        else:
            since = condition.last_transition_time or now
        since = since.replace(microsecond=0)
        merged[condition.type] = replace(condition, last_transition_time=since)
    return list(merged.values())


def find_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition of a type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str, *, generation: int = 0) -> bool:
    """Return whether a condition holds.

    With *generation* it must also have been observed at that generation of the object or
    later; a condition that speaks of an older spec does not count.
    """
    condition = find_condition(conditions, type_)
    return (
        condition is not None
        and condition.status == "True"
        and condition.observed_generation >= generation
    )


def conditions_of(obj: JsonObject) -> list[Condition]:
    """Return the conditions in ``status.conditions`` of any object.

    Entries that are not conditions are left out: the objects of others may hold anything.
    """
    status = obj.get("status")
    entries = status.get("conditions") if isinstance(status, dict) else None
    conditions = []
    for entry in entries if isinstance(entries, list) else ():
        try:
            conditions.append(msgspec.convert(entry, Condition))
        except msgspec.ValidationError:
            continue
    return conditions

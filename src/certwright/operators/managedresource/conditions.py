"""Conditions of a ManagedResource: how they are kept over time.

Unlike those of other kinds they know a fourth status, ``Progressing``, and two times.
``lastTransitionTime`` moves with the status; ``lastUpdateTime`` with reason, message and codes,
and not with the status alone. What each condition says is written in `claims`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from certwright.kube import JsonObject, format_time

APPLIED: Final = "ResourcesApplied"
HEALTHY: Final = "ResourcesHealthy"
PROGRESSING: Final = "ResourcesProgressing"
READY: Final = "Ready"
"""One line for people: whether all is well, and if not, why."""

Status: TypeAlias = Literal["True", "False", "Unknown", "Progressing"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What is to be said about one aspect of a ManagedResource now."""

    type: str
    status: str
    reason: str
    message: str
    codes: tuple[str, ...] = ()


def merged(existing: Any, claims: Iterable[Claim], now: datetime) -> list[JsonObject]:
    """Return ``status.conditions`` after claims were made.

    Conditions keep their places, new ones are appended, those of others are not touched, not
    even fields we do not know. Claiming the same again changes nothing.
    """
    conditions = [dict(c) for c in existing if isinstance(c, dict)] if _is_list(existing) else []
    places = {condition.get("type"): place for place, condition in enumerate(conditions)}
    instant = format_time(now)
    for claim in claims:
        place = places.get(claim.type)
        if place is None:
            places[claim.type] = len(conditions)
            conditions.append(_condition(claim, {}, instant))
        else:
            conditions[place] = _condition(claim, conditions[place], instant)
    return conditions


def current(existing: Any, type_: str) -> Claim:
    """Return what is said about an aspect; ``Unknown`` if nobody has said anything yet."""
    for condition in existing if _is_list(existing) else ():
        if isinstance(condition, dict) and condition.get("type") == type_:
            return Claim(
                type_,
                str(condition.get("status") or "Unknown"),
                str(condition.get("reason") or ""),
                str(condition.get("message") or ""),
                tuple(condition.get("codes") or ()),
            )
    message = "Nothing has been found out about this yet."
    return Claim(type_, "Unknown", "ConditionInitialized", message)


def _condition(claim: Claim, before: JsonObject, instant: str) -> JsonObject:
    said: JsonObject = {
        "type": claim.type,
        "status": claim.status,
        "reason": claim.reason or "Unspecified",
        "message": claim.message or "No message given.",
    }
    if claim.codes:
        said["codes"] = list(claim.codes)
    same_status = before.get("status") == claim.status
    same_words = all(before.get(name) == said.get(name) for name in ("reason", "message")) and (
        (before.get("codes") or []) == list(claim.codes)
    )
    since = before.get("lastTransitionTime") if same_status else None
    told = before.get("lastUpdateTime") if same_words else None
    said["lastTransitionTime"] = since or instant
    said["lastUpdateTime"] = told or instant
    others = {name: value for name, value in before.items() if name != "codes"}
    return {**others, **said}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)

"""What is told of a condition that a status write changed: a count, a log line, an event.

All writes of statuses pass here, of every controller. A condition that its kind expects to be
True and that becomes False is a warning in the log and, if the controller says so, an event; that
it is True again is told, too. All other changes are for the log at level debug. Of one write the
first change of the kind's expected conditions becomes the event: the others have the same cause.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import structlog

from certwright.kube import JsonObject, key_of
from certwright.runtime.serve.logs import redact_text
from certwright.runtime.writes.events import EventType, shorten

MAX_FAILED: Final = 4096
"""How many failures are remembered until they are over; without it their end is not told."""
LOGGED_BYTES: Final = 512

FailedConditions: TypeAlias = dict[tuple[str, str], None]
"""Conditions that were told to be False and are not True yet: uid and type, oldest first."""

_FIELDS: Final = ("type", "status", "reason", "message")
_log = structlog.get_logger()


class ConditionChange(NamedTuple):
    """A condition that says something else than before."""

    type: str
    status: str
    reason: str
    message: str
    before: str
    """The status that it had; empty if it is new."""


def changed_conditions(before: Any, after: Any) -> list[ConditionChange]:
    """Return the conditions of *after* that differ from *before*, both as in a status.

    What is not a condition is left out: a status may hold anything.
    """
    known = {one["type"]: one for one in conditions_in(before)}
    changes = []
    for one in conditions_in(after):
        old = known.get(one["type"]) or {}
        if any(old.get(name) != one.get(name) for name in _FIELDS):
            said = {name: str(one.get(name) or "") for name in _FIELDS}
            changes.append(ConditionChange(**said, before=str(old.get("status") or "")))
    return changes


class _Status(msgspec.Struct):
    conditions: Any = None


class _Conditioned(msgspec.Struct):
    status: _Status | None = None


_DECODER: Final = msgspec.json.Decoder(_Conditioned)


def read_conditions(raw: bytes) -> JsonObject:
    """Return the status of an object, reduced to its conditions; empty if it cannot be read."""
    try:
        status = _DECODER.decode(raw).status
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {} if status is None else {"conditions": status.conditions}


def conditions_in(status: Any) -> list[JsonObject]:
    """Return what has the shape of a condition."""
    entries = status.get("conditions") if isinstance(status, dict) else None
    return [
        one
        for one in (entries if isinstance(entries, list) else ())
        if isinstance(one, dict) and all(isinstance(one.get(name), str) for name in _FIELDS[:2])
    ]


class ConditionReporter:
    """Tells of the changed conditions of one controller's objects.

    *count* is called with kind, type and status of each condition whose status changed, *record*
    with the object, type, reason and note of each event. *failed* is shared by the controllers of a
    process, since several may write the conditions of a kind.
    """

    def __init__(
        self,
        controller: str,
        expected: Sequence[str],
        *,
        count: Callable[[str, str, str], None],
        failed: FailedConditions,
        record: Callable[[JsonObject, EventType, str, str], None] | None = None,
    ) -> None:
        self._expected = {type_: place for place, type_ in enumerate(expected)}
        self._count = count
        self._failed = failed
        self._record = record
        self._log = _log.bind(controller=controller)

    def written(self, before: Any, stored: JsonObject) -> None:
        """Report which conditions a write of a status changed; *before* is the status as it was."""
        changes = changed_conditions(before, stored.get("status"))
        told = [change for change in changes if self._tell(change, stored)]
        if told and self._record is not None:
            # What failed comes first, then the order in which the kind lists its conditions.
            first = min(told, key=lambda c: (c.status != "False", self._expected[c.type]))
            type_: EventType = "Warning" if first.status == "False" else "Normal"
            self._record(stored, type_, first.reason, first.message)

    def _is_expected(self, type_: str, stored: JsonObject) -> bool:
        """Return whether a condition should be True; once deletion began, only the first one."""
        deleting = stored["metadata"].get("deletionTimestamp")
        return not self._expected.get(type_, 1) if deleting else type_ in self._expected

    def _tell(self, change: ConditionChange, stored: JsonObject) -> bool:
        """Count and log a change; return whether it is worth an event."""
        kind = str(stored.get("kind", ""))
        if change.status != change.before:
            self._count(kind, change.type, change.status)
        failure = (str(stored["metadata"].get("uid", "")), change.type)
        if change.before == "False":
            self._failed[failure] = None
        level, worth = logging.DEBUG, False
        if self._is_expected(change.type, stored) and change.status == "False":
            self._failed[failure] = None
            level, worth = logging.WARNING, True
        elif change.status == "True" and self._failed.pop(failure, "") is None:
            level, worth = logging.INFO, change.type in self._expected
        while len(self._failed) > MAX_FAILED:
            del self._failed[next(iter(self._failed))]
        if self._log.is_enabled_for(level):
            self._log.log(
                level,
                "condition changed",
                kind=kind,
                key=str(key_of(stored)),
                type=change.type,
                status=change.status,
                before=change.before,
                reason=change.reason,
                message=shorten(redact_text(change.message), LOGGED_BYTES),
            )
        return worth

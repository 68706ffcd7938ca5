"""Rules of leases and events."""

from collections.abc import Iterator
from typing import Final

from certwright.apiserver.builtins.rules.checks import non_negative, qualified_name
from certwright.apiserver.causes import invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128}
_NOTE_LIMIT: Final = 1024
_DEPRECATED: Final = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def validate_lease(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Durations are positive, transitions are counted."""
    spec, causes = new["spec"], list[Cause]()
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        why = "must be greater than 0"
        causes.append(invalid_value("spec.leaseDurationSeconds", duration, why))
    return causes + non_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


def validate_core_event(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that an event is in the namespace of its object."""
    return [] if old else list(_event_causes(new, "involvedObject", "reportingComponent"))


def validate_event(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that an event has its time, action, reason and reporter."""
    if old is not None:
        return []
    causes = list(_event_causes(new, "regarding", "reportingController"))
    series = new.get("series")
    if series is not None and series.get("count", 0) < 2:
        causes.append(invalid_value("series.count", "", "should be at least 2"))
    if not new.get("eventTime"):
        causes.append(required("eventTime"))
    if new.get("type") not in {"Normal", "Warning"}:
        causes.append(invalid_value("type", "", f"has invalid value: {new.get('type') or ''}"))
    for field, shown in _DEPRECATED.items():
        if new.get(field):
            causes.append(invalid_value(shown, "", "needs to be unset"))
    if new.get("deprecatedSource"):
        causes.append(invalid_value("source", "", "needs to be unset"))
    return causes


def _event_causes(new: JsonObject, about: str, reporter: str) -> Iterator[Cause]:
    where = new["metadata"].get("namespace") or ""
    target = (new.get(about) or {}).get("namespace") or ""
    mismatch = invalid_value("involvedObject.namespace", target, "does not match event.namespace")
    if not new.get("eventTime"):
        if target != where and (target or where not in {"", "default"}):
            yield mismatch
        return
    if not target and where not in {"default", "kube-system"}:
        yield mismatch
    if not new.get(reporter):
        yield required(reporter)
    yield from qualified_name(new.get(reporter) or "", reporter)
    for field, limit in _LIMITS.items():
        if not new.get(field):
            yield required(field)
        elif len(new[field]) > limit:
            yield invalid_value(field, "", f"can have at most {limit} characters")
    if len(new.get("message") or new.get("note") or "") > _NOTE_LIMIT:
        yield invalid_value("message", "", f"can have at most {_NOTE_LIMIT} characters")

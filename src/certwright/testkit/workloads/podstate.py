"""What the controllers of workloads read off a pod."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from certwright.kube import JsonObject
from certwright.kube.timestamps import parse_time

_ENDED: Final = frozenset({"Succeeded", "Failed"})


def phase_of(pod: JsonObject) -> str:
    """Return the phase of a pod."""
    phase: str = (pod.get("status") or {}).get("phase") or ""
    return phase


def is_deleting(obj: JsonObject) -> bool:
    """Return whether deletion of an object was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def has_ended(pod: JsonObject) -> bool:
    """Return whether a pod has succeeded or failed."""
    return phase_of(pod) in _ENDED


def is_active(pod: JsonObject) -> bool:
    """Return whether a pod counts as a replica: it has not ended and is not being deleted."""
    return not has_ended(pod) and not is_deleting(pod)


def is_terminating(pod: JsonObject) -> bool:
    """Return whether a pod that has not ended is being deleted."""
    return not has_ended(pod) and is_deleting(pod)


def pod_condition(pod: JsonObject, type_: str) -> JsonObject | None:
    """Return a condition of a pod, or None."""
    conditions: Iterable[JsonObject] = (pod.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), None)


def is_ready(pod: JsonObject) -> bool:
    """Return whether a pod is ready."""
    condition = pod_condition(pod, "Ready")
    return condition is not None and condition.get("status") == "True"


def ready_since(pod: JsonObject) -> datetime | None:
    """Return since when a pod is ready; None if it is not."""
    condition = pod_condition(pod, "Ready")
    if condition is None or condition.get("status") != "True":
        return None
    stamp = condition.get("lastTransitionTime")
    return parse_time(stamp) if stamp else None


def is_available(pod: JsonObject, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether a pod has been ready for long enough."""
    if not is_ready(pod):
        return False
    since = ready_since(pod)
    wanted = timedelta(seconds=min_ready_seconds)
    return not wanted or (since is not None and since + wanted <= now)


def next_availability(
    pods: Iterable[JsonObject], min_ready_seconds: int, now: datetime
) -> float | None:
    """Return the seconds until the next ready pod becomes available, or None."""
    if not min_ready_seconds:
        return None
    wanted = timedelta(seconds=min_ready_seconds)
    waits = [
        (since + wanted - now).total_seconds()
        for pod in pods
        if (since := ready_since(pod)) is not None
    ]
    return min((wait for wait in waits if wait > 0), default=None)


def restarts_of(pod: JsonObject) -> int:
    """Return the highest restart count of a pod's containers."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((status.get("restartCount", 0) for status in statuses), default=0)

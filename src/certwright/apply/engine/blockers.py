"""What keeps an object from going, in words: finalizers, and for how long."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from certwright.apply.cluster import Live
from certwright.kube import JsonObject, parse_time
from certwright.kube.conditions import conditions_of

MAX_EVENTS: Final = 5
_LONGEST_MESSAGE: Final = 1000
_FOREGROUND: Final = "foregroundDeletion"


def blockers(live: Live, now: datetime) -> str:
    """Return what an object that is being deleted waits for, and for how long it has."""
    since = live.deleted_at
    return _held(live, f" for {human_duration(now - since)}" if since else "")


def obstacles(live: Live) -> str:
    """Return what an object that is being deleted waits for, in words that stay true with time."""
    return _held(live, f" since {live.metadata.get('deletionTimestamp')}")


def _held(live: Live, age: str) -> str:
    finalizers = live.finalizers
    if not finalizers:
        return f"it has been shutting down{age}"
    if finalizers == [_FOREGROUND]:
        return f"it has been waiting for its dependents to go{age}"
    names = ", ".join(name for name in finalizers if name != _FOREGROUND)
    word = "finalizer" if "," not in names else "finalizers"
    return f"held by {word} {names}{age}{_remaining(live)}"


def _remaining(live: Live) -> str:
    """Return what a Namespace says about the content it waits for."""
    found = [
        condition.message
        for condition in conditions_of(live.obj)
        if condition.type.startswith("Namespace") and condition.status == "True"
    ]
    return f" ({'; '.join(found)})" if found else ""


def human_duration(duration: timedelta) -> str:
    """Return a duration as kubectl prints ages: about two digits, the larger units first."""
    seconds = max(0, int(duration.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def events_text(events: Iterable[JsonObject], now: datetime) -> str:
    """Return the latest warnings about an object as lines, the newest last; empty without any."""
    return _block(_line(event, now) for event in _latest(events))


def lasting_events_text(events: Iterable[JsonObject]) -> str:
    """Return the latest warnings without ages and counts, in the order they were first seen."""
    latest = sorted(_latest(events), key=_first_seen)
    return _block(dict.fromkeys(f"{_who(event)} reported: {_message(event)}" for event in latest))


def _latest(events: Iterable[JsonObject]) -> list[JsonObject]:
    warnings = [event for event in events if event.get("type") == "Warning"]
    return sorted(warnings, key=_last_seen)[-MAX_EVENTS:]


def _block(lines: Iterable[str]) -> str:
    starred = [f"* {line}" for line in lines]
    return "\n".join(["-> Events:", *starred]) if starred else ""


def _who(event: JsonObject) -> str:
    source: Any = event.get("source")
    component = source.get("component") if isinstance(source, dict) else None
    return str(component or event.get("reportingComponent") or "an unknown component")


def _message(event: JsonObject) -> str:
    return " ".join(str(event.get("message") or "").split())[:_LONGEST_MESSAGE]


def _line(event: JsonObject, now: datetime) -> str:
    count = event.get("count") or 1
    seen, first = _instant(_last_seen(event)), _instant(str(event.get("firstTimestamp") or ""))
    ago = human_duration(now - seen) if seen else "some time"
    times = ""
    if isinstance(count, int) and count > 1 and first:
        times = f" (x{count} over {human_duration(now - first)})"
    return f"{_who(event)} reported {ago} ago{times}: {_message(event)}"


def _last_seen(event: JsonObject) -> str:
    metadata = event.get("metadata") or {}
    times = (event.get("lastTimestamp"), event.get("eventTime"), metadata.get("creationTimestamp"))
    return str(next((time for time in times if time), ""))


def _first_seen(event: JsonObject) -> str:
    metadata = event.get("metadata") or {}
    times = (event.get("firstTimestamp"), event.get("eventTime"), metadata.get("creationTimestamp"))
    return str(next((time for time in times if time), ""))


def _instant(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"

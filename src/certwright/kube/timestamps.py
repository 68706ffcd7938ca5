"""Instants as Kubernetes writes them: RFC 3339 in UTC.

``Time`` (most timestamps) counts seconds, ``MicroTime`` (leases, events) has six decimals.
Python has no finer resolution than the microsecond, so further decimals are cut off.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


@lru_cache(maxsize=1024)  # most are read again and again: of conditions, of owners of fields
def parse_time(text: str) -> datetime:
    """Read a timestamp as aware, in UTC; `ValueError` if *text* is not RFC 3339, or no instant."""
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a timestamp such as 2006-01-02T15:04:05Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    microsecond = int((match[7] or "0")[:6].ljust(6, "0"))
    try:
        instant = datetime(year, month, day, hour, minute, second, microsecond, _offset(match))
        return instant.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not an instant: {error}") from error


def format_time(instant: datetime) -> str:
    """Write a ``Time``: whole seconds, the rest cut off; `ValueError` without a time zone."""
    return _utc(instant).isoformat(timespec="seconds") + "Z"


def format_micro_time(instant: datetime) -> str:
    """Write a ``MicroTime``: always six decimals; `ValueError` without a time zone."""
    return _utc(instant).isoformat(timespec="microseconds") + "Z"


def _offset(match: re.Match[str]) -> timezone:
    if match[8] is None:
        return UTC
    hours, minutes = int(match[9]), int(match[10])
    if minutes > 59:  # timezone itself refuses a day and more
        raise ValueError(f"the offset {match[8]}{match[9]}:{match[10]} is out of range")
    distance = timedelta(hours=hours, minutes=minutes)
    return timezone(distance if match[8] == "+" else -distance)


def _utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone; an API timestamp is an instant")
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    return instant.replace(tzinfo=None)

"""Maintenance windows: a cron expression says when one opens, a duration how long it is open.

Times are those of a time zone. A time that the clocks skip in spring means the moment an hour
later, and one that they repeat in autumn means the first of the two, so that every window opens
exactly once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LONGEST: Final = timedelta(days=7)
"""How long a window may be."""
_LONGEST_TEXT: Final = 128
_HORIZON_DAYS: Final = 8 * 366 + 1
"""Between two 29ths of February there are at most eight years."""

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """The moments that a cron expression of five fields names, without a time zone."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    either_day: bool
    """Whether a day counts if one of both fields names it: both are restricted."""

    @classmethod
    def parse(cls, text: str) -> "CronSchedule":
        """Read an expression; `ValueError` says what is wrong with it."""
        if len(text) > _LONGEST_TEXT:
            raise ValueError(f"a cron expression has at most {_LONGEST_TEXT} characters")
        fields = _SHORT.get(text.strip().lower(), text).split()
        if len(fields) != 5:
            raise ValueError(
                f"{text!r} is not a cron expression: minute, hour, day of month, month, day of week"
            )
        weekdays = {day % 7 for day in _numbers(fields[4], 0, 7, _DAYS)}
        schedule = cls(
            minutes=tuple(sorted(_numbers(fields[0], 0, 59))),
            hours=tuple(sorted(_numbers(fields[1], 0, 23))),
            days=frozenset(_numbers(fields[2], 1, 31)),
            months=frozenset(_numbers(fields[3], 1, 12, _MONTHS)),
            weekdays=frozenset(weekdays),
            either_day=not any(field.startswith(("*", "?")) for field in (fields[2], fields[4])),
        )
        if not schedule.either_day and min(schedule.days) > _longest_month(schedule.months):
            raise ValueError(f"{text!r} names a day that no such month has")
        return schedule

    def names(self, day: date) -> bool:
        """Return whether there is such a moment on a day."""
        if day.month not in self.months:
            return False
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return (by_date or by_weekday) if self.either_day else (by_date and by_weekday)


@dataclass(frozen=True, slots=True)
class MaintenanceWindow:
    """When something may happen: it opens at the moments of a schedule, for a duration."""

    schedule: CronSchedule
    duration: timedelta
    zone: str = "UTC"

    @classmethod
    def parse(cls, cron: str, duration: timedelta, zone: str = "UTC") -> "MaintenanceWindow":
        """Read a window; `ValueError` says what is wrong with it."""
        if not timedelta() < duration <= LONGEST:
            raise ValueError(
                f"a maintenance window lasts at most {LONGEST.days} days, not {duration}"
            )
        _zone(zone)
        return cls(CronSchedule.parse(cron), duration, zone)

    def is_open(self, now: datetime) -> bool:
        """Return whether *now* is within the window."""
        return any(start <= now for start in self._starts(now - self.duration, now))

    def opens(self, now: datetime) -> datetime:
        """Return when the window opens next after *now*, in UTC."""
        return next(self._starts(now, now + timedelta(days=_HORIZON_DAYS)))

    def closes(self, now: datetime) -> datetime:
        """Return when the window that is open *now* closes, in UTC."""
        return max(self._starts(now - self.duration, now)) + self.duration

    def _starts(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the moments it opens at, later than *after* and not later than *until*."""
        zone = _zone(self.zone)
        day = after.astimezone(zone).date() - timedelta(days=1)
        last = until.astimezone(zone).date()
        while day <= last:
            if self.schedule.names(day):
                for hour in self.schedule.hours:
                    for minute in self.schedule.minutes:
                        local = datetime.combine(day, time(hour, minute), zone)
                        start = local.astimezone(UTC)
                        if after < start <= until:
                            yield start
            day += timedelta(days=1)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError) as error:
        raise ValueError(
            f"time zone {name[:64]!r} is not known; use one such as Europe/Berlin"
        ) from error


def _longest_month(months: frozenset[int]) -> int:
    return max(29 if month == 2 else 30 if month in {4, 6, 9, 11} else 31 for month in months)


def _numbers(field: str, low: int, high: int, names: tuple[str, ...] = ()) -> set[int]:
    """Return the numbers that one field of an expression means."""
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, 1, high) if slash else 1
        if span in {"*", "?"}:
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, low, high, names)
            last = _number(end, low, high, names) if dash else (high if slash else first)
        if last < first:
            raise ValueError(f"{part!r} in a cron expression ends before it begins")
        found.update(range(first, last + 1, step))
    return found


def _number(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> int:
    word = text.lower()
    if word in names:
        return names.index(word) + (1 if names is _MONTHS else 0)
    if not (text.isascii() and text.isdigit()) or not low <= int(text) <= high:
        raise ValueError(f"{text!r} in a cron expression is not a number from {low} to {high}")
    return int(text)

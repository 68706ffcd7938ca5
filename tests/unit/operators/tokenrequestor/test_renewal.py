"""When tokens are renewed."""

from datetime import UTC, datetime, timedelta

import pytest

from certwright.operators.tokenrequestor.request import renew_time, until_renewal, write_renew_time

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Dice:
    def __init__(self, value: float) -> None:
        self._value = value

    def random(self) -> float:
        return self._value


@pytest.mark.parametrize(
    ("life", "dice", "expected"),
    [
        (timedelta(hours=10), 0.0, timedelta(hours=8)),
        (timedelta(hours=10), 1.0, timedelta(hours=8, minutes=24)),
        (timedelta(hours=24), 0.0, timedelta(hours=19.2)),
        (timedelta(days=90), 0.0, timedelta(hours=19.2)),
        (timedelta(minutes=10), 0.0, timedelta(minutes=8)),
    ],
)
def test_at_four_fifths_of_a_life_of_a_day_at_most(
    life: timedelta, dice: float, expected: timedelta
) -> None:
    assert renew_time(NOW, NOW + life, Dice(dice)) - NOW == expected


@pytest.mark.parametrize(
    "timestamp", [None, "", "tomorrow", "2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z"]
)
def test_what_is_past_missing_or_unreadable_is_due(timestamp: str | None) -> None:
    assert until_renewal(timestamp, NOW) is None


def test_what_lies_ahead_is_awaited() -> None:
    assert until_renewal("2026-01-01T00:00:01Z", NOW) == timedelta(seconds=1)


def test_a_timestamp_too_far_ahead_is_ignored() -> None:
    farthest = renew_time(NOW, NOW + timedelta(days=90), Dice(1.0))
    assert until_renewal(write_renew_time(farthest), NOW) is not None
    assert until_renewal("2031-01-01T00:00:00Z", NOW) is None


def test_timestamps_are_read_as_they_are_written() -> None:
    assert write_renew_time(NOW + timedelta(hours=1)) == "2026-01-01T01:00:00Z"

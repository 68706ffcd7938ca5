"""Maintenance windows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.operators.rollout.decision.window import CronSchedule, MaintenanceWindow

HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(cron: str, hours: float = 2, zone: str = "UTC") -> MaintenanceWindow:
    return MaintenanceWindow.parse(cron, hours * HOUR, zone)


@pytest.mark.parametrize(
    ("cron", "moment", "expected"),
    [
        ("0 2 * * *", "2031-05-17T01:59:59", False),
        ("0 2 * * *", "2031-05-17T02:00:00", True),
        ("0 2 * * *", "2031-05-17T03:59:59", True),
        ("0 2 * * *", "2031-05-17T04:00:00", False),
        ("0 23 * * *", "2031-05-18T00:30:00", True),  # since the day before
        ("0 2 * * 6", "2031-05-17T02:30:00", True),  # a Saturday
        ("0 2 * * sat", "2031-05-18T02:30:00", False),
        ("0 2 * * 7", "2031-05-18T02:30:00", True),
        ("0 2 1-7 * *", "2031-05-17T02:30:00", False),
        ("0 2 17 * mon", "2031-05-17T02:30:00", True),  # either of both
        ("0 2 18 * sat", "2031-05-17T02:30:00", True),
        ("*/15 2 * may *", "2031-05-17T02:30:00", True),
        ("@daily", "2031-05-17T01:00:00", True),
    ],
)
def test_open(cron: str, moment: str, *, expected: bool) -> None:
    assert window(cron).is_open(at(moment)) is expected


@pytest.mark.parametrize(
    ("cron", "moment", "opens"),
    [
        ("0 2 * * *", "2031-05-17T01:00:00", "2031-05-17T02:00:00"),
        ("0 2 * * *", "2031-05-17T02:00:00", "2031-05-18T02:00:00"),
        ("0 2 * * 1", "2031-05-17T01:00:00", "2031-05-19T02:00:00"),
        ("0 0 29 2 *", "2031-05-17T01:00:00", "2032-02-29T00:00:00"),
        ("0 0 1 1 *", "2031-05-17T01:00:00", "2032-01-01T00:00:00"),
    ],
)
def test_opens(cron: str, moment: str, opens: str) -> None:
    assert window(cron).opens(at(moment)) == at(opens)


def test_time_zones() -> None:
    berlin = window("0 2 * * *", zone="Europe/Berlin")
    assert berlin.opens(at("2031-01-10T00:00:00")) == at("2031-01-10T01:00:00")
    assert berlin.opens(at("2031-07-10T00:00:00")) == at("2031-07-11T00:00:00")


def test_a_time_that_the_clocks_skip_is_not_lost() -> None:
    """On 30 March 2031 there is no half past two in Berlin."""
    skipped = window("30 2 * * *", zone="Europe/Berlin")
    assert skipped.opens(at("2031-03-30T00:00:00")) == at("2031-03-30T01:30:00")


def test_a_time_that_the_clocks_repeat_opens_once() -> None:
    """On 26 October 2031 there are two of it."""
    repeated = window("30 2 * * *", hours=0.25, zone="Europe/Berlin")
    first = repeated.opens(at("2031-10-25T12:00:00"))
    assert first == at("2031-10-26T00:30:00")
    assert repeated.opens(first) == at("2031-10-27T01:30:00")


@pytest.mark.parametrize(
    "cron",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *",
     "1-0 * * * *", "*/0 * * * *", "0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6 *", "1,,2 * * * *",
     "² * * * *", "* " * 100],
)  # fmt: skip
def test_wrong_expressions(cron: str) -> None:
    with pytest.raises(ValueError, match=r"cron|names a day"):
        CronSchedule.parse(cron)


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "x" * 200, ""]
)
def test_wrong_zones(zone: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        MaintenanceWindow.parse("0 2 * * *", HOUR, zone)


@pytest.mark.parametrize("hours", [0, -1, 8 * 24])
def test_wrong_durations(hours: int) -> None:
    with pytest.raises(ValueError, match="maintenance window lasts"):
        window("0 2 * * *", hours)


@given(
    st.integers(0, 5 * 366 * 24 * 60),
    st.sampled_from(["0 2 * * *", "30 23 * * 5", "15 4 1 * *", "0 */6 * * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland"]),
)
def test_it_is_open_when_it_opens_and_not_before(minutes: int, cron: str, zone: str) -> None:
    now = at("2030-01-01T00:00:00") + timedelta(minutes=minutes)
    short = window(cron, 0.5, zone)
    opens = short.opens(now)
    assert opens > now
    assert short.is_open(opens)
    assert short.is_open(opens + timedelta(minutes=29))
    assert short.closes(opens) == opens + timedelta(minutes=30)
    assert not short.is_open(opens - timedelta(seconds=1))

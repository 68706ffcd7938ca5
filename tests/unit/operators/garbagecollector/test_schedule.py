"""When the next pass is due."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.kube import JsonObject, Key
from certwright.operators.garbagecollector import CollectorSettings
from certwright.operators.garbagecollector.schedule import due_in, lease_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOME = Key("ns", "gc")


def test_a_pass_is_due_when_there_was_none() -> None:
    assert due_in(None, NOW, HOUR) == timedelta()


@settings(deadline=None)
@given(st.timedeltas(timedelta(), timedelta(days=2)))
def test_after_a_pass_the_period_must_go_by(passed: timedelta) -> None:
    lease = lease_of(HOME, NOW, HOUR)
    assert due_in(lease, NOW + passed, HOUR) == max(HOUR - passed, timedelta())


def test_a_clock_that_was_set_back_delays_by_no_more_than_two_periods() -> None:
    assert due_in(lease_of(HOME, NOW + HOUR, HOUR), NOW, HOUR) == HOUR
    assert due_in(lease_of(HOME, NOW + HOUR * 1.01, HOUR), NOW, HOUR) == timedelta()


def test_a_period_made_shorter_counts_at_once() -> None:
    lease = lease_of(HOME, NOW, timedelta(hours=12))
    assert due_in(lease, NOW, HOUR) == HOUR


@pytest.mark.parametrize(
    "spec", [None, {}, {"renewTime": "yesterday", "leaseDurationSeconds": 1}, {"renewTime": None}]
)
def test_a_lease_that_says_nothing_holds_up_nothing(spec: JsonObject | None) -> None:
    assert due_in({"spec": spec}, NOW, HOUR) == timedelta()


def test_a_lease_lasts_a_second_at_least() -> None:
    lease = lease_of(HOME, NOW, timedelta(milliseconds=10))
    assert lease["spec"]["leaseDurationSeconds"] == 1


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="period"):
        CollectorSettings(period=timedelta())
    with pytest.raises(ValueError, match="lifetime"):
        CollectorSettings(minimum_lifetime=timedelta(seconds=-1))
    assert CollectorSettings(minimum_lifetime=timedelta()).minimum_lifetime == timedelta()

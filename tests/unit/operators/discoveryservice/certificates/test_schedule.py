from datetime import UTC, datetime, timedelta

import pytest

from certwright.operators.discoveryservice.certificates.schedule import Schedule
from certwright.pki import Validity

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def made(lifetime: int, lead: int = 0) -> Validity:
    return Validity(after(-lead), after(lifetime))


@pytest.mark.scenario("DS-12")
def test_the_instant_itself_is_not_yet_due() -> None:
    schedule = Schedule(made(100), spread=0)
    assert schedule.window == timedelta(seconds=20)
    assert not schedule.is_due(after(79))
    assert not schedule.is_due(after(80))
    assert not schedule.is_in_window(after(80))
    assert schedule.is_due(after(80) + timedelta(microseconds=1))
    assert schedule.is_in_window(after(80) + timedelta(microseconds=1))


@pytest.mark.scenario("DS-56")
@pytest.mark.parametrize(
    ("now", "renewed", "sleep"),
    [(60, True, 20), (79.5, True, 1), (81, True, 1), (60, False, 20), (81, False, 20)],
)
def test_wakes_exactly_when_something_changes(
    now: float,
    renewed: bool,  # noqa: FBT001 - a case
    sleep: float,
) -> None:
    schedule = Schedule(made(100, lead=2), spread=0)
    assert schedule.sleep(after(now), renewed=renewed) == timedelta(seconds=sleep)


def test_what_has_expired_and_is_not_renewed_needs_no_look() -> None:
    assert Schedule(made(100)).sleep(after(120), renewed=False) is None
    assert Schedule(made(100)).sleep(after(120), renewed=True) == timedelta(seconds=1)


@pytest.mark.scenario("DS-20")
def test_five_hundred_are_spread_over_the_first_part_of_the_window() -> None:
    validity = made(172800)
    dues = [Schedule(validity, f"uid-{number}").due for number in range(500)]
    begins = validity.not_after - timedelta(seconds=34560)
    shifts = sorted((due - begins).total_seconds() for due in dues)
    assert 0 <= shifts[0] < 60
    assert 1600 < shifts[-1] < 34560 / 20
    busiest = max(sum(s <= shift < s + 60 for shift in shifts) for s in range(0, 1728, 60))
    assert busiest < 40


def test_the_window_is_that_of_the_certificate_and_not_of_a_spec() -> None:
    assert Schedule(made(5)).window == timedelta(seconds=1)
    assert Schedule(made(4)).window == timedelta(0)

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import format_time, parse_time
from certwright.kube.timestamps import format_micro_time

INSTANTS = st.timedeltas(timedelta(0), timedelta(days=9000 * 365)).map(
    lambda since: datetime(2, 1, 1, tzinfo=UTC) + since
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-02-29T12:30:45Z", datetime(2024, 2, 29, 12, 30, 45, tzinfo=UTC)),
        ("2024-02-29T12:30:45.5Z", datetime(2024, 2, 29, 12, 30, 45, 500_000, tzinfo=UTC)),
        ("2024-02-29T12:30:45.123456789Z", datetime(2024, 2, 29, 12, 30, 45, 123_456, tzinfo=UTC)),
        ("2024-02-29T12:30:45+05:30", datetime(2024, 2, 29, 7, 0, 45, tzinfo=UTC)),
        ("2024-02-29T23:30:45-01:00", datetime(2024, 3, 1, 0, 30, 45, tzinfo=UTC)),
        ("2024-02-29T12:30:45+23:59", datetime(2024, 2, 28, 12, 31, 45, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_reads_rfc_3339_into_utc(text: str, instant: datetime) -> None:
    assert parse_time(text) == instant
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "", "2024-02-29", "2024-02-29 12:30:45Z", "2024-02-29T12:30:45", "2024-02-29t12:30:45z",
        "2024-02-29T12:30Z", "2024-02-29T12:30:45.Z", "2024-02-29T12:30:45+0100",
        "2024-02-29T12:30:45Z ", "٢024-02-29T12:30:45Z",
    ],
)  # fmt: skip
def test_refuses_other_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a timestamp such as"):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29T12:30:45Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z", "0000-01-01T00:00:00Z", "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+01:60", "0001-01-01T00:00:00+01:00",
    ],
)  # fmt: skip
def test_refuses_instants_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match="is not an instant"):
        parse_time(text)


def test_writes_seconds_and_microseconds_in_utc() -> None:
    instant = datetime(2024, 2, 29, 12, 30, 45, 999_999, timezone(timedelta(hours=2)))
    assert format_time(instant) == "2024-02-29T10:30:45Z"
    assert format_micro_time(instant) == "2024-02-29T10:30:45.999999Z"
    assert format_micro_time(instant.replace(microsecond=0)) == "2024-02-29T10:30:45.000000Z"


def test_refuses_to_guess_a_time_zone() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        format_time(datetime(2024, 2, 29))  # noqa: DTZ001 - that is the point


@given(INSTANTS)
def test_micro_times_survive_the_round_trip(instant: datetime) -> None:
    assert parse_time(format_micro_time(instant)) == instant


@given(INSTANTS)
def test_times_survive_the_round_trip_to_the_second(instant: datetime) -> None:
    assert parse_time(format_time(instant)) == instant.replace(microsecond=0)

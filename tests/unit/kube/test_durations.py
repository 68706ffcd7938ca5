from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube.durations import (
    format_duration,
    format_nanoseconds,
    parse_duration,
    parse_nanoseconds,
)


@pytest.mark.parametrize(
    ("text", "duration", "canonical"),
    [
        ("0", timedelta(0), "0s"),
        ("-0", timedelta(0), "0s"),
        ("0s", timedelta(0), "0s"),
        ("90m", timedelta(minutes=90), "1h30m0s"),
        ("1.5h", timedelta(minutes=90), "1h30m0s"),
        ("1h1ms", timedelta(hours=1, milliseconds=1), "1h0m0.001s"),
        ("+5s", timedelta(seconds=5), "5s"),
        ("-1m30s", timedelta(seconds=-90), "-1m30s"),
        ("100ms", timedelta(milliseconds=100), "100ms"),
        ("1.5ms", timedelta(microseconds=1500), "1.5ms"),
        ("10us", timedelta(microseconds=10), "10µs"),
        ("10µs", timedelta(microseconds=10), "10µs"),
        ("10μs", timedelta(microseconds=10), "10µs"),
        (".5s", timedelta(milliseconds=500), "500ms"),
        ("1.s", timedelta(seconds=1), "1s"),
        ("24h", timedelta(days=1), "24h0m0s"),
        ("1s1h", timedelta(seconds=3601), "1h0m1s"),
    ],
)
def test_reads_and_writes_as_go_does(text: str, duration: timedelta, canonical: str) -> None:
    assert parse_duration(text) == duration
    assert format_duration(duration) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "+",
        ".s",
        "s",
        "1",
        "1.5",
        "1d",
        "1 s",
        " 1s",
        "1s ",
        "--1s",
        "1hm",
        "1,5s",
        "\u0661s",
    ],
)
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|has the unit"):
        parse_duration(text)


def test_names_the_unit_it_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"'3d' has the unit 'd'; use ns, us, ms, s, m or h"):
        parse_duration("3d")


def test_keeps_nanoseconds_where_asked_and_cuts_them_towards_zero_otherwise() -> None:
    assert parse_nanoseconds("1.000000001s") == 1_000_000_001
    assert format_nanoseconds(1_000_000_001) == "1.000000001s"
    assert format_nanoseconds(-1) == "-1ns"
    assert parse_duration("1999ns") == timedelta(microseconds=1)
    assert parse_duration("-1999ns") == timedelta(microseconds=-1)


def test_fractions_round_like_gos_floats() -> None:
    assert parse_nanoseconds("0.3333333333333333333h") == 1_200_000_000_000
    assert parse_nanoseconds("0.100000000000000000000h") == 360_000_000_000
    assert parse_nanoseconds("0.9223372036854775807h") == 3_320_413_933_267
    assert parse_nanoseconds("0.92233720368547758089999h") == 3_320_413_933_267


def test_stays_within_gos_range() -> None:
    assert parse_nanoseconds("9223372036854775807ns") == 2**63 - 1
    assert parse_nanoseconds("-9223372036854775808ns") == -(2**63)
    assert format_nanoseconds(-(2**63)) == "-2562047h47m16.854775808s"
    for text in ("9223372036854775808ns", "3000000h", "-9223372036854775809ns"):
        with pytest.raises(ValueError, match="292 years"):
            parse_nanoseconds(text)
    with pytest.raises(ValueError, match="292 years"):
        format_duration(timedelta(days=365 * 300))


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_duration_survives_the_round_trip(nanoseconds: int) -> None:
    assert parse_nanoseconds(format_nanoseconds(nanoseconds)) == nanoseconds


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_every_timedelta_survives_the_round_trip(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration

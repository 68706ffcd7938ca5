from datetime import UTC, datetime, timedelta

import pytest

from certwright.apiserver.gotext import age

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("elapsed", "shown"),
    [
        (timedelta(seconds=-2), "<invalid>"),
        (timedelta(milliseconds=-1), "0s"),
        (timedelta(0), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(seconds=120), "2m"),
        (timedelta(seconds=125), "2m5s"),
        (timedelta(minutes=10, seconds=5), "10m"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3, minutes=5), "3h5m"),
        (timedelta(hours=8, minutes=5), "8h"),
        (timedelta(hours=47), "47h"),
        (timedelta(hours=49), "2d1h"),
        (timedelta(days=8, hours=1), "8d"),
        (timedelta(days=800), "2y70d"),
        (timedelta(days=3650), "10y"),
    ],
)
def test_ages_are_shortened_as_kubectl_does(elapsed: timedelta, shown: str) -> None:
    assert age(NOW - elapsed, NOW) == shown

"""Delays that grow, never exceed the cap, and repeat themselves under a seed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.runtime.queue.backoff import Backoff, new_rng, spread

BACKOFFS = st.builds(
    lambda base, more, factor, jitter, seed: Backoff(
        base, base + more, factor, jitter, rng=new_rng(seed)
    ),
    base=st.floats(0.001, 10),
    more=st.floats(0, 1000),
    factor=st.floats(1, 10),
    jitter=st.floats(0, 1),
    seed=st.integers(0, 100),
)


@given(BACKOFFS, st.integers(1, 5000))
def test_a_delay_stays_between_its_bounds(backoff: Backoff, failures: int) -> None:
    ceiling = backoff.ceiling(failures)
    assert ceiling <= backoff.cap_seconds
    assert ceiling * (1 - backoff.jitter) <= backoff.delay(failures) <= ceiling


@given(BACKOFFS, st.integers(1, 5000))
def test_the_ceiling_never_shrinks(backoff: Backoff, failures: int) -> None:
    assert backoff.ceiling(failures) <= backoff.ceiling(failures + 1)


def test_without_jitter_it_doubles_up_to_the_cap() -> None:
    backoff = Backoff(base_seconds=1, cap_seconds=10, jitter=0)
    assert [backoff.delay(n) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_with_jitter_it_spreads() -> None:
    backoff = Backoff(base_seconds=8, cap_seconds=8, jitter=0.5, rng=new_rng(1))
    delays = [backoff.delay(1) for _ in range(200)]
    assert min(delays) < 4.5
    assert max(delays) > 7.5


def test_a_seed_repeats_itself() -> None:
    one, other = (Backoff(rng=new_rng(7)) for _ in range(2))
    assert [one.delay(n) for n in range(1, 20)] == [other.delay(n) for n in range(1, 20)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base_seconds": 0}, "0 < base <= cap"),
        ({"base_seconds": 2, "cap_seconds": 1}, "0 < base <= cap"),
        ({"factor": 0.5}, "factor >= 1"),
        ({"jitter": 1.5}, "jitter within 0..1"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Backoff(**arguments)


def test_failures_count_from_one() -> None:
    with pytest.raises(ValueError, match="from one"):
        Backoff().delay(0)


def test_spread_covers_its_range() -> None:
    rng = new_rng(3)
    values = [spread(300, 600, rng) for _ in range(500)]
    assert all(300 <= value <= 600 for value in values)
    assert min(values) < 320
    assert max(values) > 580

"""When what came to nothing is tried again."""

import pytest

from certwright.keep.retry import Retries
from certwright.runtime import Backoff


def retries() -> Retries[str]:
    return Retries(Backoff(0.1, 300.0, jitter=0.0))


def test_each_attempt_that_fails_is_repeated_later() -> None:
    found, now = retries(), 0.0
    for delay in (0.1, 0.2, 0.4, 0.8):
        assert found.failed("a", now) == pytest.approx(delay)
        now += delay
    assert found.failed("b", now) == pytest.approx(0.1)


def test_passes_before_the_delay_is_over_do_not_count() -> None:
    found = retries()
    assert found.failed("a", 0.0) == pytest.approx(0.1)
    for number in range(1, 9):
        now = number * 0.01
        assert found.failed("a", now) == pytest.approx(0.1 - now)
    assert found.failed("a", 0.1) == pytest.approx(0.2)


def test_the_first_failure_after_a_long_wait_is_repeated_at_once() -> None:
    found, now = retries(), 0.0
    for _ in range(10):
        now += found.waits("a", now)
    assert found.waits("a", now) > 30
    assert found.failed("a", now) == pytest.approx(0.1)


def test_success_ends_the_count() -> None:
    found = retries()
    found.failed("a", 0.0)
    found.waits("a", 0.0)
    found.forget("a")
    assert found.failed("a", 9.0) == pytest.approx(0.1)
    assert found.waits("a", 9.0) == pytest.approx(0.1)


def test_an_attempt_is_due_once_the_delay_is_over() -> None:
    found = retries()
    assert found.is_due("a", 0.0)
    found.failed("a", 0.0)
    assert not found.is_due("a", 0.05)
    assert found.is_due("a", 0.1)
    assert found.is_due("b", 0.05)

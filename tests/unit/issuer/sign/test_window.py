"""How long errors are retried."""

from datetime import timedelta

import pytest
from tests.support.issuer.issuer_rows import T1

from certwright.issuer.sign.window import (
    MAX_RETRY_ANNOTATION,
    is_window_open,
    max_retry_of,
    window_start,
)
from certwright.kube import Condition, JsonObject

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("elapsed", "max_retry", "is_open"),
    [
        (timedelta(), MINUTE, True),
        (MINUTE - timedelta(seconds=1), MINUTE, True),
        (MINUTE, MINUTE, False),
        (timedelta(), timedelta(), False),
        (-timedelta(hours=1), MINUTE, True),
    ],
)
def test_windows(elapsed: timedelta, max_retry: timedelta, *, is_open: bool) -> None:
    assert is_window_open(T1, max_retry, T1 + elapsed) is is_open


def since(type_: str, minutes: int) -> Condition:
    return Condition(type=type_, status="True", last_transition_time=T1 + minutes * MINUTE)


def test_it_opens_when_signing_became_possible() -> None:
    assert window_start(T1, (), None) == T1
    assert window_start(T1, (since("Approved", 5),), since("Ready", 3)) == T1 + 5 * MINUTE
    assert window_start(T1, (since("Approved", 5),), since("Ready", 9)) == T1 + 9 * MINUTE
    assert window_start(T1, (since("Other", 5),), Condition(type="Ready", status="True")) == T1


def test_issuers_and_requests_may_set_their_own() -> None:
    default = timedelta(minutes=10)

    def says(text: str) -> JsonObject:
        return {MAX_RETRY_ANNOTATION: text}

    assert max_retry_of(default, {}, {}) == default
    assert max_retry_of(default, says("5m"), {}) == timedelta(minutes=5)
    assert max_retry_of(default, says("5m"), says("0s")) == timedelta()
    assert max_retry_of(default, says("nonsense"), says("-3h")) == timedelta()

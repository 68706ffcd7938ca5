"""A pod that ends has ended before it is killed."""

from datetime import timedelta

from certwright.listener import CLOSE_SECONDS
from certwright.operators.discoveryservice.pod import DRAIN, SHUTDOWN, SHUTDOWN_DELAY
from certwright.webhook import ReviewLimits

GRACE = timedelta(seconds=30)
"""What pods get that do not ask for more."""


def test_all_that_it_waits_for_fits_into_what_it_gets() -> None:
    closed = timedelta(seconds=2 * CLOSE_SECONDS)
    assert DRAIN + SHUTDOWN_DELAY + SHUTDOWN + closed < GRACE


def test_a_review_that_comes_last_has_its_time() -> None:
    assert ReviewLimits().review < SHUTDOWN

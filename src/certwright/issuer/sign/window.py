"""How long ordinary errors are retried before a request counts as failed. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from certwright.kube import Condition, find_condition
from certwright.kube.durations import parse_duration

MAX_RETRY_ANNOTATION = "issuer.certwright.dev/max-retry"
"""On an issuer or on a request: overrides the app's window, as a Go duration."""


def window_start(
    created: datetime, conditions: tuple[Condition, ...], issuer_ready: Condition | None
) -> datetime:
    """Return when a request could have been signed first.

    That is when it existed, was approved and its issuer was ready: neither a slow approval
    nor an outage of the issuer uses the window up.
    """
    approved = find_condition(conditions, "Approved")
    moments = [created]
    moments += [
        condition.last_transition_time
        for condition in (approved, issuer_ready)
        if condition is not None and condition.last_transition_time is not None
    ]
    return max(moments)


def is_window_open(start: datetime, max_retry: timedelta, now: datetime) -> bool:
    """Return whether an ordinary error may be retried; never, if the window is 0.

    A clock that was set back does not close it.
    """
    return max_retry > timedelta() and now - start < max_retry


def max_retry_of(default: timedelta, *annotations: Mapping[str, str]) -> timedelta:
    """Return the window that applies: the last annotation that can be read counts."""
    chosen = default
    for mapping in annotations:
        text = mapping.get(MAX_RETRY_ANNOTATION)
        if text is None:
            continue
        try:
            chosen = max(timedelta(), parse_duration(text))
        except ValueError:
            continue
    return chosen

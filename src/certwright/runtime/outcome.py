"""What a reconcile returns: a value that says what happens next, never a boolean.

`DONE`
    The object is as it should be. Nothing happens until something watched changes.
`WAIT`
    Something is missing that a watched change will bring. Scheduled like `DONE`, and told
    apart in logs. Only safe when the awaited change really is watched: nothing else wakes it.
`again(after=…)`
    Look again after a while, or earlier when something changes.

Failures are raised, not returned: see `certwright.runtime.errors`.
"""

from datetime import timedelta

from msgspec import Struct


class Outcome(Struct, frozen=True):
    """How a reconcile ended. Use `DONE`, `WAIT` or `again`; there are no others."""

    name: str
    after: float | None = None
    """Seconds until the next look, or None."""


DONE = Outcome("done")
WAIT = Outcome("wait")


def again(after: timedelta | float) -> Outcome:
    """Return the outcome that looks at the object again *after* a duration (or seconds)."""
    return Outcome("again", seconds(after))


def seconds(duration: timedelta | float) -> float:
    """Return a duration in seconds.

    Raises:
        ValueError: it is not positive. "At once" is not a duration: it would spin.
    """
    value = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 < value < float("inf"):
        raise ValueError(f"a duration must be positive and finite, not {duration!r}")
    return value

"""When a token is renewed: well before it expires, and not all tokens at once."""

from datetime import datetime, timedelta
from typing import Final

from certwright.kube import format_time, parse_time
from certwright.runtime.queue.backoff import Rng

RENEW_AFTER: Final = 0.8
"""The part of its life after which a token is renewed."""
JITTER: Final = 0.05
"""How much later than that it may become, as a part of the wait."""
LONGEST_CONSIDERED: Final = timedelta(hours=24)
"""A token that lives longer is renewed as if it lived for a day."""


def renew_time(now: datetime, expiry: datetime, rng: Rng) -> datetime:
    """Return when to renew a token issued *now* that the server lets live until *expiry*."""
    life = min(expiry - now, LONGEST_CONSIDERED)
    return now + life * RENEW_AFTER * (1 + JITTER * rng.random())


def until_renewal(timestamp: str | None, now: datetime) -> timedelta | None:
    """Return how long a token may still be used by its renewal timestamp; None if it is due.

    It is due, too, when there is no timestamp (taking it away asks for a renewal) or none that
    can be read, and when it is further away than any that `renew_time` gives.
    """
    try:
        left = parse_time(timestamp or "") - now
    except ValueError:
        return None
    farthest = LONGEST_CONSIDERED * RENEW_AFTER * (1 + JITTER)
    return left if timedelta() < left <= farthest else None


def write_renew_time(instant: datetime) -> str:
    """Return the text of a renewal timestamp."""
    return format_time(instant)

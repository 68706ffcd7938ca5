"""When a pass that came to nothing is repeated.

Each time it is repeated later, as with any back-off. But a set is looked at far more often than
that: each change of one of its objects takes a pass. If each of those counted, a few status
updates in one second would put the next attempt off by minutes, and no event announces that an
object can be created. So a failure counts once the delay of the one before is over. What waits for
others, such as an object that is being deleted, is counted apart: however long that takes, the
first attempt after it that fails is repeated at once.
"""

from collections.abc import Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from certwright.runtime import Backoff

H = TypeVar("H", bound=Hashable)

_TOLERANCE: Final = 0.01
"""Timers may be early by the resolution of a clock."""
_LEAST: Final = 0.001


class _Attempts(NamedTuple):
    failures: int
    due: float


class Retries(Generic[H]):
    """The delays of what failed, and of what waits. Times are of a clock that only goes forward."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._failed: dict[H, _Attempts] = {}
        self._waiting: dict[H, _Attempts] = {}

    def failed(self, which: H, now: float) -> float:
        """Note that an attempt failed; return in how many seconds the next one is due."""
        return self._delay(self._failed, which, now)

    def waits(self, which: H, now: float) -> float:
        """Note that nothing failed, but others have to act first; return when to look again."""
        return self._delay(self._waiting, which, now)

    def is_due(self, which: H, now: float) -> bool:
        """Return whether the delay of the last attempt that failed is over; also if none did."""
        before = self._failed.get(which)
        return before is None or now >= before.due - _TOLERANCE

    def forget(self, which: H) -> None:
        """Note that all is well, or gone."""
        self._failed.pop(which, None)
        self._waiting.pop(which, None)

    def _delay(self, known: dict[H, _Attempts], which: H, now: float) -> float:
        before = known.get(which, _Attempts(0, now))
        if now >= before.due - _TOLERANCE:
            failures = before.failures + 1
            before = known[which] = _Attempts(failures, now + self._backoff.delay(failures))
        return max(before.due - now, _LEAST)

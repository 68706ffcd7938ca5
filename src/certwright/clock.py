"""The one place that knows what time it is.

Everything that compares instants takes a `Clock`; everything that waits uses
`asyncio.sleep` or a loop timer. Tests replace both at once: the virtual-time loop
of the testkit moves `loop.time()`, and its clock derives the wall time from that.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of the current instant, and of durations that never go backwards."""

    def now(self) -> datetime:
        """Return the current instant, aware, in UTC. It may jump."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. It never goes backwards."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the wall-clock time of the machine."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic time; asyncio's default loops use the same."""
        return time.monotonic()


SYSTEM = SystemClock()

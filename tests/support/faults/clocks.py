"""Clocks that are set back and forth in storms."""

from datetime import timedelta

from certwright.testkit.embedded import EmbeddedCluster
from certwright.testkit.time.virtual import VirtualClock


async def outlast_jumps(cluster: EmbeddedCluster, by: timedelta = timedelta(hours=3)) -> None:
    """Let time pass until all that was ever written is that old by the wall clock.

    It may be set back by hours in all, also meanwhile.
    """
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    due = clock.latest + by
    while (left := due - clock.now()) > timedelta():
        await cluster.advance(seconds=left.total_seconds())

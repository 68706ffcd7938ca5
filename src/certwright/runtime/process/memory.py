"""Giving memory back, for the module that starts a process.

What is imported and cached by the first list lives as long as the process: freezing spares it
every full garbage collection. The buffers of that list, and of every later burst of work, stay
with the allocator: trimming returns them to the machine. Nearly all that a controller makes
later dies by reference counting, so cycles are looked for less often than Python does: that
took 5 % of the time of a busy operator.
"""

import asyncio
import ctypes
import gc
import os
import sys
from pathlib import Path

from certwright.runtime.manager import Manager

GROWN_BYTES = 2 * 2**20
GROWN_SHARE = 1 / 32
"""A process that has grown by less than both is left alone: it will need that again."""
PERIOD_SECONDS = 10.0
BUSY_PERIODS = 6
"""After how many of them a process that was never seen at rest is trimmed all the same."""

CYCLES_AFTER = 5_000
"""After how many new objects cycles are looked for: milliseconds of work, a MiB at most."""
SURVIVORS_AFTER = 3
"""After how many such looks those who survived them are looked at: after Python's ten, that took
30 ms in the pass over a large set."""

LARGE_BYTES = 128 * 1024
"""Blocks of that size, such as bodies of lists, are returned to the machine when they are freed."""
_M_MMAP_THRESHOLD = -3

_STATM = Path("/proc/self/statm")


class MemoryTrimmer:
    """Gives memory back when every cache is complete, and whenever a process has grown and rests.

    At rest, because trimming holds up the event loop: for some milliseconds per hundred MiB. One
    that is always busy is trimmed once a minute: else blocks of all sizes that come and go leave
    more and more between them. To be added to a manager.
    """

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def run(self) -> None:
        """Wait for the caches, release memory, and again whenever the process has grown."""
        return_large_blocks()
        await self._manager.cache.wait_synced()
        release_memory()
        settled, busy = resident_bytes(), 0
        while settled:
            await asyncio.sleep(PERIOD_SECONDS)
            busy += 1
            if self._manager.idle() or busy >= BUSY_PERIODS:
                settled, busy = trim_grown(settled), 0


def return_large_blocks() -> None:
    """Have large blocks be returned when they are freed, however large others were before them.

    By itself glibc raises that limit to the largest that was freed so far, up to 32 MiB; smaller
    ones are then left behind as holes. In a soak of ``certwright up`` that was 30 MiB of 225.
    """
    if (libc := _libc()) is not None and hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


def release_memory() -> None:
    """Freeze what is alive and return free memory; call once, when the caches are complete.

    Takes milliseconds and collects nothing, so it may run on the event loop. Not to be called
    again and again, as by tests: what is garbage at this moment is never freed.
    """
    gc.freeze()
    often, middle, rarely = gc.get_threshold()
    if often < CYCLES_AFTER:
        gc.set_threshold(CYCLES_AFTER, SURVIVORS_AFTER, rarely * middle // SURVIVORS_AFTER)
    _trim()


def trim_grown(settled: int) -> int:
    """Return free memory if this process has grown since it occupied *settled* bytes.

    Returns what to compare with next time.
    """
    if resident_bytes() < settled + max(GROWN_BYTES, settled * GROWN_SHARE):
        return settled
    _trim()
    return resident_bytes()


def resident_bytes() -> int:
    """Return how many bytes this process occupies; 0 where /proc is missing."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _trim() -> None:
    if (libc := _libc()) is not None and hasattr(libc, "malloc_trim"):  # musl has it not
        libc.malloc_trim(0)


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if sys.platform == "linux" else None

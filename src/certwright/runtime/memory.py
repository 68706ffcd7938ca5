"""Giving memory back after the first sync. For the composition root: it concerns the process.

The first list leaves two things behind. Everything imported and cached so far is looked at
again by every full garbage collection, although it lives as long as the process: freezing
takes it out of sight. And the buffers the list came in stay with the allocator: trimming
returns them to the machine.
"""

import ctypes
import gc
import sys


def settle_memory() -> None:
    """Freeze what is alive and return free memory; call once, when the caches are complete.

    Takes milliseconds and collects nothing, so it may run on the event loop. Not to be called
    again and again, as by tests: what is garbage at this moment is never freed.
    """
    gc.freeze()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):  # glibc has it, musl has not
            libc.malloc_trim(0)

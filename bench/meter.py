"""What a measured process says about itself, one JSON line per mark on standard output.

Processor time is user and system time of the whole process. Looking at memory costs time of
its own; it is left out, since a mark has two readings of the clock: before and after.
"""

import asyncio
import ctypes
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

_THREAD_SCHEDULE = Path("/proc/thread-self/schedstat")
_PROC = Path("/proc/self")


class Task(msgspec.Struct, frozen=True):
    """What a subject is asked to do; each uses what concerns it."""

    server: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    folder: str = ""
    objects: int = 10_000
    events: int = 20_000
    last_version: int = 0
    keep: bool = False
    stalls: bool = False
    collect: bool = True


def task() -> Task:
    """Return what the harness asks of this process."""
    return msgspec.json.decode(sys.argv[1], type=Task)


def start() -> None:
    """Mark the start: imports are done, nothing has been sent."""
    gc.collect()
    (_PROC / "clear_refs").write_text("5", "ascii")  # peak memory counts from here
    mark("start", tidy=True)


def mark(name: str, *, release: int = 0, tidy: bool = False, **figures: Any) -> None:
    """Report that a point is reached, and ask the server for that many more events.

    With *tidy*, garbage and free memory are given back before memory is read.
    """
    cpu = _cpu()
    if tidy:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
    line = {
        "mark": name,
        "cpu": cpu,
        "rss": _status("VmRSS"),
        "peak": _status("VmHWM"),
        "release": release,
        **figures,
    }
    print(json.dumps({**line, "resumed": _cpu()}), flush=True)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _status(field: str) -> int:
    for line in (_PROC / "status").read_text("ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def full_collection_ms() -> float:
    """Return the longest of some full collections, in milliseconds of processor time."""
    return max(_timed_collection() for _ in range(5)) * 1000


def _timed_collection() -> float:
    started = time.thread_time()
    gc.collect()
    return time.thread_time() - started


def unqueued_time() -> float:
    """Return seconds on a clock that stands still while this thread waits for a processor.

    So it counts what the thread computes, and how long it waits for the interpreter's lock.
    """
    wall = time.perf_counter()
    return wall - int(_THREAD_SCHEDULE.read_text("ascii").split()[1]) / 1e9


class Stalls:
    """The longest stretch in which the event loop did not come round.

    *cpu_ms* is what was computed in such a stretch by this thread itself, or the least of what
    *clocks* count. *wall_ms* includes the time other processes took the core away.
    """

    def __init__(self, *clocks: Callable[[], float]) -> None:
        self._clocks = clocks or (time.thread_time,)
        self.reset()

    def reset(self) -> None:
        self.cpu_ms = self.wall_ms = 0.0

    async def watch(self) -> None:
        while True:
            wall, before = time.perf_counter(), [clock() for clock in self._clocks]
            await asyncio.sleep(0)
            passed = [clock() - then for clock, then in zip(self._clocks, before, strict=True)]
            self.cpu_ms = max(self.cpu_ms, min(passed) * 1000)
            self.wall_ms = max(self.wall_ms, (time.perf_counter() - wall) * 1000)

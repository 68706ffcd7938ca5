"""The threads that an author's functions run in where they are not async.

Nothing can end a thread. A call whose time is up is abandoned: its result is dropped, it holds
its thread until it returns, and a gauge and the log show it. There is a thread for every worker
and no more; when abandoned calls hold all of them, others are refused at once.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import Lock
from typing import Any, TypeVar

import structlog

from certwright.runtime.process.eventloop import CpuPool

R = TypeVar("R")

_log = structlog.get_logger()


class NoThread(TimeoutError):
    """Every thread is held by a call that did not return in time."""


class StrayExit(Exception):
    """The author's code raised what would end the process, or the task that called it."""

    @classmethod
    def of(cls, error: SystemExit) -> "StrayExit":
        """Return what is told instead of ending the process."""
        return cls(f"it called sys.exit({error.code!r}); raise an exception instead")


class _State(Enum):
    WAITING = auto()
    RUNNING = auto()
    ABANDONED = auto()
    ENDED = auto()


@dataclass(slots=True)
class _Call:
    """One call, seen by the event loop and by its thread."""

    state: _State = _State.WAITING
    lock: Lock = field(default_factory=Lock)

    def move(self, to: _State, *, only_from: _State | None = None) -> _State:
        """Set another state if it is in the expected one; return the state before."""
        with self.lock:
            was = self.state
            if only_from in {None, was}:
                self.state = to
            return was


class Threads:
    """At most *limit* threads. *report* is called with the number held by abandoned calls."""

    def __init__(self, limit: int, report: Callable[[int], None]) -> None:
        self._limit = limit
        self._pool = CpuPool(limit)
        self._report = report
        self._overdue = 0
        report(0)

    async def run(self, function: Callable[..., R], *arguments: Any) -> R:
        """Call a function in a thread; cancelling abandons it. `NoThread` if none is left."""
        if self._overdue >= self._limit:
            raise NoThread(
                f"all {self._limit} threads are held by calls that did not return in time;"
                " what they wait for has to answer, or the process must be restarted"
            )
        call, loop = _Call(), asyncio.get_running_loop()
        name = getattr(function, "__qualname__", type(function).__name__)

        def do() -> R:
            call.move(_State.RUNNING)
            try:
                return function(*arguments)
            except SystemExit as error:
                raise StrayExit.of(error) from error
            finally:
                if call.move(_State.ENDED) is _State.ABANDONED:
                    with contextlib.suppress(RuntimeError):  # the process has ended meanwhile
                        loop.call_soon_threadsafe(self._returned, name)

        try:
            return await self._pool.run(do)
        except asyncio.CancelledError:
            if call.move(_State.ABANDONED, only_from=_State.RUNNING) is _State.RUNNING:
                self._overdue += 1
                self._report(self._overdue)
                _log.warning(
                    "a call continues in its thread after its time limit",
                    function=name,
                    overdue=self._overdue,
                    threads=self._limit,
                )
            raise

    def _returned(self, name: str) -> None:
        self._overdue -= 1
        self._report(self._overdue)
        _log.info("a call returned after its time limit, its result is dropped", function=name)

    def close(self) -> None:
        """Drop calls that have not started, without waiting for those that have."""
        self._pool.close()

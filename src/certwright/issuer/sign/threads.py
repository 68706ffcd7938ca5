"""The threads that an author's functions run in where they are not async.

Nothing can end a thread. A call whose time is up is given up on: its answer is dropped when it
comes, it holds a thread until then, and both a gauge and the log tell. There is a thread for
every worker and no more; when calls that were given up on hold all of them, others are refused
at once instead of waiting in vain.
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


class _State(Enum):
    WAITING = auto()
    RUNNING = auto()
    GIVEN_UP = auto()
    ENDED = auto()


@dataclass(slots=True)
class _Call:
    """One call, seen by the event loop and by its thread."""

    state: _State = _State.WAITING
    lock: Lock = field(default_factory=Lock)

    def move(self, to: _State, *, only_from: _State | None = None) -> _State:
        """Go on to another state, unless it is in another than expected; return where it was."""
        with self.lock:
            was = self.state
            if only_from in {None, was}:
                self.state = to
            return was


class Threads:
    """At most *limit* threads. *tell* is told how many of them hold calls given up on."""

    def __init__(self, limit: int, tell: Callable[[int], None]) -> None:
        self._limit = limit
        self._pool = CpuPool(limit)
        self._tell = tell
        self._overdue = 0
        tell(0)

    async def run(self, function: Callable[..., R], *arguments: Any) -> R:
        """Call a function in a thread; cancelling gives up on it.

        Raises:
            NoThread: there is none left.
        """
        if self._overdue >= self._limit:
            raise NoThread(
                f"all {self._limit} threads are held by calls that did not return in time;"
                " whoever they wait for has to answer, or the process must be restarted"
            )
        call, loop = _Call(), asyncio.get_running_loop()
        name = getattr(function, "__qualname__", type(function).__name__)

        def do() -> R:
            call.move(_State.RUNNING)
            try:
                return function(*arguments)
            finally:
                if call.move(_State.ENDED) is _State.GIVEN_UP:
                    with contextlib.suppress(RuntimeError):  # the process has ended meanwhile
                        loop.call_soon_threadsafe(self._returned, name)

        try:
            return await self._pool.run(do)
        except asyncio.CancelledError:
            if call.move(_State.GIVEN_UP, only_from=_State.RUNNING) is _State.RUNNING:
                self._give_up(name)
            raise

    def _give_up(self, name: str) -> None:
        self._overdue += 1
        self._tell(self._overdue)
        _log.warning(
            "a call goes on in its thread although its time is up",
            function=name,
            overdue=self._overdue,
            threads=self._limit,
        )

    def _returned(self, name: str) -> None:
        self._overdue -= 1
        self._tell(self._overdue)
        _log.info("a call returned late, its answer is dropped", function=name)

    def close(self) -> None:
        """Drop what has not started. Does not wait for what has."""
        self._pool.close()

"""How long a watch waits for bytes of its server before it takes the connection for dead."""

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Self, TypeVar

from certwright.runtime.cache.state import Stalled

STALL_SECONDS = 75.0
"""Servers send a bookmark about every minute; longer silence is a dead connection."""

T = TypeVar("T")


async def in_time(answer: Awaitable[T]) -> T:
    """Wait for something from the server, but not for ever."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await answer
    except TimeoutError:
        raise _stalled() from None


class Patience:
    """A context that `Stalled` ends when `hear` was not called for too long.

    As `asyncio.timeout`, but a watch hears of thousands of events, each in time: one timer looks
    back at the last of them, instead of one for each.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._is_over = False

    def hear(self) -> float:
        """Note that the server sent something; return when."""
        self._heard = self._loop.time()
        return self._heard

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "a watch runs in a task"
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = self._loop.call_at(self._heard + STALL_SECONDS, self._look_back)
        return self

    def _look_back(self) -> None:
        due = self._heard + STALL_SECONDS
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._look_back)
        else:
            self._is_over = True
            self._task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        # Unless another cancels the task as well
        ours = self._is_over and self._task.uncancel() <= self._cancelling
        if ours and kind is asyncio.CancelledError:
            raise _stalled() from None


def _stalled() -> Stalled:
    return Stalled(f"no bytes for {STALL_SECONDS:.0f} s; the connection is dead, opening another")

"""Load that does not wait for answers: visits that become due at a steady rate."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

AT_ONCE = 16
"""Half of what a client sends at a time, so that operators which share it are not held up."""


@dataclass
class Arrivals:
    """Begins a visit whenever one is due, however long earlier ones take.

    Only `AT_ONCE` are under way at a time. What became due meanwhile is made up for afterwards,
    so that all that was offered is done at the end.
    """

    rate: float
    visit: Callable[[], Awaitable[str]]
    """Returns what went wrong, or nothing."""
    offered: int = 0
    done: int = 0
    failures: list[str] = field(default_factory=list)
    _taken: int = 0
    _began: float = 0.0
    _ends: float = float("inf")

    async def run(self) -> None:
        """Visit until stopped, and then what was due until that moment."""
        self._began = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._visit())

    def stop(self) -> float:
        """Offer no more; return for how many seconds visits were offered."""
        self._ends = asyncio.get_running_loop().time()
        return self._ends - self._began

    async def _visit(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = self._began + self._taken / self.rate
            self._taken += 1
            await asyncio.sleep(max(0.0, due - loop.time()))
            if due > self._ends:
                return
            self.offered += 1
            if wrong := await self.visit():
                self.failures.append(wrong)
            self.done += 1

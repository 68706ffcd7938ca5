"""One reconcile under way, and how the runtime ends it before its time."""

import asyncio
from enum import StrEnum
from typing import Any

from certwright.kube import Key


class Stop(StrEnum):
    """Why the runtime cancelled a reconcile."""

    DEADLINE = "deadline"
    PAUSE = "pause"


class Flight:
    """One reconcile under way."""

    __slots__ = ("controller", "key", "lost", "replaced", "started", "stopped", "task")

    def __init__(self, controller: str, key: Key, started: float) -> None:
        self.controller = controller
        self.key = key
        self.started = started
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self.stopped: Stop | None = None
        self.lost = False
        self.replaced = False

    def __str__(self) -> str:
        return f"{self.controller} {self.key}"

    def stop(self, why: Stop) -> None:
        """Cancel the reconcile, unless that was done before."""
        if self.stopped is None and self.task is not None:
            self.stopped = why
            self.task.cancel()

    def land(self) -> None:
        """Take the cancellation back: the worker goes on after its reconcile has ended."""
        if self.stopped is not None and self.task is not None:
            self.task.uncancel()

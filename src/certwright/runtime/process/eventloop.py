"""The event loop: which one, what blocks it, and threads for work that would.

A reconcile that computes for 300 ms stops every watch, lease renewal and probe for 300 ms.
`StallMonitor.drive` runs a coroutine and notices each step (the code between two awaits)
that took too long; a thread notices a step that does not end, while it does not end,
and logs where it is. The budget is real time, also under a virtual clock.
"""

import asyncio
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar

import structlog

from certwright.clock import SYSTEM

STALL_SECONDS = 0.1
"""A step longer than this is reported. Work that takes this long belongs into ``ctx.cpu``."""

_POLL_SECONDS = 0.25
P = ParamSpec("P")
R = TypeVar("R")
_log = structlog.get_logger()


class StallMonitor:
    """Times the steps of coroutines on one event loop; *on_stall* gets which and how long."""

    def __init__(self, on_stall: Callable[[object, float], None]) -> None:
        self._on_stall = on_stall
        self._step: tuple[object, float] | None = None
        self._reported = 0.0  # when the last step began that was reported while it lasted
        self._loop_thread = threading.get_ident()

    def drive(self, label: object, body: Coroutine[Any, Any, R]) -> Awaitable[R]:
        """Return an awaitable that runs *body* and reports each step that blocked the loop."""
        return _Steps(self, label, body)

    def step(self, label: object, resume: Callable[..., Any], *args: Any) -> Any:
        """Run one step; report it if it blocked the loop."""
        started = SYSTEM.monotonic()
        self._step = (label, started)
        try:
            return resume(*args)
        finally:
            self._step = None
            took = SYSTEM.monotonic() - started
            if took > STALL_SECONDS:
                self._on_stall(label, took)

    def __enter__(self) -> "StallMonitor":
        """Have the thread look on."""
        self._loop_thread = threading.get_ident()
        _WATCHDOG.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        _WATCHDOG.remove(self)

    def look(self) -> None:
        """Report the step under way if it blocks the loop. Called by another thread."""
        if (step := self._step) is None or step[1] == self._reported:
            return
        label, started = step
        blocked = SYSTEM.monotonic() - started
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - its purpose
        if blocked < STALL_SECONDS or frame is None or self._step is not step:
            return
        self._reported = started
        _log.warning(
            "event loop is blocked",
            by=str(label),
            seconds=round(blocked, 3),
            where=_where(frame),
            hint="move the work into a thread: ctx.cpu(...), or issuer.cpu(...)",
        )


class _Watchdog:
    """The thread that looks on: one for all monitors, and only while there are any.

    Simulations start thousands of managers; a thread for each took as long as their start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._monitors: list[StallMonitor] = []
        self._thread: threading.Thread | None = None
        self._never = threading.Event()

    def add(self, monitor: StallMonitor) -> None:
        with self._lock:
            self._monitors.append(monitor)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="certwright-stalls", daemon=True
                )
                self._thread.start()

    def remove(self, monitor: StallMonitor) -> None:
        with self._lock:
            self._monitors.remove(monitor)

    def _run(self) -> None:
        while not self._never.wait(_POLL_SECONDS):
            with self._lock:
                monitors = tuple(self._monitors)
                if not monitors:
                    self._thread = None
                    return
            for monitor in monitors:
                monitor.look()


_WATCHDOG = _Watchdog()


def _where(frame: FrameType) -> list[str]:
    """Name the innermost lines below `StallMonitor.step`."""
    lines = traceback.extract_stack(frame)
    below = max((n for n, line in enumerate(lines, 1) if line.filename == __file__), default=0)
    return [f"{line.filename}:{line.lineno} in {line.name}" for line in lines[below:][-4:]]


class _Steps(Generator[Any, Any, R], Generic[R]):
    """A coroutine seen from outside: ``await`` sends and throws into it, step by step."""

    __slots__ = ("_body", "_label", "_monitor")

    def __init__(self, monitor: StallMonitor, label: object, body: Coroutine[Any, Any, R]) -> None:
        self._monitor = monitor
        self._label = label
        self._body = body

    def __await__(self) -> Generator[Any, Any, R]:
        return self

    def __next__(self) -> Any:
        return self._monitor.step(self._label, self._body.send, None)

    def send(self, value: Any) -> Any:
        """Resume the coroutine."""
        return self._monitor.step(self._label, self._body.send, value)

    def throw(self, *error: Any) -> Any:
        """Resume the coroutine with an exception, usually its cancellation."""
        return self._monitor.step(self._label, self._body.throw, *error)

    def close(self) -> None:
        """End the coroutine."""
        self._body.close()


class CpuPool:
    """Runs functions in at most *threads* threads, which start when first needed.

    For RSA keys, foreign private keys, big YAML, metrics: whatever may take more than 5 ms.
    Used through ``ctx.cpu``; owned and closed by the manager.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._executor = ThreadPoolExecutor(threads or os.cpu_count() or 1, "certwright-cpu")

    async def run(self, fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function in a thread and return what it returns or raise what it raises.

        Cancelling the caller gives up waiting; a function that already started runs to its
        end, so it must be free of side effects.
        """
        call = partial(copy_context().run, fn, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Drop what has not started. Does not wait for what has."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's if it is installed (the extra `speed`), else the standard library's.

    The faster one also needs less memory: a quarter for the TLS of each connection.
    """
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()

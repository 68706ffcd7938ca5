"""An event loop in which waiting costs nothing.

`VirtualLoop` runs callbacks as asyncio does, but its clock is a number: when nothing is
ready it jumps to the next timer, so a ten-minute back-off passes in microseconds. It has no
sockets, and jobs for executors run on the loop's own thread, so what happens depends on
nothing but the code and the seed.

When told to shuffle, the loop picks the next ready callback at random instead of in order:
the same seed gives the same interleaving, other seeds explore others. Callbacks of one future
keep their order, as do plain `call_soon` callbacks among each other: asyncio promises that
much and code may rely on it.
"""

import asyncio
import contextvars
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar, TypeVarTuple, Unpack

from certwright.testkit.faults.trace import Trace

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SPIN_LIMIT = 200_000
"""Rounds of callbacks without any time passing, after which the loop is said to spin."""

_FIRST_START = datetime(2030, 1, 1, tzinfo=UTC)
_START_RANGE = timedelta(days=15 * 365)


class Deadlock(RuntimeError):
    """Nothing is ready, no timer is set, and tasks still wait."""


class Spinning(RuntimeError):
    """Callbacks keep scheduling callbacks and no time passes."""


class VirtualClock:
    """The `Clock` of a virtual loop: wall time derived from loop time, and able to jump."""

    def __init__(self, loop: "VirtualLoop", start: datetime) -> None:
        self._loop = loop
        self._start = self._before = start

    def now(self) -> datetime:
        """Return the simulated instant."""
        return self._start + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """Return the loop's time; jumps of the wall clock do not show in it."""
        return self._loop.time()

    def jump(self, by: timedelta) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._before = self.latest
        self._start += by

    @property
    def latest(self) -> datetime:
        """The latest time that the wall clock has ever shown."""
        return max(self._before, self.now())


class _Task(asyncio.Task[Any]):
    """A task whose hash is its number in the loop.

    `TaskGroup` and `gather` keep tasks in sets and cancel them in the order of iteration;
    with the default hash that is the order of memory addresses, which no seed controls.
    """

    number: int

    def __hash__(self) -> int:
        return self.number


class VirtualLoop(asyncio.BaseEventLoop):
    """A deterministic event loop with a clock of its own.

    *seed* chooses the instant at which `clock` starts: years away from today, so that code
    which asks the machine for the time is caught by whatever compares the two. With
    *shuffle* it also chooses the order in which ready callbacks run.
    """

    # What BaseEventLoop keeps and its stubs leave out
    _ready: deque[asyncio.Handle]
    _closed: bool
    _stopping: bool
    _timer_cancelled_count: int

    def __init__(self, seed: int = 0, *, shuffle: bool = False) -> None:
        super().__init__()
        self._now = 0.0
        self._picks = random.Random(f"schedule {seed}") if shuffle else None
        self._numbers = itertools.count(1)
        # With their time and number in front, timers are compared without running their code
        self._timer_numbers = itertools.count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._idle_waiters: list[tuple[float, asyncio.Future[None]]] = []
        self._spins = 0
        self.trace = Trace()
        start = _FIRST_START + random.Random(f"start {seed}").random() * _START_RANGE
        self.clock = VirtualClock(self, start)

    # What users of the loop call

    def time(self) -> float:
        """Return the virtual time in seconds since the loop was made."""
        return self._now

    def next_timer(self) -> float | None:
        """Return the loop time of the earliest timer, or None when no timer is set."""
        if self._timer_cancelled_count > 100 and (
            self._timer_cancelled_count * 2 > len(self._timers)
        ):
            # Most timeouts are cancelled long before they are due.
            self._timers = [timer for timer in self._timers if not timer[2].cancelled()]
            heapq.heapify(self._timers)
            self._timer_cancelled_count = 0
        while self._timers and self._timers[0][2].cancelled():
            self._drop_timer()
        return self._timers[0][0] if self._timers else None

    async def idle(self, within: float = 0.0) -> None:
        """Return when nothing is ready and no timer is due in the next *within* seconds.

        Timers due sooner run, and time passes to them; what they set off counts anew.
        """
        waiter: asyncio.Future[None] = self.create_future()
        self._idle_waiters.append((within, waiter))
        await waiter

    def waiting(self) -> list[str]:
        """Describe every unfinished task: its name, and the line it waits at."""
        tasks = sorted(asyncio.all_tasks(self), key=hash)
        return [f"{task.get_name()} at {_position(task)}" for task in tasks]

    # How asyncio uses the loop

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
        **kwargs: Any,
    ) -> asyncio.Task[T]:
        """Make a task, numbered in the order of creation."""
        number = next(self._numbers)
        name = f"task-{number}" if name is None else str(name)
        task = _Task.__new__(_Task)
        task.number = number  # before the hash is used, as the initializer does
        task.__init__(coro, loop=self, name=name, context=context, **kwargs)  # type: ignore[misc]
        return task

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Run a callback in its turn."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run a callback after a delay."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run a callback at a time; those of the same time run in the order they were set."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001
        heapq.heappush(self._timers, (when, next(self._timer_numbers), timer))
        return timer

    def close(self) -> None:
        """Forget everything that was to be run."""
        super().close()
        self._timers.clear()

    def run_in_executor(  # type: ignore[override]
        self, _executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a job on the loop's own thread, in its turn; its executor never sees it."""
        return self.create_task(_run_job(func, args))

    def _run_once(self) -> None:
        if not self._ready and not self._stopping:
            self._let_time_pass()
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(self._drop_timer())
        take = self._ready.popleft if self._picks is None else self._take
        for _ in range(len(self._ready)):
            handle = take()
            if not handle._cancelled:  # noqa: SLF001 - what a loop does
                handle._run()  # noqa: SLF001
        self._spins += 1
        if self._spins > SPIN_LIMIT:
            self._spins = 0
            raise Spinning(f"no time passes at {self._now:.3f} s: " + "; ".join(self.waiting()))

    def _let_time_pass(self) -> None:
        """Jump to the next timer, unless a task waits for exactly this quiet."""
        self._spins = 0
        when = self.next_timer()
        for number, (within, waiter) in enumerate(self._idle_waiters):
            if waiter.done():  # its task was cancelled
                del self._idle_waiters[number]
                return
            if when is None or when > self._now + within:
                del self._idle_waiters[number]
                waiter.set_result(None)
                return
        if when is None:
            tasks = self.waiting()
            raise Deadlock(
                f"nothing is ready, no timer is set, and {len(tasks)} task(s) wait: "
                + "; ".join(tasks)
            )
        self._now = max(self._now, when)

    def _drop_timer(self) -> asyncio.TimerHandle:
        handle = heapq.heappop(self._timers)[2]
        handle._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001
        if handle.cancelled():
            self._timer_cancelled_count -= 1
        return handle

    def _take(self) -> asyncio.Handle:
        """Take the next callback: the first, or by seed the first of a random lane."""
        ready = self._ready
        if self._picks is None or len(ready) == 1:
            return ready.popleft()
        picked = int(self._picks.random() * len(ready))
        if not picked:
            self.trace.mix(0)
            return ready.popleft()
        lane = _lane(ready[picked])
        for index, other in enumerate(ready):
            if index == picked or _lane(other) is lane:
                break
        handle = ready[index]
        del ready[index]
        self.trace.mix(index)
        return handle

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: there is no input to process."""

    def _write_to_self(self) -> None:
        """Do nothing: the loop never blocks, so there is nothing to wake up."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "the virtual-time loop has no sockets, pipes or signals: "
            "use the in-memory transport, or real time (mark the test `real_time`)"
        )

    # Assigned, not written out: their signatures differ and none of them matters here
    add_reader = add_writer = add_signal_handler = _refuse  # type: ignore[assignment]
    create_connection = create_server = create_datagram_endpoint = _refuse
    connect_read_pipe = connect_write_pipe = getaddrinfo = _refuse
    subprocess_exec = subprocess_shell = _refuse


async def _run_job(func: Callable[..., T], args: tuple[Any, ...]) -> T:
    return func(*args)


def _lane(handle: asyncio.Handle) -> object:
    """Return what a callback must keep its place behind: its future, or its task."""
    args = handle._args  # noqa: SLF001
    if args and isinstance(args[0], asyncio.Future):
        return args[0]
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
    return owner if isinstance(owner, asyncio.Future) else None


def _position(task: "asyncio.Task[Any]") -> str:
    frames = task.get_stack()
    if not frames:
        return "its start"
    code = frames[-1].f_code
    return f"{code.co_qualname} line {frames[-1].f_lineno}"

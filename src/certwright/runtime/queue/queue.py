"""The work queue between events and workers: keys, never objects.

A key is in the queue at most once and with a worker at most once. A key added while a
worker has it comes back after that worker is done, so no change is ever missed and no
object is worked on twice at the same time.

Order: fresh changes before the rest (initial list, resync), except that one of the rest follows
after `FRESH_IN_A_ROW` fresh ones, so that endless changes do not starve it; within a priority the
namespaces take turns, so ten thousand keys of one tenant do not delay the one of another;
within a namespace first in, first out.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from certwright.runtime.queue.backoff import Backoff

K = TypeVar("K", bound=Hashable)

FRESH_IN_A_ROW = 16
"""So many fresh keys are served before one that waits with a lower priority."""
TURN_LIMIT = 64
TURN_SECONDS = 0.005
"""After this many keys, or this long, `get` lets the rest of the loop run: workers whose
reconcile never waits would otherwise hold it until the queue is empty."""


class Priority(IntEnum):
    """Why a key is queued; lower numbers are served before higher ones, as a rule."""

    FRESH = 0
    """Something changed just now."""
    RESYNC = 1
    """Nothing is known to have changed: the initial list, a periodic look."""


class QueueMetrics(Protocol):
    """What the queue reports as it happens; depth and ages are read from the queue instead."""

    def on_add(self) -> None:
        """Count a key that entered the queue (not one that was there already)."""
        ...

    def on_get(self, waited_seconds: float) -> None:
        """Note how long a key waited before a worker took it."""
        ...

    def on_done(self, worked_seconds: float) -> None:
        """Note how long a worker had a key."""
        ...

    def on_retry(self) -> None:
        """Count a key that was put back because its work failed."""
        ...


class QueueShutDown(Exception):
    """The queue gives out no more keys; the worker ends."""


class Queue(Generic[K]):
    """A de-duplicating, delaying, fair queue of keys for one controller.

    Belongs to one event loop and is not thread-safe. All methods but `get` return at once.
    """

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        namespace_of: Callable[[K], str] = attrgetter("namespace"),
        metrics: QueueMetrics | None = None,
    ) -> None:
        self._backoff = backoff or Backoff()
        self._namespace_of = namespace_of
        self._metrics = metrics
        self._lanes: tuple[_Lane[K], ...] = tuple(_Lane() for _ in Priority)
        self._queued: dict[K, tuple[Priority, float]] = {}  # and since when
        self._dirty: dict[K, Priority] = {}  # added while a worker has them
        self._working: dict[K, float] = {}  # and since when
        self._delays = _Delays[K](self.add)
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._passed_over = 0  # fresh keys served since the last one of a lower priority
        self._shut_down = False
        self._turn_started: float | None = None
        self._turn_count = 0

    def __len__(self) -> int:
        """Return how many keys wait for a worker now; delayed ones do not count."""
        return len(self._queued)

    @property
    def idle(self) -> bool:
        """True when no key waits for a worker and no worker has one. Delayed keys do not count."""
        return not self._queued and not self._working

    @property
    def is_shut_down(self) -> bool:
        """True once no more keys are given out."""
        return self._shut_down

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._delays)

    @property
    def waiting(self) -> dict[K, float]:
        """The keys that wait for a worker, and for how many seconds each."""
        now = self._now() if self._queued else 0.0
        return {key: now - since for key, (_, since) in self._queued.items()}

    @property
    def due(self) -> dict[K, float]:
        """The keys that wait for their time, and in how many seconds it comes."""
        now = self._now() if len(self._delays) else 0.0
        return {key: at - now for key, at in self._delays.times().items()}

    @property
    def working(self) -> dict[K, float]:
        """The keys workers have, and for how many seconds each."""
        now = self._now() if self._working else 0.0
        return {key: now - since for key, since in self._working.items()}

    @property
    def retrying(self) -> dict[K, int]:
        """The keys whose work failed last, and how many times in a row."""
        return dict(self._failures)

    def add(self, key: K, priority: Priority = Priority.FRESH) -> None:
        """Queue a key. One that waits already keeps its place, or moves up to a better priority."""
        if self._shut_down:
            return
        if key in self._working:
            known = self._dirty.get(key, priority)
            self._dirty[key] = min(known, priority)
            return
        queued = self._queued.get(key)
        if queued is None:
            self._enqueue(key, priority, self._now())
        elif priority < queued[0]:
            self._lanes[queued[0]].remove(self._namespace_of(key), key)
            self._lanes[priority].push(self._namespace_of(key), key)
            self._queued[key] = (priority, queued[1])

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.FRESH) -> None:
        """Queue a key after a delay. Of several delays of one key the earliest counts."""
        if self._shut_down:
            return
        if seconds <= 0:
            self.add(key, priority)
        else:
            self._delays.put(key, self._now() + seconds, priority)

    def add_rate_limited(self, key: K, at_least: float = 0.0) -> float:
        """Queue a key whose work failed, later each time; return the delay in seconds.

        *at_least* is how long the server asked us to stay away.
        """
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        seconds = max(at_least, self._backoff.delay(failures))
        if self._metrics is not None:
            self._metrics.on_retry()
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """Drop the failure count of a key: its work succeeded, or will not be tried again."""
        self._failures.pop(key, None)

    def cancel_delay(self, key: K) -> None:
        """Drop the delay of a key, if it waits for one: there is nothing to come back to."""
        self._delays.drop(key)

    def failures(self, key: K) -> int:
        """Return how many times in a row the work on a key failed."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Return the next key and hand it to the caller, which must call `done` with it.

        Raises:
            QueueShutDown: the queue was shut down; keys still waiting are left.
        """
        await self._take_turns()
        while not self._queued:
            await self._wait()
        if self._shut_down:
            raise QueueShutDown
        key = self._next_lane().pop()
        now = self._now()
        since = self._queued.pop(key)[1]
        self._working[key] = now
        if self._metrics is not None:
            self._metrics.on_get(now - since)
        return key

    def done(self, key: K) -> None:
        """Give a key back; if it was added meanwhile it is queued again."""
        now = self._now()
        started = self._working.pop(key)
        if self._metrics is not None:
            self._metrics.on_done(now - started)
        priority = self._dirty.pop(key, None)
        if priority is not None and not self._shut_down:
            self._enqueue(key, priority, now)

    def shut_down(self) -> None:
        """Give out no more keys, accept none, and release workers that wait. Cannot be undone."""
        self._shut_down = True
        self._delays.clear()
        while self._waiters:
            self._wake_one()

    def _next_lane(self) -> "_Lane[K]":
        fresh, rest = self._lanes
        if not rest or (fresh and self._passed_over < FRESH_IN_A_ROW):
            self._passed_over += bool(rest)
            return fresh
        self._passed_over = 0
        return rest

    def _enqueue(self, key: K, priority: Priority, now: float) -> None:
        self._queued[key] = (priority, now)
        self._lanes[priority].push(self._namespace_of(key), key)
        if self._metrics is not None:
            self._metrics.on_add()
        self._wake_one()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _wait(self) -> None:
        if self._shut_down:
            raise QueueShutDown
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and self._queued:
                self._wake_one()  # the key this wake-up stood for needs another worker
            raise

    async def _take_turns(self) -> None:
        now = self._now()
        if self._turn_started is None:
            self._turn_started, self._turn_count = now, 0
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._turn_count += 1
        if self._turn_count > TURN_LIMIT or now - self._turn_started > TURN_SECONDS:
            await asyncio.sleep(0)

    def _end_turn(self) -> None:
        self._turn_started = None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class _Lane(Generic[K]):
    """The keys of one priority, namespaces taking turns."""

    def __init__(self) -> None:
        self._namespaces: OrderedDict[str, OrderedDict[K, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._namespaces)

    def push(self, namespace: str, key: K) -> None:
        keys = self._namespaces.get(namespace)
        if keys is None:
            keys = self._namespaces[namespace] = OrderedDict()
        keys[key] = None

    def pop(self) -> K:
        namespace, keys = self._namespaces.popitem(last=False)
        key, _ = keys.popitem(last=False)
        if keys:
            self._namespaces[namespace] = keys  # to the end of the line
        return key

    def remove(self, namespace: str, key: K) -> None:
        keys = self._namespaces[namespace]
        del keys[key]
        if not keys:
            del self._namespaces[namespace]


class _Delays(Generic[K]):
    """Keys that wait for their time: one heap, one loop timer."""

    def __init__(self, release: Callable[[K, Priority], None]) -> None:
        self._release = release
        self._due: dict[K, tuple[float, Priority]] = {}
        self._heap: list[tuple[float, int, K]] = []  # may hold superseded entries
        self._serial = 0  # ties are served in the order of arrival, keys need no order
        self._timer: asyncio.Handle | None = None
        self._timer_due = 0.0  # kept here: not every loop's handles have it

    def __len__(self) -> int:
        return len(self._due)

    def times(self) -> dict[K, float]:
        return {key: due for key, (due, _) in self._due.items()}

    def put(self, key: K, due: float, priority: Priority) -> None:
        known = self._due.get(key)
        if known is not None:
            priority = min(priority, known[1])
            if known[0] <= due:
                self._due[key] = (known[0], priority)
                return
        self._due[key] = (due, priority)
        self._serial += 1
        heapq.heappush(self._heap, (due, self._serial, key))
        self._compact()
        self._set_timer()

    def drop(self, key: K) -> None:
        if self._due.pop(key, None) is not None:
            self._compact()
            self._set_timer()

    def clear(self) -> None:
        self._due.clear()
        self._heap.clear()
        self._set_timer()

    def _compact(self) -> None:
        """Do away with superseded entries once they are the most."""
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        due, _, key = entry
        known = self._due.get(key)
        return known is not None and known[0] == due

    def _set_timer(self) -> None:
        due = self._heap[0][0] if self._heap else None
        if self._timer is not None:
            if self._timer_due == due:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer_due = due
            self._timer = asyncio.get_running_loop().call_at(due, self._fire)

    def _fire(self) -> None:
        now = max(asyncio.get_running_loop().time(), self._timer_due)
        self._timer = None
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._is_current(entry):
                key = entry[2]
                priority = self._due.pop(key)[1]
                self._release(key, priority)
        self._set_timer()

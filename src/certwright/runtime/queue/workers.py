"""One controller at work: changes become keys, keys become calls of its reconcile function.

This module is the boundary to other people's code. Whatever a reconcile, mapper, predicate or
source does — raise anything, never return, ignore its cancellation, block — the process lives
on, the other keys are worked on, and the damage is visible in logs, metrics and events.
"""

import asyncio
import logging
from contextlib import suppress
from enum import StrEnum
from typing import Any

import structlog

from certwright.kube import Key
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.store import Listener
from certwright.runtime.context import Context, Environment
from certwright.runtime.controller import Controller
from certwright.runtime.outcome import (
    DeadlineExceeded,
    Fault,
    Outcome,
    RequeueMode,
    Settlement,
    describe,
    foreign_traceback,
    settle,
)
from certwright.runtime.process import eventloop
from certwright.runtime.process.eventloop import StallMonitor
from certwright.runtime.queue.backoff import Backoff
from certwright.runtime.queue.queue import Priority, Queue, QueueShutDown
from certwright.runtime.serve.metrics import ControllerMetrics
from certwright.runtime.triggers import Source, Trigger

PATIENCE_SECONDS = 10.0
"""How long a cancelled reconcile may take to end before its worker is given up."""

CUT_OFF_SECONDS = 1.0
"""How long a reconcile cancelled by a shutdown may take to end."""

CRASHES = (Exception, SystemExit, BaseExceptionGroup)
"""What the code of users may raise without taking the process down."""

_OURS = {__file__, eventloop.__file__}

KEYS_PER_TURN = 1000
"""How many keys a resync queues before the rest of the event loop has a turn."""


class CancelReason(StrEnum):
    """Why the runtime cancelled a reconcile."""

    DEADLINE = "deadline"
    PAUSE = "pause"


class InFlight:
    """One reconcile under way."""

    __slots__ = ("controller", "key", "lost", "replaced", "started", "stopped", "task")

    def __init__(self, controller: str, key: Key, started: float) -> None:
        self.controller = controller
        self.key = key
        self.started = started
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self.stopped: CancelReason | None = None
        self.lost = False
        self.replaced = False

    def __str__(self) -> str:
        return f"{self.controller} {self.key}"

    def stop(self, why: CancelReason) -> None:
        """Cancel the reconcile, unless that was done before."""
        if self.stopped is None and self.task is not None:
            self.stopped = why
            self.task.cancel()

    def uncancel(self) -> None:
        """Take back that it was cancelled, by us or by itself: its worker goes on without it."""
        while self.task is not None and self.task.cancelling():
            self.task.uncancel()


class Workers:
    """Runs one controller. Paused until `resume`; one instance runs once."""

    def __init__(
        self,
        controller: Controller,
        environment: Environment,
        queue: Queue[Key],
        metrics: ControllerMetrics,
        monitor: StallMonitor,
    ) -> None:
        self.controller = controller
        self.queue = queue
        self.in_flight: dict[Key, InFlight] = {}
        self._environment = environment
        self._metrics = metrics
        self._monitor = monitor
        self._primary = environment.stores[controller.resource]
        self._deadline = controller.deadline.total_seconds()
        self._open = asyncio.Event()
        self._all_due = asyncio.Event()  # every object is to be looked at
        self._conflicts: dict[Key, int] = {}
        self._crashes: dict[Key, str] = {}  # a traceback is worth its lines once
        self._replacements = 0
        self._group: asyncio.TaskGroup | None = None
        self._task: asyncio.Task[None] | None = None
        self._log = structlog.get_logger().bind(controller=controller.name)
        self._verbose = structlog.is_configured() and self._log.is_enabled_for(logging.DEBUG)
        metrics.workers.set(controller.workers)

    @property
    def paused(self) -> bool:
        """True while no keys are handed out."""
        return not self._open.is_set()

    @property
    def lost(self) -> int:
        """How many workers are held by a reconcile that ignores its cancellation."""
        return sum(current.lost for current in self.in_flight.values())

    @property
    def dead(self) -> bool:
        """True when all workers and all their replacements are lost."""
        return self.lost >= 2 * self.controller.workers

    # Life

    async def run(self) -> None:
        """Work until cancelled."""
        self._task = asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            self._group = group
            for source in self.controller.sources:
                group.create_task(self._run_source(source))
            period = self.controller.resync
            group.create_task(self._resync(period.total_seconds() if period else None))
            for _ in range(self.controller.workers):
                group.create_task(self._work())

    def resume(self) -> None:
        """Start handing out keys."""
        self._open.set()

    def pause(self) -> None:
        """Hand out no more keys and cancel what is under way; its keys stay queued."""
        self._open.clear()
        for current in self.in_flight.values():
            current.stop(CancelReason.PAUSE)

    async def drain(self, grace_seconds: float) -> bool:
        """Start nothing new, let what is under way end within a grace period, then cancel it.

        Returns whether it has ended: a reconcile that ignores its cancellation has not.
        """
        self.queue.shut_down()
        if not await self._have_ended(grace_seconds):
            for key in self.in_flight:
                self._log.warning("reconcile cancelled by shutdown", key=str(key))
            self.pause()
        return await self._have_ended(CUT_OFF_SECONDS)

    async def _have_ended(self, within_seconds: float) -> bool:
        tasks = {current.task for current in self.in_flight.values() if current.task is not None}
        if not tasks:
            return True
        _, late = await asyncio.wait(tasks, timeout=within_seconds)
        return not late

    # Changes become keys

    def listener(self, trigger: Trigger) -> Listener:
        """Return the function that turns changes of a store into queued keys."""
        store = self._environment.stores[trigger.watched.resource]
        add = self.queue.add

        def on_change(old: Entry | None, new: Entry | None) -> None:
            priority = Priority.FRESH if store.synced else Priority.RESYNC
            try:
                for key in trigger.keys(old, new):
                    add(key, priority)
            except CRASHES as error:  # a mapper or predicate of users
                self._mapper_failed(trigger, new or old, error)

        return on_change

    def _mapper_failed(self, trigger: Trigger, changed: Entry | None, error: BaseException) -> None:
        """Have every object reconciled: which ones the change concerns is unknown."""
        self._metrics.mapper_errors.inc()
        self._log.error(
            "mapper or predicate failed, every object is reconciled instead",
            kind=trigger.watched.resource.kind,
            changed=str(changed.key) if changed else "",
            exc_info=error,
        )
        self._all_due.set()  # once for all changes of a burst

    async def _resync(self, period_seconds: float | None) -> None:
        """Look at everything: when asked to, and every now and then if there is a period."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(period_seconds):
                    await self._all_due.wait()
            self._all_due.clear()
            for number, entry in enumerate(self._primary.items(), start=1):
                self.queue.add(entry.key, Priority.RESYNC)
                if not number % KEYS_PER_TURN:
                    await asyncio.sleep(0)

    async def _run_source(self, source: Source) -> None:
        """Queue what a source yields; start it again, later each time, when it fails."""
        backoff, failures = Backoff(1.0, 300.0, rng=self._environment.rng), 0
        while True:
            try:
                async for key in source(Context(self._environment)):
                    self.queue.add(key)
                    failures = 0
                return
            except (*CRASHES, asyncio.CancelledError) as error:
                self._end_if_cancelled()
                failures += 1
                self._metrics.mapper_errors.inc()
                self._log.error("source failed, starting it again", exc_info=error)
            await asyncio.sleep(backoff.delay(failures))

    # Keys become reconciles

    async def _work(self) -> None:
        while not self.queue.is_shut_down:
            await self._open.wait()
            try:
                key = await self.queue.get()
            except QueueShutDown:
                return
            try:
                if not self._open.is_set():
                    self.queue.add(key)  # leadership was lost while this worker waited
                elif (await self._reconcile(key)).replaced:
                    return
            finally:
                self.queue.done(key)

    async def _reconcile(self, key: Key) -> InFlight:
        """Reconcile one key and settle how it ended."""
        loop, clock = asyncio.get_running_loop(), self._environment.clock
        current = self.in_flight[key] = InFlight(self.controller.name, key, clock.monotonic())
        timer = loop.call_later(self._deadline, self._overdue, current)
        try:
            ended = await self._call(current)
        finally:
            timer.cancel()
            del self.in_flight[key]
        if ended is None:
            self.queue.add(key)
        else:
            self._settle(key, ended, clock.monotonic() - current.started)
        if current.lost:
            self._metrics.stuck.dec()
        self._replacements -= current.replaced
        return current

    async def _call(self, current: InFlight) -> Outcome | BaseException | None:
        """Return how the reconcile ended, None if paused; `CancelledError` if the worker ends."""
        ended: Outcome | BaseException
        try:
            body = self.controller.reconcile(Context(self._environment, current.key), current.key)
            if not asyncio.iscoroutine(body):
                raise TypeError(f"reconcile must be an async function; it returned {body!r}")
            ended = await self._monitor.drive(current, body)
            if not isinstance(ended, Outcome):
                raise TypeError(
                    f"reconcile returned {ended!r}; it must return DONE, WAIT or again(after=…)"
                )
        except (*CRASHES, asyncio.CancelledError) as error:
            ended = error
        self._end_if_cancelled()
        current.uncancel()
        if not isinstance(ended, asyncio.CancelledError) or current.stopped is None:
            return ended
        if current.stopped is CancelReason.PAUSE:
            return None
        return DeadlineExceeded(f"no result within {self._deadline:g} s")

    def _end_if_cancelled(self) -> None:
        """End the running task if all of them are to end.

        Its own cancellation tells less. Code that runs in it may cancel it as well, and may lose a
        cancellation: up to Python 3.12 a TaskGroup does, if one of its tasks fails meanwhile.
        """
        if self._task is not None and self._task.cancelling():
            raise asyncio.CancelledError

    def _overdue(self, current: InFlight) -> None:
        current.stop(CancelReason.DEADLINE)
        asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._give_up, current)

    def _give_up(self, current: InFlight) -> None:
        """Replace the worker of a reconcile that ignores its cancellation.

        The key stays with the old worker, so it is never reconciled twice at a time. There
        are at most as many replacements as workers: a defect does not become a leak.
        """
        if self.in_flight.get(current.key) is not current or self._group is None:
            return
        current.lost = True
        current.replaced = self._replacements < self.controller.workers
        self._metrics.stuck.inc()
        self._log.error(
            "reconcile ignores its cancellation",
            key=str(current.key),
            seconds=round(self._environment.clock.monotonic() - current.started, 1),
            where=[str(frame) for frame in current.task.get_stack()] if current.task else [],
            worker="replaced" if current.replaced else "lost",
        )
        if current.replaced:
            self._replacements += 1
            self._group.create_task(self._work())

    # Endings become what happens next

    def _settle(self, key: Key, ended: Outcome | BaseException, seconds: float) -> None:
        failures = self.queue.failures(key) + self._conflicts.get(key, 0)
        settlement = settle(ended, failures)
        match settlement.requeue:
            case RequeueMode.NONE | RequeueMode.LATER:
                self.queue.forget(key)
                self._conflicts.pop(key, None)
                self._crashes.pop(key, None)
                if settlement.requeue is RequeueMode.LATER:
                    self.queue.add_after(key, settlement.after)
                elif key not in self._primary:
                    self.queue.cancel_delay(key)  # what was there may have been asked to come back
            case RequeueMode.NOW:
                self._conflicts[key] = self._conflicts.get(key, 0) + 1
                self.queue.add(key)
            case RequeueMode.BACKOFF:
                self.queue.add_rate_limited(key, at_least=settlement.after)
        self._metrics.results[settlement.result].inc()
        self._metrics.seconds.observe(seconds)
        if isinstance(ended, Outcome):
            if ended.failed:
                self._metrics.errors.inc()
            if self._verbose:
                self._log.debug(
                    "reconciled", key=str(key), outcome=ended.name, seconds=round(seconds, 4)
                )
        else:
            self._report(key, ended, settlement, seconds)

    def _report(
        self, key: Key, error: BaseException, settlement: Settlement, seconds: float
    ) -> None:
        """Make a failure visible: once in the log, in the metrics, and on the object."""
        log = self._log.bind(key=str(key), seconds=round(seconds, 4), requeue=settlement.requeue)
        text = describe(error)
        if settlement.fault is Fault.PENDING or settlement.requeue is RequeueMode.NOW:
            log.debug("reconcile to be repeated", reason=text)
            return
        self._metrics.errors.inc()
        match settlement.fault:
            case Fault.CONFLICT:  # the watch is late; it will come
                log.info("reconcile waits for the cache", error=text)
            case Fault.TERMINAL:
                self._metrics.terminal.inc()
                log.warning("reconcile failed, not retried until something changes", error=text)
                self._event(key, "ReconcileFailed", text)
            case Fault.DEADLINE:
                self._metrics.timeouts.inc()
                log.warning("reconcile exceeded its deadline", error=text)
                self._event(key, "ReconcileTimedOut", text)
            case Fault.CRASH:
                self._metrics.panics.inc()
                new = self._crashes.get(key) != text
                self._crashes[key] = text
                trace = new and foreign_traceback(error, _OURS)
                log.error("reconcile crashed", error=text, exc_info=trace)
                self._event(key, "ReconcileCrashed", text)
            case _:
                log.warning("reconcile failed", error=text)

    def _event(self, key: Key, reason: str, note: str) -> None:
        entry = self._primary.get(key)
        if entry is not None:
            kind = self.controller.resource
            metadata = {"namespace": key.namespace, "name": key.name, "uid": entry.uid}
            obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
            self._environment.events.record(obj, "Warning", reason, note)

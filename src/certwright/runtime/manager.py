"""Runs controllers as one process: start order, leadership, shutdown.

Start: metrics and probes first, so that a start that hangs can be looked at; then the caches;
then, as soon as the stores of one controller are complete, the election; each controller
works once its own stores are complete and this replica leads. A kind that cannot be watched
(its CRD is missing, access is denied) holds back the controllers that need it and no others.

Standbys keep their caches and queues warm: taking over needs no list.

Shutdown: `Manager.stop` lets what is under way end within the grace period, cancels the rest,
gives the lease away, writes the last events and ends. Cancelling `Manager.run` is a crash:
nothing is cleaned up.
"""

import asyncio
import socket
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import cached_property
from typing import NamedTuple

import structlog

from certwright.client import Client
from certwright.clock import SYSTEM, Clock
from certwright.kube import JsonObject, Key
from certwright.runtime.cache.cache import Cache, Informer, StoreHandle
from certwright.runtime.cache.state import WatchState
from certwright.runtime.context import Environment
from certwright.runtime.controller import Controller
from certwright.runtime.leader import Elector, LeaderElection
from certwright.runtime.operator import Operator, Part, Runnable
from certwright.runtime.process.eventloop import CpuPool, StallMonitor
from certwright.runtime.queue.backoff import Backoff, Rng, new_rng
from certwright.runtime.queue.queue import Queue
from certwright.runtime.queue.workers import InFlight, Workers
from certwright.runtime.serve import conditions, health
from certwright.runtime.serve.metrics import ControllerMetrics, GaugeSample, Metrics, QueueCounters
from certwright.runtime.serve.probes import ListenAddress, Probes
from certwright.runtime.triggers import Watched
from certwright.runtime.writes.conditions import ConditionReporter, FailedConditions
from certwright.runtime.writes.events import EventRecorder
from certwright.runtime.writes.writer import Applier, Writes

_log = structlog.get_logger()
_UNWATCHABLE = (WatchState.MISSING, WatchState.FORBIDDEN)


class RunningController(NamedTuple):
    """One controller, ready to run."""

    workers: Workers
    recorder: EventRecorder
    shares: list[StoreHandle]


class Manager:
    """Runs controllers against one API server until it is stopped. One instance runs once."""

    def __init__(
        self,
        client: Client,
        parts: Iterable[Part | Operator] = (),
        *,
        clock: Clock = SYSTEM,
        leader_election: LeaderElection | None = None,
        probes: ListenAddress | None = None,
        metrics: Metrics | None = None,
        grace: timedelta = timedelta(seconds=20),
        rng: Rng | None = None,
    ) -> None:
        """Declare what will run.

        *probes* is where /livez, /readyz and /metrics are served, nowhere if None. Pass the
        *metrics* that observe the client, so that its requests are counted.
        """
        self.client = client
        self.clock = clock
        self.metrics = metrics or Metrics()
        self._controllers: list[Controller] = []
        self._runnables: list[Runnable] = []
        self._grace = grace
        self.identity = leader_election.identity if leader_election else socket.gethostname()
        self.rng = rng or new_rng()
        self._probes = probes
        self.pool = CpuPool()
        self.monitor = StallMonitor(self._stalled)
        self._running: list[RunningController] = []
        self.failed_conditions: FailedConditions = {}
        self._stopping = asyncio.Event()
        self._some_synced = asyncio.Event()
        self._elector: Elector | None = None
        if leader_election is not None:
            self._elector = Elector(client, leader_election, clock, self._lead, self.rng)
            self.metrics.leading.labels(leader_election.name).set(0)
        for part in parts:
            self.add(part)

    def add(self, part: Part | Operator) -> None:
        """Add a controller, an operator, or whatever has ``async def run()``. Before `run` only."""
        if "cache" in self.__dict__:
            raise RuntimeError("the manager was started; add controllers and runnables before")
        if isinstance(part, Operator):
            for built in part.build(self):
                self.add(built)
        elif not isinstance(part, Controller):
            self._runnables.append(part)
        elif any(known.name == part.name for known in self._controllers):
            raise ValueError(f"two controllers are called {part.name}; give one another name")
        else:
            self._controllers.append(part)

    @cached_property
    def cache(self) -> Cache:
        """The stores all controllers share; more may be asked for while it runs."""
        managers = {self.client.field_manager, *(c.field_manager for c in self._controllers)}
        return Cache(self.client, field_managers=sorted(managers), rng=self.rng)

    @property
    def informers(self) -> list[Informer]:
        """Every store and its watch, also those of caches that were added."""
        caches = [part for part in self._runnables if isinstance(part, Cache)]
        return [informer for cache in (self.cache, *caches) for informer in cache.informers]

    @property
    def workers(self) -> list[Workers]:
        """The controllers at work; none before `run`."""
        return [running.workers for running in self._running]

    # Life

    async def run(self) -> None:
        """Run until `stop`, or until cancelled."""
        if self._running:
            raise RuntimeError("a manager runs once")
        self._running = [assemble(controller, self) for controller in self._controllers]
        async with AsyncExitStack() as stack:
            stack.callback(self.pool.close)
            stack.enter_context(self.monitor)
            if self._probes is not None:
                await stack.enter_async_context(Probes(self, self._probes))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(part.run()) for part in (self.cache, *self._runnables)]
                for running in self._running:
                    tasks.append(group.create_task(running.recorder.run()))
                    tasks.append(group.create_task(self._run_controller(running)))
                election = group.create_task(self._elect())
                await self._stopping.wait()
                await self._shut_down(election)
                for task in tasks:
                    task.cancel()

    def stop(self) -> None:
        """Shut down gracefully; `run` returns when it is done."""
        self._stopping.set()

    async def _run_controller(self, running: RunningController) -> None:
        """Run one controller as soon as its stores are complete."""
        for share in running.shares:
            await share.synced()
        self._some_synced.set()
        _log.info("controller synced", controller=running.workers.controller.name)
        if self.leads():
            running.workers.resume()
        await running.workers.run()

    async def _elect(self) -> None:
        if self._elector is not None:
            await self._some_synced.wait()
            await self._elector.run()

    def _lead(self, leading: bool) -> None:  # noqa: FBT001 - a callback
        for workers in self.workers:
            if leading:
                workers.resume()
            else:
                workers.pause()
        assert self._elector is not None
        self.metrics.leading.labels(self._elector.name).set(leading)

    async def _shut_down(self, election: "asyncio.Task[None]") -> None:
        _log.info("shutting down", grace_seconds=self._grace.total_seconds())
        grace = self._grace.total_seconds()
        async with asyncio.TaskGroup() as group:
            drains = [group.create_task(workers.drain(grace)) for workers in self.workers]
        election.cancel()
        await asyncio.wait([election])
        if self._elector is not None:
            if all(drain.result() for drain in drains):
                await self._elector.release()
            else:
                _log.warning(
                    "leader election: lease left to expire, as a reconcile ignores its cancellation"
                )
        async with asyncio.TaskGroup() as group:
            for running in self._running:
                group.create_task(running.recorder.flush())

    # Looking inside

    def leads(self) -> bool:
        """Return whether this replica leads; without an election, it does."""
        return self._elector is None or self._elector.leading

    def idle(self) -> bool:
        """Return whether all work is done: nothing queued, under way, or still on the way here.

        Keys that wait for a time of their own do not count, nor do kinds that cannot be
        watched, nor the queues of a replica that does not lead.
        """
        if not self._running and self._controllers:
            return False
        leading = self.leads()
        return (
            all(
                (informer.store.synced or informer.watch.state in _UNWATCHABLE)
                and not informer.store.pending
                for informer in self.informers
            )
            and all(running.recorder.idle for running in self._running)
            and all(
                running.workers.queue.idle or not all(s.store.synced for s in running.shares)
                for running in self._running
                if leading
            )
        )

    def liveness(self) -> Iterator[health.Check]:
        """Yield what only a restart can repair; trouble with the API server is not among it."""
        return health.liveness(self.workers)

    def readiness(self) -> Iterator[health.Check]:
        """Yield whether each store is complete and its watch moves, and what runnables say."""
        yield from health.readiness(self.informers)
        for part in self._runnables:
            if isinstance(part, health.Checked):
                yield from part.readiness()

    def gauges(self) -> Iterator[GaugeSample]:
        """Yield the gauges of this moment."""
        return health.gauges(self.informers, self.workers, self.clock)

    async def exposition(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        views = {
            id(share.store): conditions.ConditionView(workers.controller, share.store.items())
            for workers, _, shares in self._running
            for share in shares
            if share.store.resource == workers.controller.resource and not workers.paused
        }
        rendered = await self.pool.run(self.metrics.render, list(self.gauges()))
        return rendered + await self.pool.run(conditions.exposition, [*views.values()])

    def dump(self) -> JsonObject:
        """Return the internal state as JSON."""
        return health.dump(self.informers, self.workers, self._elector, self.clock)

    def _stalled(self, who: object, seconds: float) -> None:
        """Report a reconcile that blocked the event loop."""
        controller = who.controller if isinstance(who, InFlight) else ""
        self.metrics.stalls.labels(controller).observe(seconds)
        _log.warning(
            "event loop was blocked",
            by=str(who),
            seconds=round(seconds, 3),
            hint="move the work into a thread: ctx.cpu(...), or issuer.cpu(...)",
        )


def assemble(controller: Controller, process: Manager) -> RunningController:
    """Build what a controller needs and connect its triggers to the stores."""
    shares = {watched.resource: _share(process.cache, watched) for watched in controller.watched}
    stores = {resource: share.store for resource, share in shares.items()}
    writes = Writes(process.client, process.cache, process.clock, controller.field_manager)
    recorder = EventRecorder(
        process.client,
        process.clock,
        controller=controller.name,
        instance=process.identity,
        dropped=process.metrics.events_dropped.inc,
        burst=controller.event_burst,
    )
    environment = Environment(
        controller=controller.name,
        client=process.client,
        clock=process.clock,
        stores=stores,
        kinds={resource.gvk: resource for resource in stores},
        writes=writes,
        applier=Applier(writes, stores),
        events=recorder,
        conditions=ConditionReporter(
            controller.name,
            controller.conditions,
            count=process.metrics.on_condition,
            failed=process.failed_conditions,
            record=recorder.record if controller.condition_events else None,
        ),
        pool=process.pool,
        rng=process.rng,
    )
    counters = QueueCounters(process.metrics, controller.name)
    queue: Queue[Key] = Queue(backoff=Backoff(rng=process.rng), metrics=counters)
    metrics = ControllerMetrics(process.metrics, controller.name)
    workers = Workers(controller, environment, queue, metrics, process.monitor)
    for trigger in controller.triggers:
        shares[trigger.watched.resource].listen(workers.listener(trigger))
    for channel in controller.channels:
        channel.connect(queue.add_after)
    for share in shares.values():
        share.listen(environment.applier.forgets(share.store.resource))
    return RunningController(workers, recorder, list(shares.values()))


def _share(cache: Cache, watched: Watched) -> StoreHandle:
    share = cache.store(
        watched.kind,
        namespace=watched.namespace,
        labels=watched.labels,
        fields=watched.fields,
        metadata_only=watched.metadata_only,
        transform=watched.transform,
        keep=watched.keep,
        indexes=watched.indexes,
        compression=watched.compression,
    )
    if watched.keep is not None:
        share.store.keep_no_refused()  # only users that hold the store itself admit later
    return share

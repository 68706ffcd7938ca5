"""From a declaration to something that runs: the parts one controller needs, put together."""

from typing import NamedTuple, Protocol

from certwright.client import Client
from certwright.clock import Clock
from certwright.kube import Key
from certwright.runtime.cache.cache import Cache, StoreHandle
from certwright.runtime.cache.entry import Entry
from certwright.runtime.cache.store import Listener, Store
from certwright.runtime.context import Surroundings
from certwright.runtime.controller import Controller
from certwright.runtime.process.cpupool import CpuPool
from certwright.runtime.process.stalls import StallMonitor
from certwright.runtime.queue.backoff import Backoff, Rng
from certwright.runtime.queue.queue import Queue
from certwright.runtime.queue.workers import Workers
from certwright.runtime.serve.metrics import ControllerMetrics, Metrics, QueueCounters
from certwright.runtime.triggers import Watched
from certwright.runtime.writes.apply import Applier
from certwright.runtime.writes.events import EventRecorder
from certwright.runtime.writes.writer import Writes


class Process(Protocol):
    """What all controllers of one process share."""

    client: Client
    clock: Clock
    metrics: Metrics
    pool: CpuPool
    monitor: StallMonitor
    rng: Rng
    identity: str

    @property
    def cache(self) -> Cache:
        """The stores."""
        ...


class Running(NamedTuple):
    """One controller, ready to run."""

    workers: Workers
    recorder: EventRecorder
    shares: list[StoreHandle]


def assemble(controller: Controller, process: Process) -> Running:
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
    )
    surroundings = Surroundings(
        controller=controller.name,
        client=process.client,
        clock=process.clock,
        stores=stores,
        kinds={resource.gvk: resource for resource in stores},
        writes=writes,
        applier=Applier(writes, stores),
        events=recorder,
        pool=process.pool,
        rng=process.rng,
    )
    counters = QueueCounters(process.metrics, controller.name)
    queue: Queue[Key] = Queue(backoff=Backoff(rng=process.rng), metrics=counters)
    metrics = ControllerMetrics(process.metrics, controller.name)
    workers = Workers(controller, surroundings, queue, metrics, process.monitor)
    for trigger in controller.triggers:
        shares[trigger.watched.resource].listen(workers.listener(trigger))
    for channel in controller.channels:
        channel.connect(queue.add)
    for share in shares.values():
        share.listen(_forgetter(surroundings.applier, share.store))
    return Running(workers, recorder, list(shares.values()))


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
    )
    if watched.keep is not None:
        share.store.refuse_for_good()  # nobody but who asks a cache for a store admits later
    return share


def _forgetter(applier: Applier, store: Store) -> Listener:
    """Return a listener that keeps the applier from remembering what is gone."""

    def on_change(old: Entry | None, new: Entry | None) -> None:
        if new is None and old is not None:
            applier.forget(store.resource, old.key)

    return on_change

"""Everything a controller is made of and run by.

::

    async def reconcile(ctx: Context, key: Key) -> Outcome: ...

    controller = Controller(Greeting, reconcile, owns=[ConfigMap])
    await Manager(client, [controller]).run()

An event enters in `watch`, becomes a key in `triggers`, becomes a decision in the reconcile
function that `workers` calls, and becomes a call to the API server in `writes`.
"""

from certwright.runtime.cache.cache import Cache, Feed, StoreHandle, View
from certwright.runtime.cache.decode import Transform
from certwright.runtime.cache.entry import Entry, Meta, Owner
from certwright.runtime.cache.indexes import IndexFunction
from certwright.runtime.cache.state import WatchState
from certwright.runtime.cache.store import Interest, Listener, Store
from certwright.runtime.cache.transforms import Drop, Keep
from certwright.runtime.cache.watch import Watch, WatchStatus
from certwright.runtime.context import Context
from certwright.runtime.controller import Controller, Reconcile
from certwright.runtime.errors import (
    BadObject,
    DeadlineExceeded,
    Pending,
    ReconcileError,
    TerminalError,
)
from certwright.runtime.leader import LeaderElection
from certwright.runtime.manager import Manager
from certwright.runtime.operator import Declared, Operator, Part, Runnable, Site
from certwright.runtime.outcome import DONE, WAIT, Outcome, again
from certwright.runtime.process.eventloop import CpuPool, new_event_loop
from certwright.runtime.process.memory import Settling, settle_memory
from certwright.runtime.process.signals import on_signals
from certwright.runtime.queue.backoff import Backoff, Rng, new_rng
from certwright.runtime.queue.queue import Priority, Queue, QueueMetrics, QueueShutDown
from certwright.runtime.rbac import PolicyRule, allow, policy_rules
from certwright.runtime.serve.health import Check
from certwright.runtime.serve.logs import configure as configure_logs
from certwright.runtime.serve.logs import redact_text
from certwright.runtime.serve.metrics import Metrics
from certwright.runtime.serve.probes import Address, Probes
from certwright.runtime.triggers import (
    Channel,
    Mapper,
    Predicate,
    Source,
    Trigger,
    Watched,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    labelled,
    labels_changed,
    mapped,
    select,
)
from certwright.runtime.writes.events import EventRecorder, EventType
from certwright.runtime.writes.writer import Effect

__all__ = [
    "DONE",
    "WAIT",
    "Address",
    "Backoff",
    "BadObject",
    "Cache",
    "Channel",
    "Check",
    "Context",
    "Controller",
    "CpuPool",
    "DeadlineExceeded",
    "Declared",
    "Drop",
    "Effect",
    "Entry",
    "EventRecorder",
    "EventType",
    "Feed",
    "IndexFunction",
    "Interest",
    "Keep",
    "LeaderElection",
    "Listener",
    "Manager",
    "Mapper",
    "Meta",
    "Metrics",
    "Operator",
    "Outcome",
    "Owner",
    "Part",
    "Pending",
    "PolicyRule",
    "Predicate",
    "Priority",
    "Probes",
    "Queue",
    "QueueMetrics",
    "QueueShutDown",
    "Reconcile",
    "ReconcileError",
    "Rng",
    "Runnable",
    "Settling",
    "Site",
    "Source",
    "Store",
    "StoreHandle",
    "TerminalError",
    "Transform",
    "Trigger",
    "View",
    "Watch",
    "WatchState",
    "WatchStatus",
    "Watched",
    "again",
    "all_of",
    "allow",
    "annotations_changed",
    "any_of",
    "configure_logs",
    "generation_changed",
    "labelled",
    "labels_changed",
    "mapped",
    "new_event_loop",
    "new_rng",
    "on_signals",
    "policy_rules",
    "redact_text",
    "select",
    "settle_memory",
]

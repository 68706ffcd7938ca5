"""Everything a controller is made of and run by.

::

    async def reconcile(ctx: Context, key: Key) -> Outcome: ...

    controller = Controller(Greeting, reconcile, owns=[ConfigMap])
    await Manager(client, [controller]).run()

An event enters in `cache.watch` and becomes an entry of a `cache.store`; `triggers` find the
keys it concerns, `queue` orders them, `queue.workers` calls the reconcile function with a
`context`, `writes` send what differs, and `outcome` decides when the key comes back. `manager`
puts the parts together and runs them, one replica at a time (`leader`).
"""

from certwright.runtime.cache.cache import Cache, StoreHandle
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.state import WatchState
from certwright.runtime.cache.store import Store
from certwright.runtime.cache.transforms import DropFields, KeepFields
from certwright.runtime.context import Context
from certwright.runtime.controller import Controller, PolicyRule, Reconcile, allow, policy_rules
from certwright.runtime.leader import LeaderElection
from certwright.runtime.manager import Manager
from certwright.runtime.operator import Declared, Operator, OperatorHost, Part, Runnable
from certwright.runtime.outcome import (
    DONE,
    WAIT,
    BadObject,
    DeadlineExceeded,
    Outcome,
    ReconcileError,
    RequeueAfter,
    TerminalError,
    again,
)
from certwright.runtime.process.eventloop import new_event_loop
from certwright.runtime.process.memory import MemoryTrimmer
from certwright.runtime.process.signals import on_signals
from certwright.runtime.queue.backoff import Backoff
from certwright.runtime.serve.logs import configure as configure_logs
from certwright.runtime.serve.metrics import Metrics
from certwright.runtime.serve.probes import ListenAddress
from certwright.runtime.triggers import (
    Channel,
    Predicate,
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
from certwright.runtime.writes.writer import Effect

__all__ = [
    "DONE",
    "WAIT",
    "Backoff",
    "BadObject",
    "Cache",
    "Channel",
    "Context",
    "Controller",
    "DeadlineExceeded",
    "Declared",
    "DropFields",
    "Effect",
    "Entry",
    "KeepFields",
    "LeaderElection",
    "ListenAddress",
    "Manager",
    "MemoryTrimmer",
    "Metrics",
    "Operator",
    "OperatorHost",
    "Outcome",
    "Part",
    "PolicyRule",
    "Predicate",
    "Reconcile",
    "ReconcileError",
    "RequeueAfter",
    "Runnable",
    "Store",
    "StoreHandle",
    "TerminalError",
    "Trigger",
    "WatchState",
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
    "on_signals",
    "policy_rules",
    "select",
]

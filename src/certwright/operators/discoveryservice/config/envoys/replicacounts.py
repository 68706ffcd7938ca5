"""How many Envoys run which version: each replica reports its own, the leading one adds up."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Key
from certwright.kube.kinds import Lease, Pod
from certwright.operators.discoveryservice.config.envoys.countreport import (
    REPORT,
    CountReport,
    changed_nodes,
    counts_elsewhere,
    encode_count_report,
    make_count_report,
    read_count_report,
)
from certwright.operators.discoveryservice.config.envoys.counts import Damper, version_counts
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.operators.discoveryservice.repeat import repeat
from certwright.operators.discoveryservice.replica import ReplicaIdentity, is_ready
from certwright.runtime import Cache, Entry, KeepFields
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey

GATHER_SECONDS: Final = 0.1
"""How long changes are gathered before they are looked at."""
QUIET_SECONDS: Final = 1.0
"""How long nothing must have changed before a report is written.

Shorter than for the status: it is to be written once, with what all replicas report.
"""
STANDBY_SECONDS: Final = 15.0
"""How often a replica that leads looks whether it still does."""
_RETRY_SECONDS: Final = 5.0

_log = structlog.get_logger()


class ReplicaCounts:
    """Reports the Envoys of a replica that does not lead, and adds up the reports of others.

    A replica that leads writes statuses and needs no report of its own: *leads* tells whether it
    does. *changed* is called with a node of which another replica reports something new.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        cache: Cache,
        connections: Connections,
        publisher: Publisher,
        identity: ReplicaIdentity,
        leads: Callable[[], bool],
        changed: Callable[[NodeKey], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._connections = connections
        self._publisher = publisher
        self._identity = identity
        self._leads = leads
        self._changed = changed
        self._reports: dict[Key, CountReport] = {}
        self._ready: set[Key] = set()
        self._waiting: dict[NodeKey, None] = {}
        self._counts: dict[NodeKey, Counter[str]] = {}
        self._led = False
        self._written: CountReport | None = None
        """What was written last; None if the Lease tells."""
        self._damper: Damper[str] = Damper(QUIET_SECONDS)
        self._wake = asyncio.Event()
        namespace, labels = identity.pod.namespace, identity.selector
        kept = KeepFields("/status/conditions")
        # Not required: what serves Envoys must not depend on them.
        self._leases = cache.store(Lease, namespace=namespace, labels=labels, required=False)
        self._leases.listen(self._lease_changed)
        pods = cache.store(Pod, namespace=namespace, labels=labels, transform=kept, required=False)
        pods.listen(self._pod_changed)

    def look_at(self, node: NodeKey) -> None:
        """Take note that something about a node changed."""
        self._waiting[node] = None
        self._wake.set()

    def elsewhere(self, node: NodeKey) -> Counter[str]:
        """Return how many Envoys of a node run which version at other replicas."""
        return counts_elsewhere(node, self._reports, self._ready, self._identity.pod)

    async def run(self) -> None:
        """Report until cancelled."""
        await self._leases.synced()
        await repeat(self.step, self._wake, GATHER_SECONDS)

    async def step(self) -> float | None:
        """Do what is due; return after how many seconds to look again though nothing changes."""
        nodes, self._waiting = self._waiting, {}
        if self._leads():
            self._led = True
            return STANDBY_SECONDS
        if self._led:  # what changed in the meantime was not counted
            self._led, nodes = False, dict.fromkeys([*self._counts, *self._connections.nodes()])
        for node in nodes:
            await asyncio.sleep(0)  # there may be thousands
            self._count(node)
        report = make_count_report(self._counts)
        written = self._written or self._reports.get(self._identity.pod, CountReport())
        wait = self._damper.wait("", report, written, self._clock.monotonic())
        if report != written and not wait:
            wait = await self._write(report)
        return wait or None

    def _count(self, node: NodeKey) -> None:
        history = self._publisher.history(node).pairs
        found = version_counts(self._connections.groups(node), history)
        # Clients may name any node; those without an EnvoyConfig are in no status.
        if found and self._publisher.served(node) is not None:
            self._counts[node] = found
        else:
            self._counts.pop(node, None)

    async def _write(self, report: CountReport) -> float:
        """Write a report; return after how many seconds to try again, 0 if it is written."""
        lease = self._identity.lease(REPORT, encode_count_report(report))
        # A manager of its own: the report about certificates in the same Lease stays.
        manager = f"{self._client.field_manager}-envoys"
        try:
            await self._client.apply(lease, field_manager=manager)
        except (ApiError, TransportError) as error:
            _log.warning("report not written", lease=str(self._identity.pod), error=str(error))
            return _RETRY_SECONDS
        if report.omitted and not (self._written and self._written.omitted):
            _log.warning("the statuses of some nodes lack Envoys of this pod", nodes=report.omitted)
        self._written = report
        return 0.0

    def _lease_changed(self, old: Entry | None, new: Entry | None) -> None:
        entry = new or old
        assert entry is not None
        before, after = self._reports.pop(entry.key, CountReport()), CountReport()
        if new is not None:
            after = self._reports[entry.key] = read_count_report(new.obj())
        if entry.key != self._identity.pod:
            self._tell(changed_nodes(before, after))
        elif new is None:
            self._written = None
            self._wake.set()

    def _pod_changed(self, old: Entry | None, new: Entry | None) -> None:
        entry = new or old
        assert entry is not None
        before = entry.key in self._ready
        if new is not None and is_ready(new.obj()):
            self._ready.add(entry.key)
        else:
            self._ready.discard(entry.key)
        if before != (entry.key in self._ready):
            self._tell(self._reports.get(entry.key, CountReport()).nodes)

    def _tell(self, nodes: Iterable[NodeKey]) -> None:
        for node in nodes:
            self._changed(node)

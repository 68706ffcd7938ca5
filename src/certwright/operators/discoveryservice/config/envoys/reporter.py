"""Reports, from every replica, what its Envoys think of the revision that is served."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog
from msgspec.structs import replace

from certwright.api.envoyconfigs import EnvoyConfigRevision, ReplicaReport
from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Key
from certwright.operators.discoveryservice.config.envoys.counts import version_counts
from certwright.operators.discoveryservice.config.envoys.podnames import with_pods
from certwright.operators.discoveryservice.config.envoys.taint import due_report, local_report
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey

GATHER_SECONDS: Final = 0.5
"""How long changes of a node are gathered before it is looked at."""
_RETRY_SECONDS: Final = 5.0
_REMEMBERED: Final = 1000
"""Revisions of which is known what was reported, before the watch shows it."""

_log = structlog.get_logger()


class Reporter:
    """Writes the report of one replica into the status of a revision that an Envoy rejected.

    While no Envoy rejects anything, nothing is written. *replica* names this process; *counted* is
    called with a node whose Envoys run other versions than when it was looked at before.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        connections: Connections,
        publisher: Publisher,
        replica: str,
        counted: Callable[[NodeKey], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._connections = connections
        self._publisher = publisher
        self._replica = replica
        self._counted = counted
        self._counts: dict[NodeKey, tuple[Counter[str], bool]] = {}
        """How many Envoys run which version, and whether a version is served at all."""
        self._waiting: dict[NodeKey, None] = {}
        self._written: dict[str, ReplicaReport] = {}
        self._wake = asyncio.Event()

    def look_at(self, node: NodeKey) -> None:
        """Take note that something about a node changed."""
        self._waiting[node] = None
        self._wake.set()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._wake.clear()
            nodes, self._waiting = self._waiting, {}
            for node in nodes:
                await asyncio.sleep(0)  # there may be thousands, with nothing to write
                self._count(node)
                try:
                    await self.report(node)
                except (ApiError, TransportError) as error:
                    _log.warning("report not written", node=str(node), error=str(error))
                    asyncio.get_running_loop().call_later(_RETRY_SECONDS, self.look_at, node)

    def _count(self, node: NodeKey) -> None:
        history = self._publisher.history(node).pairs
        counts = version_counts(self._connections.groups(node), history)
        before = self._counts.pop(node, None)
        now = counts, self._publisher.served(node) is not None
        if counts:  # clients may name any number of nodes, one after the other
            self._counts[node] = now
        if now != before:
            self._counted(node)

    async def report(self, node: NodeKey) -> None:
        """Write what the Envoys of a node think of its revision, if that is news."""
        served, revision = self._publisher.served(node), self._publisher.published(node)
        if served is None or revision is None or revision.status.tainted is True:
            return
        version = revision.spec.version
        if served.version != version:
            return  # not served yet
        mine = local_report(
            self._connections.groups(node), served.types, served.written, version,
            self._clock.now(),
        )  # fmt: skip
        reports = revision.status.reports
        written = self._written.get(revision.metadata.uid) or reports.get(self._replica)
        others = [one for name, one in reports.items() if name != self._replica]
        due = due_report(mine, written, others)
        if due is None:
            return
        rejections = await with_pods(self._client, node.namespace, due.rejections)
        due = replace(due, rejections=rejections)
        await self._write(revision, due)
        self._written[revision.metadata.uid] = due
        while len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]

    async def _write(self, revision: EnvoyConfigRevision, report: ReplicaReport) -> None:
        key = Key(revision.metadata.namespace, revision.metadata.name)
        await self._client.patch(
            EnvoyConfigRevision.resource,
            key,
            {
                "metadata": {"uid": revision.metadata.uid},
                "status": {"reports": {self._replica: report_of(report)}},
            },
            subresource="status",
        )


def report_of(report: ReplicaReport) -> dict[str, object]:
    """Return a report as JSON, with what is false written out: a merge would keep the old value."""
    return {
        "accepted": report.accepted,
        "pending": report.pending,
        "against": report.against,
        "rejections": [
            {
                "envoy": one.envoy,
                "type": one.type,
                "version": one.version,
                "message": one.message,
                "at": one.at.isoformat() if one.at else None,
            }
            for one in report.rejections
        ],
        "at": report.at.isoformat() if report.at else None,
    }

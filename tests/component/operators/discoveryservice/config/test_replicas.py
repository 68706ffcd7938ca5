"""Envoys of all replicas are in the status, though each replica knows its own only."""

import asyncio

import pytest
from tests.component.operators.discoveryservice.config.conftest import Serving, clusters
from tests.support.envoy.resources import cluster

from certwright.kube.kinds import Lease, Pod
from certwright.operators.discoveryservice.config.envoys.countreport import REPORT
from certwright.operators.discoveryservice.connected.report import (
    CertificateReport,
    read_report,
    report_lease,
)
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.testkit import Calls

FIRST, SECOND = "marin3r-x-first", "marin3r-x-second"


class Replicas:
    """Two pods of a control plane; the first leads."""

    def __init__(self, serving: Serving) -> None:
        self.cluster = serving.cluster
        self.first = serving
        self.second = Serving(serving.cluster)
        self.leading = self.first.replica(FIRST)
        self.standby = self.second.standby(SECOND)

    async def start(self) -> None:
        for name in (FIRST, SECOND):
            await self.pod(name)
        await self.first.create(resources=clusters(cluster("a")))
        await self.cluster.settle(self.leading)
        await self.cluster.settle(self.standby)

    async def pod(self, name: str) -> None:
        labels = ReplicaIdentity("x", self.cluster.key(Pod, name)).labels
        container = {"name": "marin3r", "image": "certwright:test"}
        await self.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [container]},
            }
        )
        await self.ready(name)

    async def ready(self, name: str, value: str = "True") -> None:
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": value}]}
        await self.cluster.patch(Pod, name, {"status": status}, subresource="status")

    async def wait(self) -> Calls:
        """Let time pass until all is counted and written."""
        await asyncio.sleep(30)
        return await self.cluster.settle()

    async def counts(self) -> list[tuple[str, int]]:
        return [(one.version, one.envoys) for one in (await self.first.config()).status.envoys]


@pytest.fixture
async def replicas(serving: Serving) -> Replicas:
    made = Replicas(serving)
    await made.start()
    return made


async def test_envoys_of_all_replicas_are_counted(replicas: Replicas) -> None:
    replicas.first.envoy("a")
    moving = replicas.second.envoy("b")
    await replicas.wait()
    version = (await replicas.first.config()).status.desired_version
    assert await replicas.counts() == [(version, 2)]
    moving.leave()
    replicas.second.envoy("c", "gone")  # of no EnvoyConfig
    await replicas.wait()
    assert await replicas.counts() == [(version, 1)]
    lease = await replicas.cluster.get(Lease, SECOND)
    assert lease["metadata"]["annotations"][REPORT] == "{}"
    assert (await replicas.wait()).writes == 0


async def test_a_thousand_envoys_at_two_replicas_take_a_version_with_few_writes(
    replicas: Replicas,
) -> None:
    for number in range(500):
        replicas.first.envoy(f"a{number}")
        replicas.second.envoy(f"b{number}")
    await replicas.wait()
    await replicas.first.change(resources=clusters(cluster("b")))
    calls = await replicas.cluster.settle()
    writes = calls.writes + (await replicas.wait()).writes
    version = (await replicas.first.config()).status.desired_version
    assert await replicas.counts() == [(version, 1000)]
    assert writes <= 6


async def test_a_replica_that_is_gone_counts_no_more(replicas: Replicas) -> None:
    replicas.first.envoy("a")
    replicas.second.envoy("b")
    await replicas.wait()
    version = (await replicas.first.config()).status.desired_version
    assert await replicas.counts() == [(version, 2)]
    await replicas.ready(SECOND, "False")
    await replicas.wait()
    assert await replicas.counts() == [(version, 1)]
    await replicas.ready(SECOND)
    await replicas.wait()
    assert await replicas.counts() == [(version, 2)]
    await replicas.cluster.delete(Pod, SECOND)
    await replicas.wait()
    assert await replicas.counts() == [(version, 1)]


async def test_a_report_that_was_deleted_is_written_again(replicas: Replicas) -> None:
    replicas.second.envoy("b")
    await replicas.wait()
    await replicas.cluster.delete(Lease, SECOND)
    await replicas.wait()
    assert [number for _, number in await replicas.counts()] == [1]


async def test_the_report_about_certificates_in_the_same_lease_stays(replicas: Replicas) -> None:
    identity = ReplicaIdentity("x", replicas.cluster.key(Pod, SECOND))
    client = replicas.cluster.client
    certificates = CertificateReport(server="5")
    await client.apply(report_lease(identity, certificates), field_manager="certwright")
    envoy = replicas.second.envoy("b")
    await replicas.wait()
    lease = await replicas.cluster.get(Lease, SECOND)
    assert read_report(lease) == certificates
    await client.apply(report_lease(identity, CertificateReport()), field_manager="certwright")
    await replicas.wait()
    assert [number for _, number in await replicas.counts()] == [1]
    envoy.leave()


async def test_a_replica_that_leads_no_more_reports_all_its_envoys(replicas: Replicas) -> None:
    """While it leads it writes statuses, and a report would be a write for nothing."""
    replicas.second.leads = True
    staying, leaving = replicas.second.envoy("b"), replicas.second.envoy("c")
    await replicas.wait()
    assert await replicas.counts() == []
    leaving.leave()
    await replicas.wait()
    replicas.second.leads = False
    await replicas.wait()
    assert [number for _, number in await replicas.counts()] == [1]
    replicas.second.leads = True
    await replicas.wait()
    staying.leave()
    await replicas.wait()
    replicas.second.leads = False
    await replicas.wait()
    assert await replicas.counts() == []


async def test_nothing_is_written_after_a_restart(replicas: Replicas) -> None:
    replicas.first.envoy("a")
    replicas.second.envoy("b")
    await replicas.wait()
    calls = await replicas.cluster.restart()
    assert calls.writes + (await replicas.wait()).writes == 0

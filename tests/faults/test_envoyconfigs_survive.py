"""EnvoyConfigs under faults at every point: the same revisions, and the same is served."""

import asyncio
from collections.abc import Iterable
from typing import Any

from tests.component.operators.discoveryservice.config.conftest import ReplicaHost
from tests.support.envoy.played import PlayedEnvoy
from tests.support.envoy.resources import cluster
from tests.support.envoy.smallschema import small_schema

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Lease, Pod
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Controller, Operator, OperatorHost, Part
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    stale_restart,
    survives,
)
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import CLUSTER

STORES: list[SnapshotStore] = []
"""What each process served; the last one runs."""
IGNORE = ("EnvoyConfigRevision.status.lastPublishedAt",)


def build(host: OperatorHost) -> Iterable[Part]:
    STORES[:] = [SnapshotStore()]
    return config_operator(small_schema(), STORES[0], Connections(), replica="one").build(host)


OPERATOR = Operator("envoyconfig", build, kinds=[EnvoyConfig, EnvoyConfigRevision])


NODE = NodeKey("default", "gateway")
REPLICAS = {
    name: ReplicaIdentity("x", Key("default", name)) for name in ("marin3r-x-a", "marin3r-x-b")
}


def build_replicas(host: OperatorHost) -> Iterable[Part]:
    """Two pods that are killed together, each with an Envoy; the first leads."""
    for number, (name, identity) in enumerate(REPLICAS.items()):
        snapshots, connections = SnapshotStore(), Connections()
        whole = config_operator(
            small_schema(), snapshots, connections, replica=name, identity=identity
        )
        leads = (lambda: False) if number else host.leads
        parts = whole.build(ReplicaHost(host.client, host.clock, host.metrics, host.rng, leads))
        yield from (one for one in parts if not number or not isinstance(one, Controller))
        PlayedEnvoy(snapshots, connections, host.clock, NODE, f"envoy-{number}")


BOTH = Operator("envoyconfig", build_replicas, kinds=[EnvoyConfig, EnvoyConfigRevision])


def config(*names: str, **more: Any) -> JsonObject:
    resources = [{"type": "cluster", "value": cluster(name, **more)} for name in names]
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": "gateway"},
        "spec": {"nodeID": "gateway", "resources": resources},
    }


def served() -> set[str]:
    snapshot = STORES[0].get(NodeKey("default", "gateway"))
    return set(snapshot.types[CLUSTER].resources) if snapshot else set()


async def rest(cluster: EmbeddedCluster) -> None:
    """Wait until all is done, also what follows from a watch that went silent."""
    await cluster.settle()
    await asyncio.sleep(120)
    await cluster.settle()


async def change(cluster: EmbeddedCluster, changed: JsonObject) -> None:
    await cluster.patch(EnvoyConfig, "gateway", {"spec": changed["spec"]})
    await rest(cluster)


async def life(cluster: EmbeddedCluster) -> None:
    """Everything users do, with what is served at every rest."""
    await cluster.serve(EnvoyConfig, EnvoyConfigRevision)
    await cluster.create(config("a"))
    await rest(cluster)
    assert served() == {"a"}
    await change(cluster, config("a", "b"))
    assert served() == {"a", "b"}
    await change(cluster, config("a", connect_timeout="0s"))
    assert served() == {"a", "b"}
    found = await cluster.get(EnvoyConfig, "gateway")
    assert found.status.cache_state == "Rollback"
    await change(cluster, config("a"))
    assert served() == {"a"}
    found = await cluster.get(EnvoyConfig, "gateway")
    assert found.status.cache_state == "InSync"
    revisions = await cluster.list(EnvoyConfigRevision)
    assert [one.status.published for one in revisions].count(True) == 1


async def counted(cluster: EmbeddedCluster) -> list[tuple[bool, int]]:
    """Return how many Envoys run a version, each with whether it is the wanted one."""
    await rest(cluster)
    status = (await cluster.get(EnvoyConfig, "gateway")).status
    return [(one.version == status.desired_version, one.envoys) for one in status.envoys]


async def ready(cluster: EmbeddedCluster, name: str, value: str) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": value}]}
    await cluster.patch(Pod, name, {"status": status}, subresource="status")


async def counts(cluster: EmbeddedCluster) -> None:
    """Envoys of both pods are in the status, as long as both are ready."""
    await cluster.serve(EnvoyConfig, EnvoyConfigRevision)
    for name, identity in REPLICAS.items():
        metadata = {"name": name, "labels": identity.labels}
        spec = {"containers": [{"name": "marin3r", "image": "certwright:test"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await cluster.create(pod)
        await ready(cluster, name, "True")
    await cluster.create(config("a"))
    assert await counted(cluster) == [(True, 2)]
    await change(cluster, config("a", "b"))
    assert await counted(cluster) == [(True, 2)]
    await ready(cluster, "marin3r-x-b", "False")
    assert await counted(cluster) == [(True, 1)]
    await ready(cluster, "marin3r-x-b", "True")
    assert await counted(cluster) == [(True, 2)]
    await cluster.delete(Lease, "marin3r-x-b")
    assert await counted(cluster) == [(True, 2)]


def test_envoys_of_all_replicas_are_counted_whatever_happens() -> None:
    tortures = (
        crash_after_every_write, stale_restart, drop_each_event, repeat_each_event,
        delay_each_event, break_each_watch, refuse_every_write, lose_every_answer,
    )  # fmt: skip
    assert survives(counts, BOTH, *tortures, ignore=IGNORE, most=2) >= 14


def test_crash_after_every_write() -> None:
    assert survives(life, OPERATOR, crash_after_every_write, ignore=IGNORE, most=10) >= 10


def test_restart_into_earlier_states() -> None:
    assert survives(life, OPERATOR, stale_restart, ignore=IGNORE, most=6) >= 6


def test_events_that_are_lost_late_or_repeated() -> None:
    tortures = (drop_each_event, repeat_each_event, delay_each_event, break_each_watch)
    survives(life, OPERATOR, *tortures, ignore=IGNORE, most=2)


def test_requests_that_fail() -> None:
    tortures = (refuse_every_write, lose_every_answer, fail_every_request)
    survives(life, OPERATOR, *tortures, ignore=IGNORE, most=3)

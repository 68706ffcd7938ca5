"""EnvoyConfigs under faults at every point: the same revisions, and the same is served."""

import asyncio
from collections.abc import Iterable
from typing import Any

from tests.support.envoy.resources import cluster
from tests.support.envoy.smallschema import small_schema

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.runtime import Operator, OperatorHost, Part
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


async def change(cluster: EmbeddedCluster, changed: JsonObject) -> None:
    await asyncio.sleep(2)  # revisions are ordered by seconds
    await cluster.patch(EnvoyConfig, "gateway", {"spec": changed["spec"]})
    await cluster.settle()


async def life(cluster: EmbeddedCluster) -> None:
    """Everything users do, with what is served at every rest."""
    await cluster.serve(EnvoyConfig, EnvoyConfigRevision)
    await cluster.create(config("a"))
    await cluster.settle()
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

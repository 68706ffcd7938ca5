"""The garbage collector under every fault: nothing in use goes, everything else does."""

from datetime import timedelta

import pytest
from tests.support.faults.clocks import outlast_jumps

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Deployment, Pod
from certwright.managed import Reference, ensure
from certwright.managed.references import annotations_for
from certwright.operators.garbagecollector import CollectorSettings, garbage_collector
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    simulate,
    stale_restart,
    survives,
)
from certwright.testkit.builders import config_map, deployment

controller = garbage_collector(
    CollectorSettings(
        enabled=True,
        period=timedelta(minutes=20),
        minimum_lifetime=timedelta(minutes=10),
        home=Key("default", "gc"),
    )
)


async def contents(cluster: EmbeddedCluster, text: str) -> str:
    """Make contents exist, as clients do, and return their name."""
    base = config_map("c", {"text": text}, namespace="default")
    return str((await ensure(cluster.client, base))["metadata"]["name"])


def pod(name: str, uses: str) -> JsonObject:
    volume = {"name": "v", "configMap": {"name": uses}}
    spec = {"containers": [{"name": "main", "image": "app"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def refer(cluster: EmbeddedCluster, uses: str) -> None:
    await cluster.patch(Deployment, "d", {"metadata": {"annotations": None}})
    await cluster.patch(Deployment, "d", referring(uses))


def referring(uses: str) -> JsonObject:
    return {"metadata": {"annotations": annotations_for([Reference("ConfigMap", uses)])}}


async def life(cluster: EmbeddedCluster) -> None:
    """Contents come into use and out of it, and some come back."""
    one, two, three = [await contents(cluster, text) for text in ("1", "2", "3")]
    await cluster.create(pod("p", one))
    await cluster.create(deployment("d", replicas=0))
    await cluster.patch(Deployment, "d", referring(two))
    await cluster.settle()
    await cluster.advance(minutes=25)  # three is noted
    assert await contents(cluster, "3") == three
    await refer(cluster, three)
    await cluster.advance(minutes=10)
    await cluster.create(pod("q", one))  # takes over from p
    await cluster.client.delete(Pod, Key("default", "p"), grace_seconds=0)
    await cluster.advance(minutes=10)  # two is noted
    assert await cluster.names(ConfigMap) >= {one, three}
    assert await contents(cluster, "2") == two  # back to where we were
    await refer(cluster, two)
    await cluster.advance(minutes=60)  # three is noted, and goes
    assert await cluster.names(ConfigMap) >= {one, two}


async def long_life(cluster: EmbeddedCluster) -> None:
    """The same, with time for clocks that were set back to be right again."""
    await life(cluster)
    before = await cluster.names(ConfigMap)
    await outlast_jumps(cluster)
    assert len(await cluster.names(ConfigMap)) == 2 <= len(before)


async def short_life(cluster: EmbeddedCluster) -> None:
    """The same in short, for faults at every request."""
    used, unused = [await contents(cluster, text) for text in ("1", "2")]
    await cluster.create(pod("p", used))
    await cluster.settle()
    await cluster.advance(minutes=65)
    assert used in await cluster.names(ConfigMap)
    assert unused not in await cluster.names(ConfigMap)


def test_crash_after_every_write() -> None:
    assert survives(life, controller, crash_after_every_write, lose_every_answer) > 20


def test_restart_into_every_earlier_state() -> None:
    assert survives(life, controller, stale_restart, most=30) >= 30


def test_events_that_go_wrong() -> None:
    survives(life, controller, drop_each_event, delay_each_event, break_each_watch, most=20)


def test_requests_that_fail() -> None:
    survives(short_life, controller, refuse_every_write, fail_every_request, most=24)


@pytest.mark.parametrize("part", range(2))
def test_random_storms(part: int) -> None:
    campaign = simulate(long_life, controller, seeds=range(part, 24, 2))
    assert campaign.faults > campaign.runs

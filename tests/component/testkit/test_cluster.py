"""One body, two servers: what a test can do with a cluster."""

from datetime import timedelta

import pytest

from certwright.kube import AlreadyExists, Forbidden, JsonObject, Key, NotFound
from certwright.kube.kinds import ConfigMap, Namespace, Secret
from certwright.runtime import DONE, Context, Controller, Outcome, again
from certwright.testkit import Cluster, DidNotSettle, EmbeddedCluster
from certwright.testkit.builders import config_map, namespace, secret


async def mirror(ctx: Context, key: Key) -> Outcome:
    """Keep a ConfigMap of the same name beside every labelled Secret."""
    source = ctx.get(Secret, key)
    if source is not None and "mirror" in source["metadata"].get("labels", {}):
        copy = config_map(key.name, {"keys": ",".join(source.get("data", {}))})
        copy["metadata"]["namespace"] = key.namespace
        await ctx.apply(copy, owner=source)
    return DONE


MIRROR = Controller(Secret, mirror, owns=[ConfigMap])


def source(name: str) -> JsonObject:
    return secret(name, {"k": "v"}, labels={"mirror": "yes"})


async def test_objects_come_and_go(cluster: Cluster) -> None:
    await cluster.create(config_map("a", {"x": "1"}, labels={"app": "a"}))
    await cluster.apply(config_map("b", {"x": "1"}))
    with pytest.raises(AlreadyExists):
        await cluster.create(config_map("a"))
    await cluster.patch(ConfigMap, "a", {"data": {"x": "2"}})
    assert (await cluster.get(ConfigMap, "a"))["data"] == {"x": "2"}
    assert await cluster.names(ConfigMap) >= {"a", "b"}
    assert await cluster.names(ConfigMap, labels="app=a") == {"a"}
    await cluster.delete(ConfigMap, "a")
    assert await cluster.find(ConfigMap, "a") is None
    with pytest.raises(NotFound):
        await cluster.get(ConfigMap, "a")


async def test_other_namespaces_are_named(cluster: Cluster) -> None:
    other = f"{cluster.namespace}-other"
    await cluster.create(namespace(other))
    await cluster.create(config_map("a", namespace=other))
    assert "a" not in await cluster.names(ConfigMap)
    assert (await cluster.get(ConfigMap, f"{other}/a"))["metadata"]["namespace"] == other
    assert other in await cluster.names(Namespace)


async def test_settle_runs_controllers_and_counts_only_them(cluster: Cluster) -> None:
    await cluster.create(source("s"))
    calls = await cluster.settle(MIRROR)
    assert (await cluster.get(ConfigMap, "s"))["data"] == {"keys": "k"}
    assert calls.writes == 1
    assert (await cluster.settle(MIRROR)).writes == 0
    await cluster.delete(ConfigMap, "s")
    calls = await cluster.settle(MIRROR)
    assert calls.of("ConfigMap").writes == calls.writes == 1
    assert await cluster.find(ConfigMap, "s") is not None


async def test_a_restart_reads_everything_and_writes_nothing(cluster: Cluster) -> None:
    await cluster.create(source("s"))
    await cluster.settle(MIRROR)
    calls = await cluster.restart()
    assert calls.writes == 0
    assert calls.watches >= 2


async def test_stopped_controllers_do_nothing(cluster: Cluster) -> None:
    await cluster.create(source("s"))
    await cluster.settle(MIRROR)
    await cluster.stop()
    await cluster.delete(ConfigMap, "s")
    assert (await cluster.settle()).writes == 0
    assert await cluster.find(ConfigMap, "s") is None


async def test_controllers_that_fail_for_ever_are_named(embedded_cluster: EmbeddedCluster) -> None:
    async def broken(_ctx: Context, _key: Key) -> Outcome:
        raise Forbidden("on purpose")

    await embedded_cluster.create(config_map("a"))
    with pytest.raises(DidNotSettle, match=r"broken retries default/a, which failed \d+ time"):
        await embedded_cluster.settle(Controller(ConfigMap, broken, name="broken"))


async def test_days_pass_at_once(embedded_cluster: EmbeddedCluster) -> None:
    async def daily(ctx: Context, key: Key) -> Outcome:
        name = f"{ctx.clock.now():%Y-%m-%d}"
        await ctx.client.create(config_map(name, namespace=key.namespace, labels={"daily": ""}))
        return again(after=timedelta(days=1))

    await embedded_cluster.create(secret("s"))
    await embedded_cluster.settle(Controller(Secret, daily, name="daily"))
    calls = await embedded_cluster.advance(hours=72.5)
    assert calls.writes == 3
    assert len(await embedded_cluster.names(ConfigMap, labels="daily")) == 4


async def test_nothing_is_asked_at_rest(embedded_cluster: EmbeddedCluster) -> None:
    for number in range(20):
        await embedded_cluster.create(source(f"s{number}"))
    await embedded_cluster.settle(MIRROR)
    calls = await embedded_cluster.advance(minutes=10)
    assert (calls.writes, calls.reads) == (0, 0)
    assert calls.watches <= 4  # renewals

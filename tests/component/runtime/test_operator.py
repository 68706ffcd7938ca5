"""Operators: controllers with something in common, built anew for each process."""

from typing import Any, cast

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Secret
from certwright.runtime import (
    DONE,
    Cache,
    Channel,
    Context,
    Controller,
    Operator,
    OperatorHost,
    Outcome,
    select,
)
from certwright.testkit import Cluster


def config_map(name: str, **data: str) -> JsonObject:
    metadata = {"name": name, "labels": {"copied": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(name: str, **annotations: str) -> JsonObject:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def copying(cluster: Cluster, log: list[Any]) -> Operator:
    """Copy ConfigMaps that are watched by a cache of its own into annotations of Secrets."""

    def build(site: OperatorHost) -> list[Cache | Controller]:
        channel = Channel()
        own = select(Secret, namespace=cluster.namespace)
        cache = Cache(site.client, cluster="other", rng=site.rng)
        share = cache.store(ConfigMap, namespace=cluster.namespace, labels="copied")
        share.listen(lambda old, new: channel.send(cast("Any", new or old).key))
        log.append("built")

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            obj, source = ctx.get(Secret, key), share.store.get(key)
            if obj is not None and source is not None:
                text = source.obj()["data"]["text"]
                if obj["metadata"].get("annotations") != {"text": text}:
                    await ctx.patch(obj, {"metadata": {"annotations": {"text": text}}})
            return DONE

        return [Controller(own, reconcile, channels=[channel]), cache]

    return Operator("copying", build)


async def text_of(cluster: Cluster, name: str) -> str:
    value: str = (await cluster.get(Secret, name))["metadata"]["annotations"]["text"]
    return value


async def test_a_channel_wakes_and_settling_waits_for_the_other_cache(cluster: Cluster) -> None:
    operator = copying(cluster, [])
    await cluster.create(secret("a"))
    await cluster.create(config_map("a", text="one"))
    await cluster.settle(operator)
    assert await text_of(cluster, "a") == "one"
    await cluster.patch(ConfigMap, "a", {"data": {"text": "two"}})
    calls = await cluster.settle(operator)
    assert await text_of(cluster, "a") == "two"
    assert (calls.writes, calls.reads) == (1, 0)


async def test_each_process_builds_its_own(cluster: Cluster) -> None:
    log: list[Any] = []
    await cluster.settle(copying(cluster, log))
    await cluster.restart()
    assert log == ["built", "built"]


async def test_a_patch_changes_exactly_what_was_read(cluster: Cluster) -> None:
    seen: list[Any] = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        obj = ctx.get(Secret, key)
        if obj is not None and "mark" not in (obj["metadata"].get("annotations") or {}):
            seen.append(await ctx.patch(obj, {"metadata": {"annotations": {"mark": "1"}}}))
            await ctx.patch(obj, {"metadata": {"finalizers": ["certwright.dev/held"]}})
        return DONE

    await cluster.create(secret("a", old="x"))
    await cluster.settle(Controller(select(Secret, namespace=cluster.namespace), reconcile))
    metadata = (await cluster.get(Secret, "a"))["metadata"]
    assert metadata["annotations"] == {"old": "x", "mark": "1"}
    assert metadata["finalizers"] == ["certwright.dev/held"]
    await cluster.patch(Secret, "a", {"metadata": {"finalizers": None}})


async def test_what_cannot_be_undone_is_confirmed_first(cluster: Cluster) -> None:
    seen: list[Any] = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        obj = ctx.get(Secret, key)
        seen.append(obj is not None)
        if obj is not None and obj["metadata"]["name"] == "fleeting":
            await ctx.confirm(obj)
            await ctx.client.delete(Secret, key)  # as somebody else would; no event has come yet
            await ctx.confirm(obj)
            seen.append("went on")
        return DONE

    await cluster.create(secret("fleeting"))
    controller = Controller(select(Secret, namespace=cluster.namespace), reconcile, workers=1)
    await cluster.settle(controller)
    assert "went on" not in seen
    assert seen[-1] is False, "the store knew before the event came"

"""Inventories that do not fit into a status, and hands laid on the rest of them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping, KeepingOn

from certwright.client import Request
from certwright.kube import Invalid, JsonObject
from certwright.kube.kinds import ConfigMap, Secret
from certwright.runtime import Metrics
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map

NAMES = [f"cm-{number}" for number in range(8)]
SIZE = 200_000
"""Of an annotation, which is part of the inventory: three objects fill a status, or a companion."""


async def declared(keeping: Keeping, name: str = "web", **spec: bool) -> list[str]:
    """Declare objects whose inventory needs two companions; return the names of these."""
    await keeping.install()
    for secret, names in (("one", NAMES[:4]), ("two", NAMES[4:])):
        objects = [config_map(name, annotations={"n": "x" * SIZE}) for name in names]
        if await keeping.find(Secret, secret) is None:
            await keeping.cluster.create(keeping.secret_with(secret, *objects))
    await keeping.cluster.create(keeping.managed_resource(name, "one", "two", **spec))
    await keeping.settle()
    return await companions(keeping, name)


async def companions(keeping: Keeping, name: str = "web") -> list[str]:
    """Return the names of the companions that the status tells of."""
    return await keeping.shards(name)


async def unhold(keeping: Keeping, name: str) -> None:
    await keeping.cluster.patch(ConfigMap, name, {"metadata": {"finalizers": None}})


async def delete(keeping: Keeping, name: str) -> None:
    """Delete a companion for good, against its finalizer."""
    await unhold(keeping, name)
    await keeping.cluster.delete(ConfigMap, name)


async def replace(keeping: Keeping, name: str) -> None:
    await delete(keeping, name)
    label = {"resources.certwright.dev/inventory": keeping.namespace}
    await keeping.cluster.create(config_map(name, {"inventory": "[]"}, labels=label))


async def replace_for_good(keeping: Keeping, name: str) -> None:
    await delete(keeping, name)
    label = {"resources.certwright.dev/inventory": keeping.namespace}
    other = config_map(name, {"inventory": "[]"}, labels=label)
    await keeping.cluster.create({**other, "immutable": True})


async def disown(keeping: Keeping, name: str) -> None:
    await keeping.cluster.patch(ConfigMap, name, {"metadata": {"ownerReferences": None}})


async def unlabel(keeping: Keeping, name: str) -> None:
    label = {"resources.certwright.dev/inventory": None}
    await keeping.cluster.patch(ConfigMap, name, {"metadata": {"labels": label}})


def essence(companion: JsonObject) -> tuple[dict[str, str], dict[str, str], list[JsonObject]]:
    """Return what matters about a companion."""
    metadata = companion["metadata"]
    assert "deletionTimestamp" not in metadata
    assert metadata["finalizers"] == ["resources.certwright.dev/inventory"]
    return companion["data"], metadata["labels"], metadata["ownerReferences"]


async def undone(keeping: Keeping, meddle: Callable[..., Awaitable[Any]]) -> Calls:
    """Let somebody lay hands on a companion; return the calls it took to make it as it was."""
    first, second = await declared(keeping)
    before = essence(await keeping.find(ConfigMap, second))
    await meddle(keeping, second)
    calls = await keeping.settle()
    assert essence(await keeping.find(ConfigMap, second)) == before
    assert await keeping.exists(ConfigMap, *NAMES, first) == {*NAMES, first}
    assert (await keeping.conditions("web"))["Ready"] == "True/ResourcesHealthy"
    assert len(await keeping.settle()) == 0
    return calls


@pytest.mark.scenario("MR-22")
@pytest.mark.parametrize("meddle", [unhold, disown, unlabel])
async def test_what_others_do_to_a_companion_is_undone_at_once(
    keeping: Keeping, meddle: Callable[..., Awaitable[Any]]
) -> None:
    calls = await undone(keeping, meddle)
    assert (calls.reads, calls.writes) == (0, 1)


@pytest.mark.parametrize(("meddle", "writes"), [(replace, 1), (replace_for_good, 3)])
async def test_somebody_elses_under_the_same_name_gives_way(
    embedded_keeping: Keeping, meddle: Callable[..., Awaitable[Any]], writes: int
) -> None:
    """Embedded: a real server lets nobody take the name before we write the companion again."""
    calls = await undone(embedded_keeping, meddle)
    assert (calls.reads, calls.writes) == (0, writes)


@pytest.mark.scenario("MR-22")
@pytest.mark.parametrize("running", [True, False])
async def test_a_companion_that_is_deleted_is_held_until_another_has_its_contents(
    keeping: Keeping, healthy: dict[str, str], *, running: bool
) -> None:
    first, second = await declared(keeping)
    contents = (await keeping.find(ConfigMap, second))["data"]
    if not running:
        await keeping.cluster.stop()
    await keeping.cluster.delete(ConfigMap, second)
    if not running:
        assert (await keeping.find(ConfigMap, second))["data"] == contents
    await keeping.settle()
    same, other = await companions(keeping)
    assert (same, other != second) == (first, True)
    assert (await keeping.find(ConfigMap, other))["data"] == contents
    await keeping.cluster.gone(ConfigMap, second)
    assert await keeping.conditions("web") == healthy
    assert len(await keeping.settle()) == 0
    await keeping.change("web", secretRefs=[{"name": "one"}])
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[:4])
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    await keeping.cluster.gone(keeping.kind, "web")
    assert await keeping.exists(ConfigMap, *NAMES) == set()
    await keeping.cluster.gone(ConfigMap, first)


async def test_a_companion_that_no_status_came_to_name_is_deleted(keeping: Keeping) -> None:
    """As a process leaves one behind that ends between two writes, if the next decides otherwise."""
    _, second = await declared(keeping)
    written = await keeping.find(ConfigMap, second)
    same = ("namespace", "labels", "ownerReferences", "finalizers")
    metadata = {name: written["metadata"][name] for name in same}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "data": written["data"]}
    await keeping.cluster.create({**head, "metadata": {**metadata, "name": "web-inventory-left"}})
    await keeping.settle()
    await keeping.change("web", secretRefs=[{"name": "two"}])
    await keeping.settle()
    await keeping.cluster.gone(ConfigMap, "web-inventory-left")
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[4:])
    assert (await keeping.conditions("web"))["Ready"] == "True/ResourcesHealthy"
    assert len(await keeping.settle()) == 0


async def test_a_companion_does_not_outlive_a_managed_resource_that_was_forced_away(
    keeping: Keeping,
) -> None:
    names = await declared(keeping)
    await keeping.cluster.stop()
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.cluster.patch(keeping.kind, "web", {"metadata": {"finalizers": None}})
    await keeping.cluster.gone(keeping.kind, "web")
    await declared(keeping, "other")
    for name in names:
        await keeping.cluster.gone(ConfigMap, name)


def watches_of_companions(keeping: Keeping) -> list[Request]:
    """Return the lists and watches that were made of companions."""
    return [
        call
        for call in keeping.cluster.calls
        if "certwright.dev/inventory" in str(dict(call.query).get("labelSelector"))
    ]


async def test_companions_are_watched_once_there_is_one_and_without_contents(
    keeping: Keeping,
) -> None:
    await keeping.declare("small", config_map("a"))
    await keeping.settle()
    assert watches_of_companions(keeping) == []
    await declared(keeping)
    watches = watches_of_companions(keeping)
    assert "watch" in {call.verb for call in watches}
    assert all("PartialObjectMetadata" in dict(call.headers)["accept"] for call in watches)


async def test_a_companion_that_nobody_touches_costs_nothing(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await declared(keeping)
    await keeping.cluster.create(config_map("foreign"))
    await keeping.cluster.patch(ConfigMap, "foreign", {"data": {"n": "1"}})
    calls = await keeping.cluster.advance(minutes=4)
    assert (calls.reads, calls.writes) == (0, 0)
    calls = await keeping.restart()
    assert calls.writes == 0
    assert calls.of("ConfigMap").by_verb["get"] == 2


async def test_contents_cannot_be_edited(keeping: Keeping) -> None:
    first, _ = await declared(keeping)
    with pytest.raises(Invalid, match="immutable"):
        await keeping.cluster.patch(ConfigMap, first, {"data": {"inventory": "[]"}})


async def restore(keeping: Keeping, saved: JsonObject) -> None:
    """Write an object again as it was."""
    if await keeping.find(ConfigMap, saved["metadata"]["name"]) is not None:
        await keeping.cluster.delete(ConfigMap, saved["metadata"]["name"])
    kept = ("name", "labels", "ownerReferences", "finalizers")
    metadata = {name: saved["metadata"][name] for name in kept}
    await keeping.cluster.apply({**saved, "metadata": metadata})


@pytest.mark.parametrize("meddle", [delete, replace])
async def test_without_a_part_of_the_inventory_nothing_goes_until_it_is_back(
    keeping: Keeping, healthy: dict[str, str], meddle: Callable[..., Awaitable[Any]]
) -> None:
    """Nobody notices how it gets lost, for the process is away."""
    _, second = await declared(keeping)
    saved = await keeping.find(ConfigMap, second)
    await keeping.cluster.stop()
    await meddle(keeping, second)
    await keeping.change("web", secretRefs=[{"name": "one"}])
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert second in await keeping.message("web")
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES)
    await restore(keeping, saved)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[:4])
    [left] = await companions(keeping)
    assert await keeping.exists(ConfigMap, left, second) == {left}


@pytest.mark.parametrize("meddle", [delete, replace])
async def test_a_part_that_will_not_come_back_can_be_given_up(
    keeping: Keeping, healthy: dict[str, str], meddle: Callable[..., Awaitable[Any]]
) -> None:
    first, second = await declared(keeping)
    await keeping.cluster.stop()
    await meddle(keeping, second)
    await keeping.change("web", secretRefs=[{"name": "one"}])
    await keeping.settle()
    told = await keeping.message("web")
    forget = "resources.certwright.dev/forget-inventory"
    assert f"annotate the ManagedResource with {forget}={second}: " in told
    await keeping.annotate("web", forget, first)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"  # another one
    await keeping.annotate("web", forget, second)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    listed_there_only = NAMES[6:]
    assert await keeping.exists(ConfigMap, *NAMES) == {*NAMES[:4], *listed_there_only}
    assert await keeping.exists(ConfigMap, second) == set()


async def test_a_part_that_is_given_up_holds_up_no_deletion(keeping: Keeping) -> None:
    _, second = await declared(keeping)
    await keeping.cluster.stop()
    await delete(keeping, second)
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/DeletionFailed"
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES)
    await keeping.annotate("web", "resources.certwright.dev/forget-inventory", second)
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[6:])


@pytest.mark.parametrize("suspend", [True, False])
async def test_the_loss_is_told_and_no_defect_of_ours(
    embedded_cluster: EmbeddedCluster, keeping_on: KeepingOn, *, suspend: bool
) -> None:
    metrics = Metrics()
    async with EmbeddedCluster(metrics=metrics) as cluster:
        keeping = keeping_on(cluster)
        _, second = await declared(keeping, suspend=False)
        await keeping.change("web", suspend=suspend)
        await keeping.settle()
        await cluster.stop()
        await delete(keeping, second)
        await keeping.settle()
        assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
        assert second in await keeping.message("web")
        for controller in ("managedresource", "health"):
            labels = {"controller": controller}
            name = "controller_runtime_reconcile_panics_total"
            assert not metrics.registry.get_sample_value(name, labels)


@pytest.mark.parametrize("meddle", [delete, unlabel])
async def test_the_loss_of_a_companion_hinders_no_deletion(
    keeping: Keeping, meddle: Callable[..., Awaitable[Any]]
) -> None:
    names = await declared(keeping)
    await meddle(keeping, names[1])
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert await keeping.exists(ConfigMap, *NAMES) == set()
    await keeping.cluster.gone(ConfigMap, names[0])
    await keeping.cluster.gone(ConfigMap, names[1])


async def test_a_suspended_one_keeps_its_inventory(keeping: Keeping) -> None:
    _, second = await declared(keeping)
    await keeping.change("web", suspend=True)
    await keeping.settle()
    await delete(keeping, second)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, second) == {second}


async def test_another_class_leaves_no_companion_behind(keeping: Keeping) -> None:
    """Also a process that has just started, and had no reason to read them."""
    names = await declared(keeping, keepObjects=True)
    await keeping.cluster.stop()
    await keeping.change("web", **{"class": "other"})
    await keeping.settle()
    assert "resources" not in await keeping.status("web")
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES)
    assert await keeping.exists(ConfigMap, *names) == set()

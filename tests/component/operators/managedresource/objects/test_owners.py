"""Which ManagedResource an object belongs to, when it moves, and what cannot make it move."""

from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.operators.managedresource.configuration import GarbageCollectorSettings
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

ORIGIN = "resources.gardener.cloud/origin"
KEEP = {"resources.gardener.cloud/keep-object": "true"}
COLLECTABLE = {"resources.gardener.cloud/garbage-collectable-reference": "true"}


async def origin_of(keeping: Keeping, name: str) -> Any:
    found = await keeping.find(ConfigMap, name)
    return (found["metadata"].get("annotations") or {}).get(ORIGIN)


async def mark(keeping: Keeping, name: str, origin: str | None) -> None:
    await keeping.cluster.patch(ConfigMap, name, {"metadata": {"annotations": {ORIGIN: origin}}})


# Objects that move


@pytest.mark.parametrize("wanted", ["later", "before"])
@pytest.mark.parametrize("metadata", [{"annotations": KEEP}, {"labels": COLLECTABLE}])
async def test_what_one_keeps_and_does_not_want_moves_to_another(
    keeping: Keeping, healthy: dict[str, str], metadata: JsonObject, wanted: str
) -> None:
    keeping.running = keeping.operator(garbage_collector=GarbageCollectorSettings(enabled=True))
    await keeping.declare("from", config_map("shared", {"by": "from"}, **metadata), config_map("a"))
    await keeping.settle()
    uid = (await keeping.find(ConfigMap, "shared"))["metadata"]["uid"]
    if wanted == "before":
        await keeping.declare("to", config_map("shared", {"by": "to"}, **metadata))
        await keeping.settle()
        assert (await keeping.conditions("to"))["Applied"] == "False/ApplyFailed"
        assert f"it belongs to {keeping.namespace}/from" in await keeping.message("to")
    await keeping.rewrite("from", config_map("a"))
    if wanted == "later":
        await keeping.settle()
        await keeping.declare("to", config_map("shared", {"by": "to"}, **metadata))
    await keeping.settle()
    found = await keeping.find(ConfigMap, "shared")
    assert (found["metadata"]["uid"], found["data"]) == (uid, {"by": "to"})
    assert found["metadata"]["annotations"][ORIGIN] == f"{keeping.namespace}/to"
    assert await keeping.conditions("to") == healthy
    assert await keeping.conditions("from") == healthy
    await keeping.cluster.delete(keeping.kind, "from")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "shared", "a") == {"shared"}


async def test_what_a_deleted_one_left_moves_to_another(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("from", config_map("shared"), keepObjects=True)
    await keeping.settle()
    await keeping.declare("to", config_map("shared", {"by": "to"}))
    await keeping.settle()
    assert (await keeping.conditions("to"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.delete(keeping.kind, "from")
    await keeping.settle()
    assert await keeping.conditions("to") == healthy
    assert await origin_of(keeping, "shared") == f"{keeping.namespace}/to"


async def test_an_owner_is_asked_about_only_if_it_seems_to_have_given_up(keeping: Keeping) -> None:
    await keeping.declare("from", config_map("shared"))
    await keeping.settle()
    await keeping.declare("to", config_map("shared"), config_map("own"))
    calls = await keeping.settle()
    assert calls.by_verb["get"] == 0
    await keeping.annotate("to", "gardener.cloud/operation", "reconcile")
    calls = await keeping.settle()
    assert (calls.by_verb["get"], calls.of("ConfigMap").writes) == (0, 0)


# Marks of other hands


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    "origin",
    [None, "nonsense", "{}/gone", "{}/other", "elsewhere:a/b", "elsewhere:{}/web"],
)
async def test_a_forged_origin_is_repaired(
    keeping: Keeping, healthy: dict[str, str], origin: str | None, *, running: bool
) -> None:
    await keeping.declare("web", config_map("a", {"k": "v"}), config_map("b"))
    await keeping.declare("other", config_map("c"))
    await keeping.settle()
    before = await keeping.find(ConfigMap, "a")
    if not running:
        await keeping.cluster.stop()
    await mark(keeping, "a", origin and origin.format(keeping.namespace))
    calls = await keeping.settle()
    assert await origin_of(keeping, "a") == f"{keeping.namespace}/web"
    assert calls.of("ConfigMap").writes == 1
    assert (await keeping.find(ConfigMap, "a"))["metadata"]["uid"] == before["metadata"]["uid"]
    assert await keeping.conditions("web") == await keeping.conditions("other") == healthy


async def test_the_name_of_one_that_does_not_want_it_saves_no_object(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.declare("other", config_map("c"))
    await keeping.settle()
    await keeping.cluster.stop()
    await mark(keeping, "a", f"{keeping.namespace}/other")
    await keeping.rewrite("web", config_map("b"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b", "c") == {"b", "c"}


# Installations that share a target


async def test_the_cluster_id_tells_owners_apart(
    embedded_keeping: Keeping, keeping_on: type[Keeping], healthy: dict[str, str]
) -> None:
    """Embedded, for a second source cluster. The ManagedResources have the same name."""
    here = embedded_keeping
    here.running = here.operator(identity="here")
    await here.declare("web", config_map("shared", {"by": "here"}), config_map("mine"))
    await here.settle()
    async with EmbeddedCluster(seed=7) as source:
        there = keeping_on(source)
        target = Client(here.cluster.server.transport(), clock=here.cluster.clock)
        there.running = there.operator(identity="there", target=target)
        await there.declare("web", config_map("shared", {"by": "there"}), config_map("theirs"))
        await there.settle()
        assert await origin_of(here, "shared") == f"there:{here.namespace}/web"
        assert await there.conditions("web") == healthy
        await here.settle()
        assert (await here.conditions("web"))["Applied"] == "False/ApplyFailed"
        assert f"it belongs to there:{here.namespace}/web" in await here.message("web")
        await here.cluster.delete(here.kind, "web")
        await here.settle()
        assert await here.find(here.kind, "web") is None
        names = {"shared", "mine", "theirs"}
        assert await here.exists(ConfigMap, *names) == {"shared", "theirs"}
        assert (await here.find(ConfigMap, "shared"))["data"] == {"by": "there"}
        await there.settle()
        assert await there.conditions("web") == healthy
        await there.cluster.stop()


async def test_another_cluster_id_is_written_on_all_objects(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle(keeping.operator(identity="old"))
    await keeping.cluster.stop()
    await keeping.settle(keeping.operator(identity="new"))
    assert await origin_of(keeping, "a") == f"new:{keeping.namespace}/web"
    assert await keeping.conditions("web") == healthy
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a"}

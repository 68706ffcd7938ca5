"""ManagedResources that wait: for others, for a class, for somebody to lift a suspension."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map, deployment
from certwright.testkit.calls import is_write

FINALIZER = "resources.gardener.cloud/gardener-resource-manager"


async def test_a_suspended_one_writes_nothing_and_still_tells_about_health(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    await keeping.change("web", suspend=True)
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"color": "red"}})
    calls = await keeping.settle()
    assert calls.writes == 0
    assert await keeping.conditions("web") == {**healthy, "Ready": "False/Suspended"}
    await keeping.cluster.delete(ConfigMap, "a")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/ConfigMapMissing"
    await keeping.change("web", suspend=None)
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"color": "blue"}
    assert await keeping.conditions("web") == healthy


async def test_dependencies_come_first(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("app", config_map("app"), dependsOn=[{"name": "base"}])
    await keeping.settle()
    assert await keeping.conditions("app") == {"Ready": "Unknown/DependencyNotReady"}
    assert await keeping.exists(ConfigMap, "app") == set()
    await keeping.declare("base", config_map("base"))
    await keeping.settle()
    assert await keeping.conditions("app") == healthy


async def test_unhealthy_dependencies_hold_others_up(keeping: Keeping) -> None:
    await keeping.declare("base", deployment("never-available"))
    await keeping.declare("app", config_map("app"), dependsOn=[{"name": "base"}])
    await keeping.settle()
    assert await keeping.message("app", "Ready") == (
        "Waiting for other ManagedResources: base is not healthy."
    )
    assert await keeping.exists(ConfigMap, "app") == set()


async def test_cycles_are_told(keeping: Keeping) -> None:
    await keeping.declare("a", config_map("a"), dependsOn=[{"name": "b"}])
    await keeping.declare("b", config_map("b"), dependsOn=[{"name": "a"}])
    await keeping.settle()
    for name in ("a", "b"):
        assert await keeping.conditions(name) == {"Ready": "False/DependencyCycle"}
        assert await keeping.message(name, "Ready") == "The dependencies form a cycle: a → b → a."


@pytest.mark.scenario("MR-68")
async def test_a_class_hands_over_to_another(keeping: Keeping, healthy: dict[str, str]) -> None:
    ours, theirs = keeping.operator(), keeping.operator(resource_class="seed")
    await keeping.declare("web", config_map("a"))
    await keeping.settle(ours)
    first = (await keeping.find(ConfigMap, "a"))["metadata"]["uid"]
    await keeping.settle(theirs)
    await keeping.change("web", **{"class": "seed"})
    await keeping.settle(theirs)
    assert (await keeping.get("web"))["metadata"]["finalizers"] == [f"{FINALIZER}-seed"]
    assert (await keeping.find(ConfigMap, "a"))["metadata"]["uid"] != first
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-68")
async def test_the_next_class_waits_until_the_last_one_has_cleaned_up(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    ours, theirs = keeping.operator(), keeping.operator(resource_class="seed")
    await keeping.declare("web", config_map("a"))
    await keeping.settle(ours)
    first = (await keeping.find(ConfigMap, "a"))["metadata"]["uid"]
    await keeping.cluster.stop()
    await keeping.change("web", **{"class": "seed"})
    await keeping.rewrite("web", config_map("a", {"of": "seed"}))
    calls = await keeping.settle(theirs)
    assert calls.writes == 0, "the objects are still those of the other class"
    assert (await keeping.get("web"))["metadata"]["finalizers"] == [FINALIZER]
    calls = await keeping.settle(ours)
    done = [
        (request.verb, request.resource.kind)
        for request in calls
        if is_write(request) and request.resource is not None and request.resource.kind != "Event"
    ]
    assert done.index(("delete", "ConfigMap")) < done.index(("create", "ConfigMap"))
    after = await keeping.find(ConfigMap, "a")
    assert after["data"] == {"of": "seed"}
    assert after["metadata"]["uid"] != first
    assert (await keeping.get("web"))["metadata"]["finalizers"] == [f"{FINALIZER}-seed"]
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-68")
async def test_objects_are_kept_over_a_change_of_class_if_the_spec_says_so(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    ours, theirs = keeping.operator(), keeping.operator(resource_class="seed")
    await keeping.declare("web", config_map("a"), keepObjects=True)
    await keeping.settle(ours)
    first = (await keeping.find(ConfigMap, "a"))["metadata"]["uid"]
    await keeping.settle(theirs)
    await keeping.change("web", **{"class": "seed"})
    await keeping.settle(theirs)
    assert (await keeping.find(ConfigMap, "a"))["metadata"]["uid"] == first
    assert await keeping.conditions("web") == healthy

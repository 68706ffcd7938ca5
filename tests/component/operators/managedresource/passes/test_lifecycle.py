"""From a Secret to healthy objects, kept as they are, and away again."""

import asyncio

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit.builders import config_map


@pytest.mark.scenario("MR-1")
async def test_objects_of_a_secret_are_applied(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("b", {"n": "2"}), config_map("a", {"n": "1"}))
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b"]
    assert await keeping.conditions("web") == healthy
    resource = await keeping.get("web")
    assert resource["status"]["observedGeneration"] == resource["metadata"]["generation"]
    assert (calls.writes, calls.reads) == (4, 0)


@pytest.mark.scenario("MR-23")
async def test_an_edit_is_reverted_at_once(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("settings", {"color": "blue"}))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "settings", {"data": {"color": "red"}})
    calls = await keeping.settle()
    assert (await keeping.find(ConfigMap, "settings"))["data"] == {"color": "blue"}
    assert calls.by_kind == {"ConfigMap": 1, "Event": 1}
    [told] = await keeping.events("Repaired")
    assert told == f"Restored ConfigMap {keeping.namespace}/settings (data.color by test)"


@pytest.mark.scenario("MR-23")
async def test_an_edit_is_reverted_within_two_seconds(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("settings", {"color": "blue"}))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "settings", {"data": {"color": "red"}})
    await asyncio.sleep(2)
    assert (await keeping.find(ConfigMap, "settings"))["data"] == {"color": "blue"}


@pytest.mark.scenario("MR-23")
async def test_an_edit_that_no_watch_told_of_is_reverted_at_the_next_start(
    keeping: Keeping,
) -> None:
    await keeping.declare("web", config_map("settings", {"color": "blue"}))
    await keeping.settle()
    await keeping.cluster.stop()
    await keeping.cluster.patch(ConfigMap, "settings", {"data": {"color": "red"}})
    calls = await keeping.settle()
    assert (await keeping.find(ConfigMap, "settings"))["data"] == {"color": "blue"}
    assert calls.of("ConfigMap").writes == 1


@pytest.mark.scenario("MR-24")
async def test_a_deleted_object_comes_back(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("settings", {"color": "blue"}))
    await keeping.settle()
    await keeping.cluster.delete(ConfigMap, "settings")
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "settings")
    assert await keeping.conditions("web") == healthy
    assert calls.by_kind == {"ConfigMap": 1, "Event": 1}


@pytest.mark.scenario("MR-24")
async def test_a_deleted_object_comes_back_also_while_another_is_unhealthy(
    keeping: Keeping,
) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stuck"},
        "spec": {
            "containers": [{"name": "main", "image": "app"}],
            "nodeSelector": {"no": "such-node"},
        },
    }
    await keeping.declare("web", config_map("settings"), pod)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/PodUnhealthy"
    await keeping.cluster.delete(ConfigMap, "settings")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "settings")


async def test_everything_goes_with_the_managed_resource(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"), config_map("c"))
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b", "c") == set()
    assert await keeping.find(keeping.kind, "web") is None
    assert (calls.writes, calls.reads) == (5, 0)


@pytest.mark.scenario("MR-57")
async def test_objects_stay_where_the_spec_says_so(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), keepObjects=True)
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert await keeping.find(keeping.kind, "web") is None
    assert calls.writes == 1


@pytest.mark.scenario("MR-64")
async def test_the_secret_may_go_first(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.cluster.delete(Secret, "web")
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a") == set()
    assert await keeping.find(keeping.kind, "web") is None

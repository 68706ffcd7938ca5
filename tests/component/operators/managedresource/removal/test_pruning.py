"""Objects that are no longer wanted, or wanted by somebody else."""

import asyncio
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map
from certwright.testkit.faults.faults import At, Crash
from certwright.testkit.faults.interference import Interference

HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
ORIGIN = "resources.gardener.cloud/origin"
MODE = "resources.gardener.cloud/mode"


@pytest.mark.scenario("MR-55")
async def test_what_lingers_does_not_keep_others_from_being_applied(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("old"), config_map("stays"))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "old", HELD)
    await keeping.settle()
    await keeping.rewrite("web", config_map("stays"), config_map("new"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "old", "new", "stays") == {"old", "new", "stays"}
    assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"
    assert f"v1/ConfigMap/{keeping.namespace}/old" in await keeping.message("web")
    assert "ConfigMap/old" in await keeping.inventory("web")
    await keeping.cluster.patch(ConfigMap, "old", {"metadata": {"finalizers": None}})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/new", "ConfigMap/stays"]


async def test_deletion_waits_for_what_lingers(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("held"), config_map("free"))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "held", HELD)
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    assert calls.writes == 4
    assert await keeping.exists(ConfigMap, "held", "free") == {"held"}
    assert await keeping.conditions("web") == {
        "Applied": "Progressing/DeletionPending",
        "Healthy": "False/DeletionPending",
        "Progressing": "True/DeletionPending",
        "Ready": "Unknown/DeletionPending",
    }
    await keeping.cluster.patch(ConfigMap, "held", {"metadata": {"finalizers": None}})
    calls = await keeping.settle()
    assert await keeping.find(keeping.kind, "web") is None
    assert (calls.writes, calls.reads) == (1, 0)


@pytest.mark.scenario("MR-54")
async def test_an_object_moves_without_being_touched(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("from", config_map("shared"))
    await keeping.settle()
    uid = (await keeping.find(ConfigMap, "shared"))["metadata"]["uid"]
    await keeping.rewrite("from", config_map("shared", annotations={MODE: "Ignore"}))
    await keeping.settle()
    released = await keeping.find(ConfigMap, "shared")
    assert ORIGIN not in released["metadata"].get("annotations", {})
    assert await keeping.inventory("from") == []
    await keeping.declare("to", config_map("shared"))
    await keeping.settle()
    moved = await keeping.find(ConfigMap, "shared")
    assert moved["metadata"]["uid"] == uid
    assert moved["metadata"]["annotations"][ORIGIN] == f"{keeping.namespace}/to"
    await keeping.cluster.delete(keeping.kind, "from")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "shared") == {"shared"}
    assert await keeping.conditions("to") == healthy


@pytest.mark.scenario("MR-91")
async def test_an_object_of_another_managed_resource_is_refused(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("first", config_map("shared", {"by": "first"}))
    await keeping.settle()
    await keeping.declare("second", config_map("shared", {"by": "second"}), config_map("own"))
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "shared"))["data"] == {"by": "first"}
    assert await keeping.exists(ConfigMap, "own") == {"own"}
    assert (await keeping.conditions("second"))["Applied"] == "False/ApplyFailed"
    assert f"{keeping.namespace}/first" in await keeping.message("second")
    assert await keeping.conditions("first") == healthy
    await keeping.cluster.delete(keeping.kind, "second")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "shared", "own") == {"shared"}


@pytest.mark.scenario("MR-91")
async def test_an_object_of_another_managed_resource_can_be_taken_over(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("first", config_map("shared", {"by": "first"}))
    await keeping.settle()
    take_over = {"resources.certwright.dev/take-over": "true"}
    await keeping.declare("second", config_map("shared", {"by": "second"}), annotations=take_over)
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "shared"))["data"] == {"by": "second"}
    assert await keeping.conditions("second") == healthy
    await keeping.cluster.delete(keeping.kind, "first")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "shared") == {"shared"}


@pytest.mark.scenario("MR-69")
@pytest.mark.parametrize("first", [True, False], ids=["first pass", "later pass"])
async def test_what_was_created_before_a_crash_is_not_forgotten(
    embedded_cluster: EmbeddedCluster, keeping_on: type[Keeping], *, first: bool
) -> None:
    """The Secret is emptied before the process is back: the inventory alone knows of the object."""
    planned: dict[int, Any] = {}
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(At(writes=planned), loop.trace, loop.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        keeping = keeping_on(cluster)
        await keeping.install()
        if not first:
            await keeping.declare("web", config_map("old"))
            await keeping.settle()
        planned[interference.writes + 2] = Crash()  # the first one is the inventory
        if first:
            await keeping.declare("web", config_map("a"))
        else:
            await keeping.rewrite("web", config_map("old"), config_map("a"))
        async with asyncio.TaskGroup() as group:
            group.create_task(empty_when_created(keeping))
            await keeping.settle()
        await keeping.settle()
        assert interference.faults == 1
        assert await keeping.exists(ConfigMap, "a", "old") == set()
        assert await keeping.inventory("web") == []


async def empty_when_created(keeping: Keeping) -> None:
    """Empty the Secret as soon as the object is there, before the process is started again."""
    while not await keeping.exists(ConfigMap, "a"):
        await asyncio.sleep(0.001)
    await keeping.rewrite("web")


@pytest.mark.scenario("MR-69")
async def test_what_a_failed_pass_created_is_not_forgotten(keeping: Keeping) -> None:
    invalid = config_map("In_Valid")
    await keeping.declare("web", config_map("a"), invalid)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    await keeping.rewrite("web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a") == set()
    assert await keeping.inventory("web") == []

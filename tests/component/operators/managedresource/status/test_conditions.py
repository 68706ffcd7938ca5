"""What conditions say, and when."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping, KeepingOn

from certwright.kube import Key, resource_of
from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map, deployment
from certwright.testkit.faults.faults import At, Refuse
from certwright.testkit.faults.interference import Interference

IGNORE = "resources.gardener.cloud/ignore"
OPERATION = "gardener.cloud/operation"


PENDING = "Unknown/ChecksPending"


async def told_before(keeping: Keeping, calls: Calls, *verbs: str) -> dict[str, str]:
    """Return the conditions that were written before the first object was written or deleted."""
    requests = list(calls)
    first = next(
        number
        for number, request in enumerate(requests)
        if request.resource == resource_of(ConfigMap) and request.verb in verbs
    )
    written: dict[str, str] = {}
    for request in requests[:first]:
        if request.resource == keeping.kind and request.subresource == "status":
            for condition in orjson.loads(request.body or b"")["status"].get("conditions", ()):
                name = condition["type"].removeprefix("Resources")
                written[name] = f"{condition['status']}/{condition['reason']}"
    return written


UNDER_WAY = {
    "Applied": "Progressing/ApplyProgressing",
    "Healthy": PENDING,
    "Progressing": PENDING,
    "Ready": "Unknown/ApplyProgressing",
}


@pytest.mark.scenario("MR-71")
async def test_real_values_follow_within_seconds(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a"), deployment("d"))
    await asyncio.sleep(5)
    found = await keeping.conditions("web")
    assert found["Healthy"] == "False/DeploymentUnhealthy"
    assert found["Progressing"] == "True/DeploymentProgressing"


@pytest.mark.scenario("MR-71")
async def test_nothing_is_promised_before_an_object_changes(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}))
    calls = await keeping.settle()
    assert await told_before(keeping, calls, "create", "update") == {}, "nothing was promised yet"
    await keeping.rewrite("web", config_map("a", {"n": "2"}))
    calls = await keeping.settle()
    assert await told_before(keeping, calls, "create", "update") == UNDER_WAY
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-71")
async def test_nothing_is_promised_before_an_object_is_added(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a"), config_map("b"))
    calls = await keeping.settle()
    assert await told_before(keeping, calls, "create", "update") == UNDER_WAY
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-71")
async def test_nothing_is_promised_before_an_object_is_removed(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a"))
    calls = await keeping.settle()
    assert await told_before(keeping, calls, "delete") == UNDER_WAY
    assert await keeping.conditions("web") == healthy


async def test_a_repair_changes_no_condition(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"n": "2"}})
    calls = await keeping.settle()
    assert calls.of("ManagedResource").writes == 0
    assert await keeping.conditions("web") == healthy


async def test_a_failure_is_not_taken_back_at_each_attempt(embedded_keeping: Keeping) -> None:
    """Embedded, for the time between attempts."""
    keeping = embedded_keeping
    await keeping.declare("web", {**config_map("bad"), "data": {"n": 1}})
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    calls = await keeping.cluster.advance(minutes=10)
    assert calls.of("ConfigMap").writes > 0
    assert calls.of("ManagedResource").writes == 0


async def test_a_pass_that_cannot_be_told_of_does_not_begin(
    embedded_cluster: EmbeddedCluster, keeping_on: KeepingOn, healthy: dict[str, str]
) -> None:
    planned: dict[Any, Any] = {}
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(At(writes=planned), loop.trace, loop.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        keeping = keeping_on(cluster)
        await keeping.declare("web", config_map("a", {"n": "1"}))
        await keeping.settle()
        planned[interference.writes + 1] = Refuse(500)
        await keeping.cluster.client.patch(
            Secret,
            Key(keeping.namespace, "web"),
            {"data": keeping.secret_with("web", config_map("a", {"n": "2"}))["data"]},
        )
        calls = await keeping.settle()
        verbs = [(call.resource.kind if call.resource else "", call.verb) for call in calls]
        written = [kind for kind, verb in verbs if verb in {"patch", "update"}]
        assert interference.faults == 1
        assert written == ["ManagedResource", "ConfigMap", "ManagedResource"]
        assert await keeping.conditions("web") == healthy


HELD = {"metadata": {"finalizers": ["example.com/held"]}}
DELETING = {
    "Applied": "Progressing/DeletionPending",
    "Healthy": "False/DeletionPending",
    "Progressing": "True/DeletionPending",
    "Ready": "Unknown/DeletionPending",
}


async def test_a_deletion_is_told_before_the_first_object_goes(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    assert await told_before(keeping, calls, "delete") == DELETING
    assert await keeping.find(keeping.kind, "web") is None


@pytest.mark.parametrize("objects", [True, False], ids=["with objects", "empty"])
async def test_a_deletion_is_told_while_others_hold_it(keeping: Keeping, *, objects: bool) -> None:
    await keeping.declare("web", *([config_map("a")] if objects else []))
    await keeping.cluster.patch(keeping.kind, "web", HELD)
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert (await keeping.get("web"))["metadata"]["finalizers"] == ["example.com/held"]
    assert await keeping.exists(ConfigMap, "a") == set()
    assert await keeping.conditions("web") == DELETING
    for type_ in ("Applied", "Healthy", "Progressing"):
        message = await keeping.message("web", type_)
        assert message == "The resources are currently being deleted."
    assert (await keeping.restart()).writes == 0


async def test_what_was_never_kept_says_so_while_others_hold_it(keeping: Keeping) -> None:
    await keeping.declare("web")
    await keeping.cluster.patch(keeping.kind, "web", HELD)
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.conditions("web") == DELETING


async def test_objects_that_are_kept_stay_applied_while_others_hold_a_deletion(
    keeping: Keeping,
) -> None:
    await keeping.declare("web", config_map("a"), keepObjects=True)
    await keeping.cluster.patch(keeping.kind, "web", HELD)
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    applied = {**DELETING, "Applied": "True/ApplySucceeded", "Ready": "False/DeletionPending"}
    assert await keeping.conditions("web") == applied


@pytest.mark.scenario("MR-81")
async def test_an_ignored_one_says_so_and_is_left_alone(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    await keeping.annotate("web", IGNORE, "true")
    await keeping.settle()
    ignored = "ManagedResourceIgnored"
    assert await keeping.conditions("web") == {
        "Applied": f"True/{ignored}",
        "Healthy": f"True/{ignored}",
        "Progressing": f"False/{ignored}",
        "Ready": f"True/{ignored}",
    }
    await keeping.cluster.patch(ConfigMap, "a", {"data": {"color": "red"}})
    assert (await keeping.settle()).writes == 0
    await keeping.annotate("web", IGNORE, None)
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"color": "blue"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-99")
async def test_a_pass_can_be_asked_for(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.annotate("web", OPERATION, "reconcile")
    calls = await keeping.settle()
    assert OPERATION not in (await keeping.get("web"))["metadata"]["annotations"]
    assert calls.writes == 1
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-99")
async def test_nothing_happens_while_a_state_is_awaited(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"), annotations={OPERATION: "wait-for-state"})
    calls = await keeping.settle()
    assert calls.writes == 0
    await keeping.annotate("web", OPERATION, None)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy

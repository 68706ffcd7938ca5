"""What conditions say, and when."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

IGNORE = "resources.gardener.cloud/ignore"
OPERATION = "gardener.cloud/operation"


@pytest.mark.scenario("MR-71")
async def test_health_is_unknown_before_a_new_object_is_applied(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a"), config_map("b"))
    calls = await keeping.settle()
    first, *_, last = calls.of("ManagedResource")
    for condition in (b"ResourcesHealthy", b"ResourcesProgressing", b"ChecksPending"):
        assert condition in (first.body or b"")
    assert b"ChecksPending" not in (last.body or b"")
    applied = next(
        request for request in calls if (request.resource and request.resource.kind) == "ConfigMap"
    )
    assert list(calls).index(first) < list(calls).index(applied) < list(calls).index(last)
    assert await keeping.conditions("web") == healthy


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

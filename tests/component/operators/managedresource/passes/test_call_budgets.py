"""How many calls a ManagedResource costs, counted where they leave the process."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map
from certwright.testkit.calls import is_write


def maps(count: int) -> list[JsonObject]:
    return [config_map(f"m{number}", {"n": str(number)}) for number in range(count)]


async def test_a_new_one_costs_its_objects_and_two_writes(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(5))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (7, 0)


@pytest.mark.scenario("MR-50")
async def test_nothing_is_written_when_nothing_changed(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", *maps(3))
    await keeping.settle()
    calls = await keeping.cluster.advance(minutes=10)
    assert (calls.writes, calls.reads) == (0, 0)


@pytest.mark.scenario("MR-50")
async def test_forced_passes_write_nothing_but_the_annotation(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(3))
    await keeping.settle()
    for _ in range(10):
        await keeping.annotate("web", "gardener.cloud/operation", "reconcile")
        calls = await keeping.settle()
        assert calls.writes == 1
        assert calls.by_kind["ConfigMap"] == 0


@pytest.mark.scenario("MR-50")
async def test_everything_is_written_each_time_if_that_is_wanted(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", *maps(1))
    await keeping.settle(keeping.operator(always_update=True))
    calls = await keeping.cluster.advance(minutes=10, seconds=1)
    assert calls.of("ConfigMap").writes == 10


async def test_a_restart_costs_nothing(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(3))
    await keeping.settle()
    calls = await keeping.restart()
    assert (calls.writes, calls.reads) == (0, 0)


async def test_a_change_costs_what_changed_and_two_writes(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", *maps(4))
    await keeping.settle()
    await keeping.rewrite("web", *maps(3), config_map("m3", {"n": "other"}))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (3, 0)
    assert await keeping.conditions("web") == healthy


async def test_other_bytes_for_the_same_objects_cost_one_write(keeping: Keeping) -> None:
    """Nothing is about to change, so the conditions go on telling the truth."""
    await keeping.declare("web", *maps(4))
    await keeping.settle()
    await keeping.rewrite("web", "# the same again", *maps(4))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (1, 0)


async def test_an_addition_is_written_ahead(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(2))
    await keeping.settle()
    await keeping.rewrite("web", *maps(4))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (4, 0)
    ahead, *applied, final = [request for request in calls if is_write(request)]
    assert b"m3" in (ahead.body or b"")
    assert b"ChecksPending" in (ahead.body or b"")
    assert {(request.resource and request.resource.kind) for request in applied} == {"ConfigMap"}
    assert b"ResourcesHealthy" in (final.body or b"")


async def test_a_removal_costs_one_deletion_and_two_writes(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(3))
    await keeping.settle()
    await keeping.rewrite("web", *maps(2))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (3, 0)
    assert await keeping.exists(ConfigMap, "m0", "m1", "m2") == {"m0", "m1"}
    assert await keeping.inventory("web") == ["ConfigMap/m0", "ConfigMap/m1"]


async def test_other_objects_cost_nothing(keeping: Keeping) -> None:
    await keeping.declare("web", *maps(1))
    await keeping.settle()
    await keeping.cluster.create(config_map("foreign"))
    await keeping.cluster.create(keeping.secret_with("foreign", config_map("x")))
    calls = await keeping.settle()
    assert (calls.writes, calls.reads) == (0, 0)

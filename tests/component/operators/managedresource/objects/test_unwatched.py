"""Objects that no watch tells about: created once, or left by somebody else."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

IGNORE = {"resources.gardener.cloud/ignore": "true"}


@pytest.mark.scenario("MR-52")
@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
async def test_an_ignored_object_is_created_once_and_left_alone(
    keeping: Keeping, healthy: dict[str, str], value: str
) -> None:
    once = config_map("once", {"n": "1"}, annotations={"resources.gardener.cloud/ignore": value})
    await keeping.declare("web", once)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    created = await keeping.find(ConfigMap, "once")
    assert created["metadata"]["annotations"] == {"resources.gardener.cloud/ignore": value}
    assert "labels" not in created["metadata"]
    await keeping.cluster.patch(ConfigMap, "once", {"data": {"n": "edited"}})
    await keeping.rewrite("web", {**once, "data": {"n": "2"}})
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "once"))["data"] == {"n": "edited"}
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "once") == set()


async def test_it_is_looked_at_once_per_period(embedded_keeping: Keeping) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("once", annotations=IGNORE))
    calls = await keeping.settle()
    assert calls.reads == 0
    calls = await keeping.cluster.advance(minutes=10, seconds=30)
    assert calls.reads == 10
    assert calls.writes == 0


async def test_it_comes_back_when_it_is_found_missing(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", config_map("once", annotations=IGNORE))
    await keeping.settle()
    await keeping.cluster.delete(ConfigMap, "once")
    await keeping.cluster.advance(minutes=1, seconds=30)
    assert await keeping.exists(ConfigMap, "once") == {"once"}
    assert await keeping.conditions("web") == healthy

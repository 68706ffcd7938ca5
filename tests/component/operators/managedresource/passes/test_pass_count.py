"""How often is looked at a ManagedResource: once for each thing that happens, not for its echo.

A pass that finds nothing to do makes no call, so only the metrics tell.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.component.operators.managedresource.conftest import Keeping, KeepingOn

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.runtime import Metrics
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, deployment

AVAILABLE = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}


class Counted:
    """A ManagedResource ``web``, and what was counted since somebody last asked."""

    def __init__(self, keeping: Keeping, metrics: Metrics) -> None:
        self.keeping = keeping
        self._metrics = metrics
        self._before = (0.0, 0.0, 0.0)

    async def settle(self) -> tuple[float, float, float]:
        """Return passes, objects compared in them, and judgements about health."""
        await self.keeping.settle()
        now = (
            self._sum("controller_runtime_reconcile_total", controller="managedresource"),
            self._sum("certwright_managed_resource_objects_applied_total"),
            self._sum("certwright_managed_resource_judgements_total"),
        )
        before, self._before = self._before, now
        return now[0] - before[0], now[1] - before[1], now[2] - before[2]

    def _sum(self, name: str, **labels: str) -> float:
        return sum(
            sample.value
            for family in self._metrics.registry.collect()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


@pytest.fixture
async def counted(
    embedded_cluster: EmbeddedCluster, keeping_on: KeepingOn
) -> AsyncIterator[Counted]:
    """Embedded: where the watch is late, an echo hides behind the next event."""
    metrics = Metrics()
    async with EmbeddedCluster(metrics=metrics) as cluster:
        found = Counted(keeping_on(cluster), metrics)
        await found.keeping.declare("first", config_map("first"))
        await found.settle()  # the first pass opens watches, whose lists are news
        yield found


def several(number: int, **data: str) -> list[JsonObject]:
    return [config_map(f"cm-{index}", data) for index in range(number)]


MANY = pytest.mark.parametrize("number", [3, 150], ids=["few", "many"])
"""Large ones are worked on in several turns of the event loop."""


@MANY
async def test_a_new_one_takes_one_pass_and_one_judgement(counted: Counted, number: int) -> None:
    await counted.keeping.declare("web", *several(number))
    assert await counted.settle() == (1, number, 1)
    assert await counted.settle() == (0, 0, 0)


@MANY
async def test_so_does_a_change(counted: Counted, number: int) -> None:
    await counted.keeping.declare("web", *several(number, n="1"))
    await counted.settle()
    await counted.keeping.rewrite("web", *several(number, n="2"))
    assert await counted.settle() == (1, number, 1)


@MANY
async def test_and_so_do_more_objects(counted: Counted, number: int) -> None:
    """Though the status is written twice, the first time ahead."""
    await counted.keeping.declare("web", *several(number))
    await counted.settle()
    await counted.keeping.rewrite("web", *several(number + 1))
    assert await counted.settle() == (1, number + 1, 1)


@MANY
async def test_a_repair_takes_one_pass(counted: Counted, number: int) -> None:
    await counted.keeping.declare("web", *several(number, n="1"))
    await counted.settle()
    await counted.keeping.cluster.patch(ConfigMap, "cm-1", {"data": {"n": "2"}})
    looked_at: tuple[float, ...] = (1, 1, 0) if number > 100 else (1, number, 1)
    assert await counted.settle() == looked_at, "of a large set only what drifted"
    assert (await counted.keeping.find(ConfigMap, "cm-1"))["data"] == {"n": "1"}
    [note] = await counted.keeping.events("Repaired")
    assert "cm-1" in note
    assert await counted.settle() == (0, 0, 0)
    await counted.keeping.cluster.delete(ConfigMap, "cm-1")
    assert await counted.settle() == (1, number, 1)
    await counted.keeping.cluster.patch(ConfigMap, "cm-2", {"data": {"n": "2"}})
    assert await counted.settle() == looked_at, "and so after a pass"


async def test_a_large_set_is_repaired_from_what_is_declared_by_now(counted: Counted) -> None:
    keeping = counted.keeping
    await keeping.declare("web", *several(150, n="1"))
    await counted.settle()
    for number in (1, 2, 3):
        await keeping.cluster.patch(ConfigMap, f"cm-{number}", {"data": {"n": "2"}})
    _, looked_at, _ = await counted.settle()
    assert looked_at <= 6
    await keeping.rewrite("web", *several(150, n="3"))
    await keeping.cluster.patch(ConfigMap, "cm-1", {"data": {"n": "4"}})
    await counted.settle()
    await keeping.cluster.patch(ConfigMap, "cm-2", {"data": {"n": "5"}})
    assert await counted.settle() == (1, 1, 0)
    found = await keeping.cluster.list(ConfigMap)
    wanted = [one for one in found if one["metadata"]["name"].startswith("cm-")]
    assert [one["data"] for one in wanted] == [{"n": "3"}] * 150
    for number in range(30):
        await keeping.cluster.patch(ConfigMap, f"cm-{number}", {"data": {"n": "6"}})
    await counted.settle()
    assert (await keeping.find(ConfigMap, "cm-29"))["data"] == {"n": "3"}
    await keeping.change("web", suspend=True)
    await counted.settle()
    await keeping.cluster.patch(ConfigMap, "cm-1", {"data": {"n": "7"}})
    await counted.settle()
    assert (await keeping.find(ConfigMap, "cm-1"))["data"] == {"n": "7"}, "nothing is written"


async def test_a_fight_about_an_object_of_a_large_set_is_damped(counted: Counted) -> None:
    keeping = counted.keeping
    await keeping.declare("web", *several(150, n="1"))
    await counted.settle()
    for number in range(60):
        await keeping.cluster.patch(ConfigMap, "cm-1", {"data": {"n": f"rival {number}"}})
        await asyncio.sleep(1)
    assert len(await keeping.events("FightDetected")) == 1
    await keeping.cluster.advance(minutes=10)
    assert (await keeping.find(ConfigMap, "cm-1"))["data"] == {"n": "1"}


async def test_a_status_that_others_write_is_judged_and_nothing_else(counted: Counted) -> None:
    await counted.keeping.declare("web", deployment("d"), *several(3))
    await counted.settle()
    await counted.keeping.cluster.advance(minutes=3)
    await counted.settle()
    await counted.keeping.cluster.patch(
        Deployment, "d", {"status": AVAILABLE}, subresource="status"
    )
    assert await counted.settle() == (0, 0, 1)
    await counted.keeping.cluster.advance(minutes=3)
    assert await counted.settle() == (0, 0, 0), "nor when everything is looked at"


async def test_the_end_takes_one_pass_and_a_glance_at_what_is_gone(counted: Counted) -> None:
    await counted.keeping.declare("web", *several(3))
    await counted.settle()
    await counted.keeping.cluster.delete(counted.keeping.kind, "web")
    assert await counted.settle() == (2, 3, 0)


async def test_a_part_of_the_inventory_takes_one_pass(counted: Counted) -> None:
    """Written or deleted by us, it is no news; nor is its end with that of its owner."""
    large = [config_map(f"cm-{n}", annotations={"n": "x" * 250_000}) for n in range(3)]
    await counted.keeping.declare("web", *large)
    assert await counted.settle() == (1, 3, 1)
    [part] = await counted.keeping.shards("web")
    await counted.keeping.cluster.delete(ConfigMap, part)
    assert await counted.settle() == (2, 3, 1), "one moves its contents, another looks again"
    await counted.keeping.cluster.delete(counted.keeping.kind, "web")
    assert await counted.settle() == (2, 3, 0)


async def test_hours_in_which_nothing_happens_take_none(counted: Counted) -> None:
    await counted.keeping.declare("web", *several(3))
    await counted.settle()
    await counted.keeping.cluster.advance(hours=3)
    assert await counted.settle() == (0, 0, 0)

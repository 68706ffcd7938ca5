"""Kinds and namespaces that come along, come late, or go."""

import asyncio
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.client.transport import Request
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Namespace
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, namespace
from certwright.testkit.faults.faults import At, RequestFault, Slow
from certwright.testkit.faults.interference import Interference


@pytest.mark.scenario("MR-46")
async def test_a_definition_and_its_objects_come_together(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", toys.toy("bear"), toys.definition(), config_map("a"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(toys.resource, "bear") == {"bear"}
    assert calls.writes == 5


@pytest.mark.scenario("MR-46")
async def test_objects_wait_for_a_definition_that_takes_a_moment(
    embedded_cluster: EmbeddedCluster, keeping_on: type[Keeping], healthy: dict[str, str]
) -> None:
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    slow = Interference(At(), loop.trace, loop.clock.jump)  # definitions are served later
    async with EmbeddedCluster(interference=slow) as cluster:
        keeping, toys = keeping_on(cluster), Toys("late")
        await keeping.declare("web", toys.toy("bear"), toys.definition(), config_map("a"))
        calls = await keeping.settle()
        assert await keeping.conditions("web") == healthy
        assert calls.writes == 5
        assert await keeping.events("ApplyFailed") == []


@pytest.mark.scenario("MR-47")
async def test_an_unknown_kind_is_named_and_awaited(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", toys.toy("bear"), config_map("a"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f"{toys.group}/v1/Toy/{keeping.namespace}/bear" in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    await keeping.cluster.install(toys.definition())
    await keeping.until_healthy("web")
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-66")
async def test_objects_go_before_their_definition(keeping: Keeping, toys: Toys) -> None:
    await keeping.declare("web", toys.toy("bear"), toys.definition())
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    deleted = [
        (request.resource and request.resource.kind)
        for request in calls
        if request.verb == "delete"
    ]
    assert deleted == ["Toy", "CustomResourceDefinition"]
    await keeping.cluster.gone(CustomResourceDefinition, toys.name)
    await keeping.cluster.gone(keeping.kind, "web")


class SlowDefinitions(At):
    """A plan by which the watch that tells which kinds there are begins after all others."""

    def on_request(self, request: Request, number: int, write: int) -> RequestFault | None:
        whole = any(name == "labelSelector" for name, _ in request.query)
        if request.verb == "watch" and request.resource == CustomResourceDefinition and not whole:
            return Slow(10)
        return super().on_request(request, number, write)


async def test_a_kind_is_not_watched_when_its_definition_is_gone(
    embedded_cluster: EmbeddedCluster, keeping_on: type[Keeping]
) -> None:
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    slow = Interference(SlowDefinitions(), loop.trace, loop.clock.jump)
    async with EmbeddedCluster(interference=slow) as cluster:
        keeping, toys = keeping_on(cluster), Toys("late")
        await keeping.declare("web", toys.toy("bear"), toys.definition(), config_map("a"))
        await keeping.settle()
        await keeping.rewrite("web", config_map("a"))
        await keeping.restart()
        assert await keeping.exists(CustomResourceDefinition, toys.name) == set()
        calls = await cluster.advance(seconds=120)
        assert [call for call in calls if toys.group in call.path] == []


async def test_a_namespace_that_comes_late_is_noticed_at_once(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Embedded, for the time until attempts have become rare."""
    keeping = embedded_keeping
    await keeping.declare("web", config_map("a"), config_map("b", namespace="late"))
    await keeping.declare("other", config_map("c", namespace="later"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert 'namespaces "late" not found' in await keeping.message("web")
    await keeping.cluster.advance(minutes=30)
    await keeping.cluster.create(namespace("late"))
    calls = await keeping.settle()
    assert await keeping.find(ConfigMap, "late/b") is not None
    assert await keeping.conditions("web") == healthy
    assert (await keeping.conditions("other"))["Applied"] == "False/ApplyFailed"
    assert (calls.of("ConfigMap").writes, calls.reads) == (1, 0)
    await keeping.cluster.create(namespace("unrelated"))
    assert (await keeping.settle()).writes == 0


async def test_a_namespace_that_goes_and_comes_again_is_noticed(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    place = f"{keeping.namespace}-late"
    hold = {"finalizers": ["example.com/hold"]}
    await keeping.cluster.install(namespace(place, **hold))
    await keeping.cluster.delete(Namespace, place)
    await keeping.declare("web", config_map("b", namespace=place))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    await keeping.cluster.patch(Namespace, place, {"metadata": {"finalizers": None}})
    await keeping.cluster.gone(Namespace, place)
    await keeping.cluster.install(namespace(place))
    await keeping.settle()
    await keeping.until_healthy("web")
    assert await keeping.find(ConfigMap, f"{place}/b") is not None

"""A source and a target that are not the same cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, ConnectFailed, Request, Response, Transport
from certwright.kube.kinds import ConfigMap
from certwright.testkit import DidNotSettle, EmbeddedCluster
from certwright.testkit.builders import config_map
from certwright.testkit.calls import is_write


class Outage:
    """A transport that can be cut."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.down = False
        self.creates_nothing = False
        """Whether objects cannot be written, and could be deleted all the same."""
        self.refused_at: list[float] = []

    async def send(self, request: Request) -> Response:
        writes = is_write(request) and request.verb != "delete"
        if self.down or (self.creates_nothing and writes):
            self.refused_at.append(asyncio.get_running_loop().time())
            raise ConnectFailed("the target is down")
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        if self.down:
            raise ConnectFailed("the target is down")
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture
async def target() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(seed=7) as cluster:
        yield cluster


@pytest.fixture
def connection(target: EmbeddedCluster) -> Outage:
    return Outage(target.server.transport())


@pytest.fixture
def keeping(embedded_keeping: Keeping, target: EmbeddedCluster, connection: Outage) -> Keeping:
    client = Client(connection, clock=target.clock)
    embedded_keeping.running = embedded_keeping.operator(target=client)
    return embedded_keeping


async def test_objects_go_to_the_target(
    keeping: Keeping, target: EmbeddedCluster, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await target.find(ConfigMap, "a") is not None
    assert await keeping.exists(ConfigMap, "a") == set()


async def test_drift_in_the_target_is_repaired(keeping: Keeping, target: EmbeddedCluster) -> None:
    await keeping.declare("web", config_map("a", {"color": "blue"}))
    await keeping.settle()
    await target.patch(ConfigMap, "a", {"data": {"color": "red"}})
    await keeping.cluster.advance(seconds=1)
    assert (await target.get(ConfigMap, "a"))["data"] == {"color": "blue"}


@pytest.mark.scenario("MR-98")
async def test_an_outage_of_the_target_deletes_nothing_and_ends(
    keeping: Keeping, target: EmbeddedCluster, connection: Outage, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"color": "blue"}), config_map("b"))
    await keeping.settle()
    connection.down = True
    await keeping.rewrite("web", config_map("a", {"color": "green"}))
    await asyncio.sleep(300)
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert await target.find(ConfigMap, "b") is not None
    connection.down = False
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy
    assert (await target.get(ConfigMap, "a"))["data"] == {"color": "green"}
    assert await target.find(ConfigMap, "b") is None


@pytest.mark.scenario("MR-98")
async def test_nothing_is_deleted_while_nothing_can_be_written(
    keeping: Keeping, target: EmbeddedCluster, connection: Outage, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", {"color": "blue"}), config_map("b"))
    await keeping.settle()
    connection.creates_nothing = True
    await keeping.rewrite("web", config_map("a", {"color": "green"}))
    await asyncio.sleep(600)
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert await target.find(ConfigMap, "b") is not None
    refused = connection.refused_at
    assert len(refused) < 100, "it is not tried all the time"
    first_minute = sum(at < refused[0] + 60 for at in refused)
    last_minutes = sum(at > refused[0] + 300 for at in refused)
    assert last_minutes < first_minute, "but less and less often"
    connection.creates_nothing = False
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy
    assert (await target.get(ConfigMap, "a"))["data"] == {"color": "green"}
    assert await target.find(ConfigMap, "b") is None


@pytest.mark.scenario("MR-98")
async def test_a_target_that_was_never_reached_is_told(
    keeping: Keeping, target: EmbeddedCluster, connection: Outage, healthy: dict[str, str]
) -> None:
    connection.down = True
    await keeping.declare("web", config_map("a"))
    with pytest.raises(DidNotSettle, match="the target is down"):
        await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    connection.down = False
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-68")
async def test_an_inventory_in_another_target_is_not_taken_over(
    keeping: Keeping, target: EmbeddedCluster
) -> None:
    """Who gets a ManagedResource from another class knows nothing of what it had elsewhere."""
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.cluster.advance(minutes=1)
    await keeping.change("web", **{"class": "here"})
    await keeping.settle()
    assert await target.names(ConfigMap) == set()
    await keeping.cluster.create(keeping.placed(config_map("b", {"by": "somebody"})))
    await keeping.rewrite("web", config_map("a"))
    await keeping.settle(keeping.operator(resource_class="here"))
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert await keeping.inventory("web") == ["ConfigMap/a"]

"""Waiting until an object is ready: the server tells, at one call more than a look."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson
import pytest

from certwright.apply import Direct, Live
from certwright.client import Client, ConnectionLost, Request, Response
from certwright.client.transport import Stream
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map
from certwright.testkit.calls import CallLog, CountingTransport


def is_ready(live: Live) -> bool:
    return (live.obj.get("data") or {}).get("state") == "ready"


class Bumpy(CountingTransport):
    """A transport on which the next call of a verb meets an obstacle, and the one after does not."""

    obstacles: list[str]

    async def send(self, request: Request) -> Response:
        answer = await super().send(request)
        if request.verb in self.obstacles:
            self.obstacles.remove(request.verb)
            status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}
            return Response(403, answer.headers, orjson.dumps(status))
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with super().stream(request) as answer:
            if request.verb in self.obstacles:
                self.obstacles.remove(request.verb)
                raise ConnectionLost("it broke")
            yield answer


class Bystander:
    """A cluster whose calls are counted, and somebody who changes an object in it."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.key = Key(cluster.namespace, "a")
        self.log = CallLog([])
        transport = Bumpy(cluster.client.transport, self.log)
        self.obstacles: list[Any] = []
        transport.obstacles = self.obstacles
        self.direct = Direct(Client(transport, clock=cluster.clock))

    async def until(self, seconds: int = 60) -> Live | None:
        return await self.direct.until(ConfigMap, self.key, is_ready, seconds)

    async def write(self, state: str) -> None:
        await self.cluster.patch(ConfigMap, "a", {"data": {"state": state}})

    @property
    def calls(self) -> Counter[Any]:
        return self.log.since_mark().by_verb


@pytest.fixture
def bystander(embedded_cluster: EmbeddedCluster) -> Bystander:
    return Bystander(embedded_cluster)


def seconds() -> float:
    return asyncio.get_running_loop().time()


async def test_what_is_ready_costs_one_look(bystander: Bystander) -> None:
    await bystander.cluster.create(config_map("a", {"state": "ready"}))
    found = await bystander.until()
    assert found is not None
    assert is_ready(found)
    assert bystander.calls == {"list": 1}


async def test_readiness_is_noticed_at_once_and_costs_no_further_call(bystander: Bystander) -> None:
    await bystander.cluster.create(config_map("a"))
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(bystander.until())
        for state in ("nearly", "ready"):
            await asyncio.sleep(20.03)
            await bystander.write(state)
        written = seconds()
    assert is_ready(cast("Any", waits.result()))
    assert seconds() - written < 0.01
    assert bystander.calls == {"list": 1, "watch": 1}


async def test_an_object_may_come_late(bystander: Bystander) -> None:
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(bystander.until())
        await asyncio.sleep(5)
        await bystander.cluster.create(config_map("a", {"state": "ready"}))
    assert is_ready(cast("Any", waits.result()))


async def test_it_ends_after_so_many_seconds_with_what_there_is(bystander: Bystander) -> None:
    await bystander.cluster.create(config_map("a", {"state": "never"}))
    start = seconds()
    found = await bystander.until(10)
    assert seconds() - start == pytest.approx(10)
    assert found is not None
    assert found.obj["data"] == {"state": "never"}
    await bystander.cluster.delete(ConfigMap, "a")
    assert await bystander.until(1) is None


async def test_a_watch_that_breaks_is_started_again(bystander: Bystander) -> None:
    await bystander.cluster.create(config_map("a"))
    bystander.obstacles.append("watch")
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(bystander.until())
        await asyncio.sleep(0.1)
        await bystander.write("ready")
    assert is_ready(cast("Any", waits.result()))
    assert bystander.calls == {"list": 2, "watch": 1}


async def test_who_may_not_list_asks_for_the_object_alone(bystander: Bystander) -> None:
    await bystander.cluster.create(config_map("a"))
    bystander.obstacles.append("list")
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(bystander.until())
        await asyncio.sleep(1)
        await bystander.write("ready")
        written = seconds()
    assert is_ready(cast("Any", waits.result()))
    assert seconds() - written < 0.5
    assert bystander.calls == {"list": 1, "get": 6}

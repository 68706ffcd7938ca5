"""Targets that fail or do not answer: what is told, how often they are asked, who has to wait."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, Request
from certwright.client.transport import Response
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

FAILURE = Response(500, {}, b'{"kind": "Status", "message": "etcd is ill"}')


class Ailing:
    """A transport to a target that fails, or does not answer, writes of some objects."""

    def __init__(self, target: EmbeddedCluster) -> None:
        self._inner = target.server.transport()
        self.fails: Callable[[str], bool] = lambda _name: False
        self.hangs: Callable[[str], bool] = lambda _name: False
        self.asked: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        if request.method != "GET" and "/configmaps" in request.path:
            name = request.path.partition("/configmaps/")[2]
            name = name or orjson.loads(request.body or b"")["metadata"]["name"]
            self.asked[name] += 1
            if self.hangs(name):
                await asyncio.sleep(3600)
            if self.fails(name):
                return FAILURE
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture
async def target() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(seed=7) as cluster:
        yield cluster


@pytest.fixture
def ailing(target: EmbeddedCluster) -> Ailing:
    return Ailing(target)


@pytest.fixture
def keeping(embedded_keeping: Keeping, target: EmbeddedCluster, ailing: Ailing) -> Keeping:
    client = Client(ailing, clock=target.clock)
    embedded_keeping.running = embedded_keeping.operator(target=client)
    return embedded_keeping


def config_maps(prefix: str, count: int) -> list[JsonObject]:
    return [config_map(f"{prefix}{number:03}") for number in range(count)]


async def test_a_target_that_fails_every_time_is_asked_a_few_times(
    keeping: Keeping, ailing: Ailing, target: EmbeddedCluster, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("old"))
    await keeping.settle()
    ailing.fails = lambda _name: True
    ailing.asked.clear()
    await keeping.rewrite("web", *config_maps("c", 300))
    await asyncio.sleep(0.05)
    assert 0 < ailing.asked.total() <= 20
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert "etcd is ill" in await keeping.message("web")
    status = await keeping.status("web")
    if keeping.reports_objects:
        assert status["summary"]["blocked"] > 280
    assert len(status["resources"]) == 301, "what might have been created is not forgotten"
    await asyncio.sleep(600)
    assert ailing.asked.total() < 400, "and later seldom"
    assert await target.find(ConfigMap, "old") is not None
    ailing.fails = lambda _name: False
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy
    assert len(await target.names(ConfigMap)) == 300


async def test_a_pass_past_its_time_tells_what_it_knows(
    keeping: Keeping, ailing: Ailing, target: EmbeddedCluster, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("old"))
    await keeping.settle()
    ailing.hangs = lambda name: name.startswith("a")
    await keeping.rewrite("web", *config_maps("a", 8), *config_maps("b", 30))
    await asyncio.sleep(25)
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert "a000" in await keeping.message("web")
    assert "no result within 18 s" in await keeping.message("web")
    await asyncio.sleep(60)
    names = await target.names(ConfigMap)
    assert {name[0] for name in names} >= {"b"}, "the others come first by now"
    assert len([name for name in names if name.startswith("b")]) == 30
    assert len((await keeping.status("web"))["resources"]) >= 38
    ailing.hangs = lambda _name: False
    await keeping.cluster.advance(minutes=6)
    assert await keeping.conditions("web") == healthy
    assert await target.find(ConfigMap, "old") is None


async def test_nothing_is_deleted_before_everything_was_tried(
    keeping: Keeping, ailing: Ailing, target: EmbeddedCluster
) -> None:
    await keeping.declare("web", config_map("old"), config_map("stays"))
    await keeping.settle()
    ailing.hangs = lambda name: name.startswith("a")
    await keeping.rewrite("web", config_map("stays"), *config_maps("a", 20))
    await asyncio.sleep(25)
    assert await target.find(ConfigMap, "old") is not None


async def test_those_that_hang_starve_no_other(
    keeping: Keeping, ailing: Ailing, target: EmbeddedCluster
) -> None:
    """There are five workers, and ten that keep them busy."""
    await keeping.settle()
    ailing.hangs = lambda name: name.startswith("a")
    for number in range(10):
        await keeping.declare(f"slow{number}", *config_maps(f"a{number}", 20))
    await asyncio.sleep(1)
    await keeping.declare("quick", config_map("quick"))
    await asyncio.sleep(60)
    assert await target.find(ConfigMap, "quick") is not None
    for number in range(5):
        applied = (await keeping.conditions(f"slow{number}"))["Applied"]
        assert applied == "False/ApplyFailed"

"""Faults between a client and the embedded server, one by one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

import orjson
import pytest

from certwright.apiserver.server import ApiServer
from certwright.client import Client, ConnectFailed, ConnectionLost, Selection, WatchOptions
from certwright.client.retry import Policy
from certwright.kube.errors import ApiError, Conflict, NotFound, TooManyRequests
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key
from certwright.testkit.builders import config_map
from certwright.testkit.faults import faults
from certwright.testkit.faults.faults import At, EventFault, RequestFault
from certwright.testkit.faults.interference import FaultyTransport, Interference
from certwright.testkit.time.virtual import VirtualLoop

T = TypeVar("T")
ONCE = Policy(attempts=1)


class World:
    """A server, a client that is spared, and one that is not."""

    def __init__(self, plan: faults.Plan) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.server = ApiServer(clock=loop.clock, rng=Random(1))  # noqa: S311 - repeatable
        self.user = Client(self.server.transport(), clock=loop.clock)
        self.interference = Interference(plan, loop.trace, loop.clock.jump)
        self.transport, self.client = self.start()

    def start(self) -> tuple[FaultyTransport, Client]:
        transport = self.interference.attach(self.server.transport())
        return transport, Client(transport, clock=self.loop.clock, retries=ONCE)

    async def create(self, name: str, **data: str) -> None:
        await self.user.create(named(name, **data))

    @asynccontextmanager
    async def events(self, **options: Any) -> AsyncIterator["Events"]:
        watch = WatchOptions(bookmarks=False, **options)
        async with self.client.watch(ConfigMap, Selection(), watch) as lines:
            yield Events(lines)


class Events:
    """The events of a watch as ``type name`` strings."""

    def __init__(self, batches: AsyncIterator[list[bytes]]) -> None:
        self._batches = batches
        self._ready: list[str] = []

    async def next(self) -> str:
        while not self._ready:
            for line in await anext(self._batches):
                event = orjson.loads(line)
                about = event["object"].get("metadata", {}).get("name")
                self._ready.append(f"{event['type']} {about or event['object'].get('code', '')}")
        return self._ready.pop(0)


def named(name: str, **data: str) -> dict[str, Any]:
    return config_map(name, data, namespace="default")


def play(plan: faults.Plan, act: Callable[[World], Awaitable[T]]) -> T:
    async def main() -> T:
        return await act(World(plan))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


def at_write(fault: RequestFault) -> At:
    return At(writes={1: fault}, latency_seconds=0)


def at_event(fault: EventFault) -> At:
    return At(events={1: fault}, latency_seconds=0)


async def names(world: World) -> set[str]:
    listing = await world.user.list(ConfigMap, "default")
    return {obj["metadata"]["name"] for obj in listing.items}


@pytest.mark.parametrize(
    ("fault", "error", "carried_out"),
    [
        (faults.Unreachable(), ConnectFailed, False),
        (faults.LoseAnswer(), ConnectionLost, True),
        (faults.Crash(answered=False), ConnectionLost, True),
        (faults.Refuse(409), Conflict, False),
        (faults.Refuse(429, 1), TooManyRequests, False),
        (faults.Refuse(500), ApiError, False),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_a_write_that_fails(
    fault: RequestFault, error: type[Exception], *, carried_out: bool
) -> None:
    async def act(world: World) -> set[str]:
        with pytest.raises(error):
            await world.client.create(named("a"))
        return await names(world)

    assert play(at_write(fault), act) == ({"a"} if carried_out else set())


def test_a_crashed_process_reaches_nobody_any_more_and_its_successor_does() -> None:
    async def act(world: World) -> None:
        with pytest.raises(ConnectionLost):
            await world.client.create(named("a"))
        assert world.transport.died.is_set()
        with pytest.raises(ConnectFailed, match="crashed"):
            await world.client.create(named("b"))
        _, successor = world.start()
        await successor.create(named("c"))
        assert await names(world) == {"a", "c"}
        assert (world.interference.writes, world.interference.faults) == (2, 1)

    play(at_write(faults.Crash(answered=False)), act)


def test_a_crash_after_the_answer_leaves_time_to_read_it() -> None:
    async def act(world: World) -> None:
        made = await world.client.create(named("a"))
        assert made["metadata"]["name"] == "a"
        await world.loop.idle()
        assert world.transport.died.is_set()

    play(at_write(faults.Crash(answered=True)), act)


def test_a_slow_request_takes_its_time() -> None:
    async def act(world: World) -> float:
        await world.client.create(named("a"))
        return world.loop.time()

    assert play(at_write(faults.Slow(7.5)), act) == 7.5


def test_the_wall_clock_jumps() -> None:
    async def act(world: World) -> timedelta:
        before = world.loop.clock.now()
        await world.client.create(named("a"))
        return world.loop.clock.now() - before

    assert play(at_write(faults.JumpClock(-3600)), act) == timedelta(hours=-1)


async def _watch_three(world: World) -> list[str]:
    """Create three objects under watch; return the events until silence or the end."""
    seen = []
    async with world.events(resource_version=world.server.resource_version) as events:
        for name in "abc":
            await world.create(name)
        try:
            async with asyncio.timeout(200):
                while True:
                    seen.append(await events.next())
        except (TimeoutError, StopAsyncIteration, ConnectionLost) as end:
            seen.append(type(end).__name__)
    return seen


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (faults.RepeatEvent(), ["ADDED a", "ADDED a", "ADDED b", "ADDED c", "TimeoutError"]),
        (faults.DelayEvent(30), ["ADDED a", "ADDED b", "ADDED c", "TimeoutError"]),
        (faults.SwapEvents(), ["ADDED b", "ADDED a", "ADDED c", "TimeoutError"]),
        (faults.DropEvent(), ["ADDED b", "ADDED c", "ERROR 410", "StopAsyncIteration"]),
        (faults.ExpireWatch(), ["ERROR 410", "StopAsyncIteration"]),
        (faults.CutWatch(), ["ConnectionLost"]),
        (faults.FreezeWatch(), ["TimeoutError"]),
    ],
    ids=str,
)
def test_what_a_watch_delivers(fault: EventFault, seen: list[str]) -> None:
    assert play(at_event(fault), _watch_three) == seen


def test_a_swapped_event_that_nothing_overtakes_ends_the_watch() -> None:
    plan = At(events={3: faults.SwapEvents()})
    assert play(plan, _watch_three) == ["ADDED a", "ADDED b", "ERROR 410", "StopAsyncIteration"]


def test_what_was_dropped_is_missing_after_a_reconnect_too() -> None:
    """Otherwise the event would be lost for good, which no server does."""

    async def act(world: World) -> None:
        start = world.server.resource_version
        async with world.events(resource_version=start) as events:
            for name in "ab":
                await world.create(name)
            assert await events.next() == "ADDED b"
        await anext(world.client.pages(ConfigMap, limit=1))  # only asks how far the server is
        async with world.events(resource_version=world.server.resource_version) as events:
            assert await events.next() == "ERROR 410"
            assert world.loop.time() == 30
        async with world.events(initial_events=True) as events:
            assert [await events.next() for _ in range(2)] == ["ADDED a", "ADDED b"]

    play(at_event(faults.DropEvent(30)), act)


def test_a_refused_watch_is_refused_as_a_server_would() -> None:
    async def act(world: World) -> None:
        with pytest.raises(ApiError) as refused:
            async with world.events():
                pass
        assert refused.value.status_code == 410

    play(At(requests={1: faults.Refuse(410)}), act)


async def _restart_behind(world: World) -> World:
    """Let the process see a, b, c come and crash on d; its successor is *behind*."""
    async with world.events(resource_version=world.server.resource_version) as events:
        for name in "abc":
            await world.create(name)
            await events.next()
        with pytest.raises(ConnectionLost):
            await world.client.create(named("d"))
    world.transport, world.client = world.start()
    return world


@pytest.mark.parametrize(
    ("behind", "seen"), [(0, "abcd"), (1, "abc"), (2, "ab"), (3, "a"), (9, "a")]
)
def test_a_stale_restart_lists_the_past(behind: int, seen: str) -> None:
    async def act(world: World) -> None:
        await _restart_behind(world)
        assert await _listed(world, "0") == set(seen)
        await asyncio.sleep(6)
        assert await _listed(world, "0") == set("abcd")

    play(at_write(faults.Crash(behind=behind, hold_seconds=5)), act)


async def _listed(world: World, version: str = "", match: str = "") -> set[str]:
    pages = world.client.pages(
        ConfigMap, Selection(), limit=3, resource_version=version, match=match
    )
    items = [bytes(item) async for page in pages for item in page.items]
    return {orjson.loads(item)["metadata"]["name"] for item in items}


def test_a_list_shows_the_past_only_to_those_who_allow_it() -> None:
    async def act(world: World) -> None:
        await _restart_behind(world)
        found = (await world.user.list(ConfigMap, "default")).items
        version = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in found}
        assert await _listed(world) == set("abcd")
        assert await _listed(world, version["a"], "NotOlderThan") == set("ab")
        assert await _listed(world, version["b"], "NotOlderThan") == set("ab")
        assert await _listed(world, version["c"], "NotOlderThan") == set("abcd")
        assert await _listed(world, version["c"], "Exact") == set("abc")

    play(at_write(faults.Crash(behind=2, hold_seconds=5)), act)


def test_a_stale_streaming_list_shows_the_past_and_then_catches_up() -> None:
    async def act(world: World) -> None:
        await _restart_behind(world)
        options = WatchOptions(initial_events=True)
        async with world.client.watch(ConfigMap, Selection(), options) as lines:
            events = Events(lines)
            assert [await events.next() for _ in range(3)] == ["ADDED a", "ADDED b", "BOOKMARK "]
            assert world.loop.time() == 0
            assert [await events.next() for _ in range(2)] == ["ADDED c", "ADDED d"]
            assert world.loop.time() == 5

    play(at_write(faults.Crash(behind=2, hold_seconds=5)), act)


def test_the_trace_shows_faults_and_requests() -> None:
    async def act(world: World) -> str:
        await world.client.create(named("a"))
        with pytest.raises(NotFound):
            await world.client.get(ConfigMap, Key("default", "b"))
        return "\n".join(world.loop.trace.lines())

    trace = play(at_write(faults.Slow(2)), act)
    assert "     0.000 Slow(seconds=2) at request 1, write 1: create" in trace
    assert "     2.000 create /api/v1/namespaces/default/configmaps -> 201" in trace
    assert "     2.000 get /api/v1/namespaces/default/configmaps/b -> 404" in trace

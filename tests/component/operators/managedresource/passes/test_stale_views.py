"""A process that is shown the past of its ManagedResources writes nothing on its account.

The source shows the process an old state while the target is up to date: whatever it would
write to the target has been overtaken.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping, KeepingOn

from certwright.client import Client, Request, Response, Transport
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map
from certwright.testkit.calls import CallLog, CountingTransport
from certwright.testkit.faults.faults import At
from certwright.testkit.faults.interference import Interference

SHOWN_SECONDS = 60.0
HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED = {"metadata": {"finalizers": None}}


class Door:
    """A transport that can be closed to patches."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.closed = False

    async def send(self, request: Request) -> Response:
        if self.closed and request.verb == "patch":
            return Response(403, {}, b"{}")
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Past:
    """A source that can show an operator the past, and a target that counts what arrives."""

    def __init__(
        self, keeping: Keeping, target: EmbeddedCluster, interference: Interference
    ) -> None:
        self.keeping = keeping
        self.target = target
        self.door = Door(target.server.transport())
        self.log = CallLog([])
        client = Client(CountingTransport(self.door, self.log), clock=target.clock)
        keeping.running = keeping.operator(target=client)
        self._interference = interference
        self._then = 0

    def remember(self) -> None:
        """Note that this is the state to be shown later."""
        self._then = len(self._interference.revisions)

    async def show(self) -> tuple[int, Calls]:
        """Start the operator anew and let it see the past.

        Return how much it wrote on that account, and what it asked of the source.
        """
        behind = len(self._interference.revisions) - self._then + 1
        self._interference.go_back(behind, SHOWN_SECONDS)
        self.log.mark()
        await self.keeping.cluster.stop()
        async with asyncio.TaskGroup() as group:
            settling = group.create_task(self.keeping.settle())
            await asyncio.sleep(SHOWN_SECONDS / 2)
            written = self.log.since_mark().writes
        return written, settling.result()

    async def data(self) -> JsonObject:
        """Return the data of each ConfigMap of the target."""
        found = await self.target.list(ConfigMap)
        return {item["metadata"]["name"]: item.get("data") or {} for item in found}


@pytest.fixture
async def past(embedded_cluster: EmbeddedCluster, keeping_on: KeepingOn) -> AsyncIterator[Past]:
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(At(), loop.trace, loop.clock.jump)
    async with (
        EmbeddedCluster(interference=interference) as source,
        EmbeddedCluster(seed=7) as target,
    ):
        yield Past(keeping_on(source), target, interference)


async def deleted(past: Past) -> JsonObject:
    await past.keeping.declare("web", config_map("a"))
    await past.keeping.settle()
    past.remember()
    await past.keeping.cluster.delete(past.keeping.kind, "web")
    await past.keeping.settle()
    return {}


async def deleted_and_recreated(past: Past) -> JsonObject:
    await deleted(past)
    await past.keeping.cluster.create(past.keeping.secret_with("other", config_map("b")))
    await past.keeping.cluster.create(past.keeping.managed_resource("web", "other"))
    await past.keeping.settle()
    return {"b": {}}


async def moved(past: Past) -> JsonObject:
    """From `web`, which is all the past knows, to `api`."""
    await past.keeping.declare("web", config_map("a", {"of": "web"}), config_map("stays"))
    await past.keeping.settle()
    past.remember()
    await past.keeping.rewrite("web", config_map("stays"))
    await past.keeping.settle()
    await past.keeping.declare("api", config_map("a", {"of": "api"}))
    await past.keeping.settle()
    return {"a": {"of": "api"}, "stays": {}}


async def changed(past: Past) -> JsonObject:
    await past.keeping.declare("web", config_map("a", {"color": "blue"}))
    await past.keeping.settle()
    past.remember()
    await past.keeping.rewrite("web", config_map("a", {"color": "green"}))
    await past.keeping.settle()
    return {"a": {"color": "green"}}


async def changed_and_not_told(past: Past) -> JsonObject:
    """A predecessor changed an object, and died before it could write the status."""
    await past.keeping.declare("web", config_map("a", {"color": "blue"}))
    await past.keeping.settle()
    past.remember()
    await past.keeping.cluster.stop()
    await past.keeping.rewrite("web", config_map("a", {"color": "green"}))
    live = await past.target.get(ConfigMap, "a")
    [predecessor] = live["metadata"].pop("managedFields")
    del live["metadata"]["resourceVersion"]
    changed = {**live, "data": {"color": "green"}}
    await past.target.apply(changed, field_manager=predecessor["manager"])
    return {"a": {"color": "green"}}


async def wanted_again(past: Past) -> JsonObject:
    """The past is about to delete an object, and held back by another one."""
    await past.keeping.declare("web", config_map("a"), config_map("b"))
    await past.keeping.settle()
    await past.target.patch(ConfigMap, "b", HELD)
    await past.keeping.rewrite("web", config_map("a"))
    await past.keeping.settle()
    past.remember()
    await past.target.patch(ConfigMap, "b", RELEASED)
    await past.keeping.rewrite("web", config_map("a"), config_map("b"))
    await past.keeping.settle()
    return {"a": {}, "b": {}}


async def emptied(past: Past) -> JsonObject:
    await past.keeping.declare("web", config_map("a"))
    await past.keeping.settle()
    past.remember()
    await past.keeping.rewrite("web")
    await past.keeping.settle()
    return {}


async def kept_again(past: Past) -> JsonObject:
    """The past is about to take our name off an object, and could not."""
    ignored = config_map("a", annotations={"resources.gardener.cloud/mode": "Ignore"})
    await past.keeping.declare("web", config_map("a"), config_map("b"))
    await past.keeping.settle()
    past.door.closed = True
    await past.keeping.rewrite("web", ignored, config_map("b"))
    await asyncio.sleep(1)
    past.remember()
    past.door.closed = False
    await past.keeping.rewrite("web", config_map("a"), config_map("b"))
    await past.keeping.cluster.advance(minutes=10)
    return {"a": {}, "b": {}}


async def taken_over(past: Past) -> JsonObject:
    """From `web` by `api`, of which the past knows nothing; `web` wants the object all the time."""
    await past.keeping.declare("web", config_map("a", {"of": "web"}))
    await past.keeping.settle()
    past.remember()
    taking = {"resources.certwright.dev/take-over": "true"}
    await past.keeping.declare("api", config_map("a", {"of": "api"}), annotations=taking)
    await past.keeping.settle()
    return {"a": {"of": "api"}}


HISTORIES = [
    deleted,
    deleted_and_recreated,
    moved,
    changed,
    changed_and_not_told,
    wanted_again,
    emptied,
    kept_again,
    taken_over,
]


@pytest.mark.parametrize("history", HISTORIES, ids=lambda one: one.__name__)
async def test_the_past_is_not_acted_upon(
    past: Past, history: Callable[..., Awaitable[Any]]
) -> None:
    expected = await history(past)
    written, calls = await past.show()
    assert written == 0
    asked = calls.of(past.keeping.kind.kind).by_verb
    assert asked["get"] + asked["patch"] >= 1, "the server says that this is the past"
    assert await past.data() == expected

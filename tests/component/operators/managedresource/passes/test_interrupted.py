"""Passes during which the world changes: the Secret, or who may write at all."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, ConnectionLost, Request, Response, Transport
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.runtime import LeaderElection, Manager
from certwright.testkit.builders import config_map
from certwright.testkit.calls import is_write


class Interjecting:
    """A transport that does something before an object of a kind is written, once."""

    def __init__(self, inner: Transport, kind: str) -> None:
        self._inner = inner
        self._kind = kind
        self.interjection: Callable[[], Awaitable[None]] | None = None

    async def send(self, request: Request) -> Response:
        resource = request.resource
        if is_write(request) and resource is not None and resource.kind == self._kind:
            interjection, self.interjection = self.interjection, None
            if interjection is not None:
                await interjection()
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        """Do nothing: the connection belongs to the cluster."""


def checksum_of(keeping: Keeping, obj: JsonObject) -> str:
    """Return the checksum of a Secret that holds one object."""
    [value] = keeping.secret_with("x", obj)["data"].values()
    return hashlib.sha256(base64.b64decode(value)).hexdigest()


@pytest.mark.scenario("MR-94")
async def test_a_secret_that_changes_during_a_pass_is_followed_by_another(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    older, newer = config_map("a", {"n": "1"}), config_map("a", {"n": "2"})

    async def rewrite() -> None:
        await keeping.rewrite("web", newer)

    transport = Interjecting(keeping.cluster.client.transport, "ConfigMap")
    target = Client(transport, clock=keeping.cluster.clock)
    await keeping.declare("web", config_map("a"))
    await keeping.settle(keeping.operator(target=target))
    transport.interjection = rewrite
    await keeping.rewrite("web", older)
    calls = await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "2"}
    assert await keeping.conditions("web") == healthy
    statuses = [
        orjson.loads(request.body or b"")["status"]
        for request in calls.of("ManagedResource")
        if request.subresource == "status"
    ]
    claimed = [s["secretsDataChecksum"] for s in statuses if "secretsDataChecksum" in s]
    assert claimed == [checksum_of(keeping, older), checksum_of(keeping, newer)]


class Connection:
    """A connection on which ConfigMaps take three seconds, and the Lease may be out of reach."""

    def __init__(self, keeping: Keeping) -> None:
        self._inner: Transport = keeping.cluster.client.transport
        self._clock = keeping.cluster.clock
        self.lease_lost = False
        self.renewed_at = 0.0
        self.written_at: list[Any] = []

    async def send(self, request: Request) -> Response:
        kind = request.resource.kind if request.resource is not None else ""
        if kind == "Lease":
            return await self._lease(request)
        if kind == "ConfigMap":
            await asyncio.sleep(3)
        if is_write(request):
            self.written_at.append(self._clock.monotonic())
        return await self._inner.send(request)

    async def _lease(self, request: Request) -> Response:
        if self.lease_lost:
            raise ConnectionLost("no route to the lease")
        began = self._clock.monotonic()
        answer = await self._inner.send(request)
        if is_write(request):
            self.renewed_at = began
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        """Do nothing: the connection belongs to the cluster."""


@asynccontextmanager
async def leading(keeping: Keeping, connection: Connection) -> AsyncIterator[None]:
    """Run the operator where one at a time may."""
    clock = keeping.cluster.clock
    election = LeaderElection(name="keep", namespace=keeping.namespace, identity="one")
    client = Client(connection, clock=clock)
    manager = Manager(client, [keeping.operator()], clock=clock, leader_election=election)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        yield
        manager.stop()


@pytest.mark.scenario("MR-96")
async def test_who_loses_the_lease_stops_in_the_middle_of_a_pass(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Embedded, for the time: a lease takes ten seconds to be lost."""
    keeping = embedded_keeping
    names = [f"cm-{number:02}" for number in range(40)]
    await keeping.declare("web", *map(config_map, names))
    connection = Connection(keeping)
    async with leading(keeping, connection):
        await asyncio.sleep(2)
        connection.lease_lost = True
        await asyncio.sleep(60)
        assert max(connection.written_at) <= connection.renewed_at + 10
        written = await keeping.exists(ConfigMap, *names)
        assert 0 < len(written) < 40, "the pass was under way"
        assert (await keeping.conditions("web")).get("Applied") != "True/ApplySucceeded"
        connection.lease_lost = False
        await asyncio.sleep(60)
        assert await keeping.exists(ConfigMap, *names) == set(names)
        assert await keeping.conditions("web") == healthy

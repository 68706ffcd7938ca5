"""What cannot be done: tried again at growing distances, and told once."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, Request, Transport
from certwright.client.transport import Response
from certwright.kube.kinds import ConfigMap
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

INVALID = config_map("In_Valid")
HOLD = {"metadata": {"finalizers": ["example.com/hold"]}}


async def refused(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), INVALID)


async def foreign(keeping: Keeping) -> None:
    await keeping.declare("other", config_map("a"))
    await keeping.settle()
    await keeping.declare("web", config_map("a"))


async def unknown_kind(keeping: Keeping) -> None:
    obj = {"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "x"}}
    await keeping.declare("web", config_map("a"), obj)


async def unreadable(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), "{")


async def without_secret(keeping: Keeping) -> None:
    await keeping.install()
    await keeping.cluster.create(keeping.managed_resource("web", "nothing"))


async def unconfirmed(keeping: Keeping) -> None:
    await keeping.declare("web", *[config_map(f"cm-{number}") for number in range(12)])
    await keeping.settle()
    await keeping.rewrite("web", config_map("cm-0"))


@pytest.mark.parametrize(
    "mistake", [refused, foreign, unknown_kind, unreadable, without_secret, unconfirmed]
)
async def test_what_fails_is_tried_seldom_and_told_once(
    embedded_keeping: Keeping, mistake: Callable[..., Awaitable[Any]]
) -> None:
    keeping = embedded_keeping
    await mistake(keeping)
    await keeping.settle()
    await keeping.cluster.advance(minutes=10)
    before = await keeping.get("web")
    calls = await keeping.cluster.advance(hours=1)
    assert await keeping.get("web") == before
    assert calls.writes <= 25
    assert calls.reads <= 50


class NoPatches:
    """A server that fails to patch ``held``."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fails = False

    async def send(self, request: Request) -> Response:
        if self.fails and request.method == "PATCH" and request.path.endswith("/held"):
            return Response(500, {}, b'{"kind": "Status", "message": "out of order"}')
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


async def give_up(keeping: Keeping) -> None:
    await keeping.cluster.delete(keeping.kind, "web")


async def remove_from_input(keeping: Keeping) -> None:
    await keeping.rewrite("web", config_map("a"))


@pytest.mark.parametrize("leave", [give_up, remove_from_input])
async def test_what_waited_and_now_fails_is_told_at_once(
    embedded_keeping: Keeping, leave: Callable[..., Awaitable[Any]]
) -> None:
    keeping = embedded_keeping
    async with EmbeddedCluster(seed=7) as target:
        transport = NoPatches(target.server.transport())
        client = Client(transport, clock=target.clock)
        keeping.running = keeping.operator(target=client)
        patience = {"resources.gardener.cloud/finalize-deletion-after": "10s"}
        await keeping.declare("web", config_map("a"), config_map("held", annotations=patience))
        await keeping.settle()
        await target.patch(ConfigMap, "held", HOLD)
        await keeping.settle()
        transport.fails = True
        await leave(keeping)
        await keeping.settle()
        assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"
        await keeping.cluster.advance(seconds=30)
        assert (await keeping.conditions("web"))["Applied"] == "False/DeletionFailed"
        assert "out of order" in await keeping.message("web")
        await keeping.cluster.stop()

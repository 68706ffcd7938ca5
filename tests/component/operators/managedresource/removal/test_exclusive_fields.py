"""What only one object can have: its successor cannot have it before the old one is gone."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.client import Client, Request
from certwright.client.transport import Response
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Service
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

PORT = 31877


def service(name: str) -> JsonObject:
    port = {"name": "web", "port": 80, "nodePort": PORT}
    spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [port]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_a_port_moves_from_one_service_to_another(keeping: Keeping) -> None:
    await keeping.declare("web", service("old"))
    await keeping.settle()
    await keeping.rewrite("web", service("new"))
    await keeping.settle()
    await keeping.until_healthy("web")
    assert await keeping.exists(Service, "old", "new") == {"new"}


class OneOnly:
    """A server that refuses to create ``new`` while ``old`` is there."""

    def __init__(self, target: EmbeddedCluster, status: int) -> None:
        self._inner = target.server.transport()
        self._target = target
        self._status = status

    async def send(self, request: Request) -> Response:
        applied = request.method == "PATCH" and request.path.endswith("/configmaps/new")
        if applied and await self._target.find(ConfigMap, "old") is not None:
            return Response(self._status, {}, b'{"kind": "Status"}')
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize(("status", "left"), [(422, {"new"}), (500, {"old"})])
async def test_what_is_refused_may_need_what_goes_and_what_fails_does_not(
    embedded_keeping: Keeping, status: int, left: set[str]
) -> None:
    keeping = embedded_keeping
    async with EmbeddedCluster(seed=7) as target:
        client = Client(OneOnly(target, status), clock=target.clock)
        keeping.running = keeping.operator(target=client)
        await keeping.declare("web", config_map("old"))
        await keeping.settle()
        await keeping.rewrite("web", config_map("new"))
        await keeping.settle()
        await keeping.cluster.advance(minutes=1)
        found = {name for name in ("old", "new") if await target.find(ConfigMap, name)}
        assert found == left
        await keeping.cluster.stop()

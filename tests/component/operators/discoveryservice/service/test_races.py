"""Two replicas of the operator, servers that refuse, and pods of the control plane that go."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest
from tests.component.operators.discoveryservice.service.conftest import Serving

from certwright.client import Client, ConnectionLost, Request, Response
from certwright.client.transport import Stream
from certwright.kube.kinds import Pod, Secret, Service
from certwright.runtime import LeaderElection, Manager
from certwright.testkit.calls import is_write


class Replica:
    """A replica of the operator whose connection can be cut."""

    def __init__(self, serving: Serving, name: str) -> None:
        self.cut = False
        self.writes: list[Request] = []
        self._inner = serving.cluster.server.transport()
        client = Client(cast("Any", self), clock=serving.cluster.clock)
        election = LeaderElection(name="certwright", namespace="default", identity=name)
        self.manager = Manager(
            client, serving.operators, leader_election=election, clock=serving.cluster.clock
        )

    async def send(self, request: Request) -> Response:
        if self.cut:
            raise ConnectionLost("no route")
        if is_write(request) and "leases" not in request.path:
            self.writes.append(request)
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.scenario("DS-57")
async def test_only_the_holder_of_the_lease_writes(serving: Serving) -> None:
    await serving.namespace("infra", "a")
    await serving.declare("a")
    await serving.cluster.serve(*serving.operators[0].kinds)
    first, second = Replica(serving, "one"), Replica(serving, "two")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.manager.run()) for one in (first, second)]
        await asyncio.sleep(60)
        assert (await serving.conditions())["Ready"] == "True/Serving"
        leader, other = (first, second) if first.writes else (second, first)
        assert other.writes == []
        before = await serving.find(Secret, "a/envoy-sidecar-client-cert")
        leader.cut = True
        await asyncio.sleep(60)
        await serving.cluster.delete(Service, "infra/marin3r-x")
        leader.writes.clear()
        leader.cut = False
        await asyncio.sleep(60)
        assert await serving.find(Service, "infra/marin3r-x") is not None
        assert leader.writes == []
        kinds = {one.resource.kind for one in other.writes if one.resource is not None}
        assert kinds <= {"Service", "DiscoveryService", "Event"}, "no certificate is issued twice"
        assert await serving.find(Secret, "a/envoy-sidecar-client-cert") == before
        for task in tasks:
            task.cancel()


@pytest.mark.scenario("DS-63")
async def test_a_pod_of_the_control_plane_that_goes_fails_no_admission(serving: Serving) -> None:
    await serving.served("a")
    for _ in range(5):
        pods = (await serving.cluster.client.list(Pod, "infra")).items
        assert len(pods) == 2
        await serving.cluster.delete(Pod, f"infra/{pods[0]['metadata']['name']}")
        for _ in range(20):
            assert await serving.is_injected("a")
            await asyncio.sleep(0.05)
        await serving.advance(5)
        assert (await serving.conditions())["Ready"] == "True/Serving"

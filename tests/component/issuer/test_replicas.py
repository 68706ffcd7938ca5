"""Two replicas: one signs, the other takes over."""

import asyncio
from typing import Any, cast

import pytest
from tests.support.issuer.issuer_world import World

from certwright.client import Client
from certwright.issuer import Bundle, Issuer, Request
from certwright.runtime import LeaderElection, Manager
from certwright.testkit import EmbeddedCluster


@pytest.mark.scenario("ISS-71")
async def test_only_the_holder_of_the_lease_signs(embedded_cluster: EmbeddedCluster) -> None:
    w = World(embedded_cluster)
    await w._serve_requests()
    await w.issuer()
    await embedded_cluster.install(*w.app.crds())
    signed: list[tuple[str, str]] = []
    sign = w._sign

    def replica(name: str) -> Manager:
        client = Client(embedded_cluster._transport(), clock=embedded_cluster.clock)
        clients[client] = name
        lease = LeaderElection(name="issuer", namespace="default", identity=name)
        return Manager(
            client, [w.app.operator], clock=embedded_cluster.clock, leader_election=lease
        )

    async def note(request: Request, issuer: Issuer[Any]) -> Bundle:
        signed.append((request.name, clients[cast("Any", request.offload).__self__.client]))
        return await sign(request, issuer)

    clients: dict[Client, str] = {}
    w.app.sign(note)
    async with asyncio.TaskGroup() as group:
        first, second = replica("first"), replica("second")
        leading = group.create_task(first.run())
        await asyncio.sleep(5)
        group.create_task(second.run())
        await asyncio.sleep(5)
        await w.request("cr1")
        await asyncio.sleep(5)
        assert signed == [("cr1", "first")]
        leading.cancel()  # a crash: the lease is not given back
        await asyncio.sleep(0)
        await w.request("cr2")
        await asyncio.sleep(20)
        assert signed[1:] == [("cr2", "second")]
        third = replica("third")
        group.create_task(third.run())
        await asyncio.sleep(5)
        second.stop()
        await asyncio.sleep(1)
        await w.request("cr3")
        await asyncio.sleep(4)
        assert signed[2:] == [("cr3", "third")], "a graceful end hands over at once"
        third.stop()

"""What a leader asks of the API server: what there is to do, once, and then nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from certwright.client import Client
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, LeaderElection, Manager, Outcome
from certwright.testkit.calls import CallLog, Calls, CountingTransport

OBJECTS = 200
TEN_MINUTES = 600.0


class Counted:
    """A leader whose every request is counted."""

    def __init__(self, world: Any, toy: Any) -> None:
        self._world = world
        self.log = CallLog([])

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            if (found := ctx.get(toy.resource, key)) is not None:
                await ctx.status(found, {"seen": found["metadata"]["generation"]})
            return DONE

        self._controller = Controller(toy.resource, reconcile, owns=[ConfigMap])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Lead until the context ends."""
        transport = CountingTransport(self._world.server.transport(), self.log)
        election = LeaderElection(name="toys", namespace="default", identity="one")
        manager = Manager(
            Client(transport, clock=self._world.clock),
            [self._controller],
            clock=self._world.clock,
            leader_election=election,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await self._world.rest(10)
            assert manager.idle()
            yield
            manager.stop()

    async def during(self, seconds: float) -> Calls:
        """Let time pass; return what was asked meanwhile."""
        self.log.mark()
        await self._world.rest(seconds)
        return self.log.since_mark()


@pytest.fixture
async def counted(world: Any, toy: Any) -> Counted:
    await world.cluster.install(toy.crd)
    for number in range(OBJECTS):
        await world.cluster.create(toy(f"t{number}"))
    return Counted(world, toy)


async def test_one_status_write_per_object_and_no_read(counted: Counted, toy: Any) -> None:
    async with counted.running():
        pass
    asked = counted.log.all().of("Toy")
    assert asked.writes == OBJECTS
    assert {request.subresource for request in asked if request.verb == "patch"} == {"status"}
    assert asked.reads == 0, "the list is a watch"
    assert len(asked) == OBJECTS + 1
    assert counted.log.all().of("ConfigMap").by_verb == {"watch": 1}


async def test_ten_idle_minutes_cost_lease_and_watch_renewals_only(counted: Counted) -> None:
    async with counted.running():
        asked = await counted.during(TEN_MINUTES)
    lease = asked.of("Lease")
    assert lease.by_verb == {"patch": lease.writes}
    assert 0 < lease.writes <= TEN_MINUTES / 2
    others = [request for request in asked if request not in list(lease)]
    assert {request.verb for request in others} <= {"watch"}
    assert len(others) <= 4, "two kinds, renewed every five to ten minutes"


async def test_a_change_costs_one_write(counted: Counted, world: Any, toy: Any) -> None:
    async with counted.running():
        counted.log.mark()
        await world.cluster.patch(toy.resource, "t7", {"spec": {"size": 1}})
        await world.rest(1)
        asked = counted.log.since_mark().of("Toy")
    assert asked.by_verb == {"patch": 1}

"""Two replicas, one Lease: who works, who waits, and what happens in between."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, cast

import pytest
from tests.component.runtime.conftest import World

from certwright.client import Client, ConnectionLost, Request, Response, Transport
from certwright.client.transport import Stream
from certwright.kube import Key, NotFound, Resource
from certwright.kube.kinds import Lease, Secret
from certwright.runtime import DONE, Context, Controller, LeaderElection, Outcome
from certwright.runtime.leader import Elector

LEASE = Key("default", "toys")


def election(identity: str) -> LeaderElection:
    return LeaderElection(name="toys", namespace="default", identity=identity)


class Cable:
    """A transport that can be pulled out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.pulled = False

    async def send(self, request: Request) -> Response:
        if self.pulled:
            raise ConnectionLost("no route")
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


class Replica:
    def __init__(self, world: World, identity: str) -> None:
        self.cable: Any = Cable(world.server.transport())
        self.terms: list[Any] = []
        client = Client(self.cable, clock=world.clock)
        self.elector = Elector(client, election(identity), world.clock, self.terms.append)
        self._task: asyncio.Task[Any] | None = None

    def start(self, group: "Tasks") -> None:
        self._task = group.start(self.elector.run())

    def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()


class Tasks:
    """Background tasks that end with the test, also when it fails."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: list[Any] = []

    def start(self, body: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        self._tasks.append(self._group.create_task(body))
        value: asyncio.Task[Any] = self._tasks[-1]
        return value

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()


@pytest.fixture
async def group() -> AsyncIterator[Tasks]:
    async with asyncio.TaskGroup() as group:
        tasks = Tasks(group)
        yield tasks
        tasks.stop()


async def test_the_first_leads_and_the_second_waits(world: World, group: Tasks) -> None:
    first, second = Replica(world, "first"), Replica(world, "second")
    first.start(group)
    await world.rest()
    second.start(group)
    await world.rest(300)
    assert (first.elector.leading, second.elector.leading) == (True, False)
    assert second.elector.holder == "first"


async def test_a_dead_leader_is_replaced_after_its_lease_and_not_before(
    world: World, group: Tasks
) -> None:
    first, second = Replica(world, "first"), Replica(world, "second")
    first.start(group)
    await world.rest()
    second.start(group)
    await world.rest(60)
    first.stop()
    await world.rest(12)
    assert [second.elector.leading] == [False]
    await world.rest(8)
    assert second.elector.leading
    lease = await world.cluster.client.get(Lease, LEASE)
    assert lease["spec"]["holderIdentity"] == "second"
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_cut_off_stops_before_the_next_one_starts(
    world: World, group: Tasks
) -> None:
    first, second = Replica(world, "first"), Replica(world, "second")
    first.start(group)
    await world.rest()
    second.start(group)
    await world.rest(60)
    first.cable.pulled = True
    for _ in range(300):
        await world.rest(0.1)
        assert not (first.elector.leading and second.elector.leading)
    assert second.elector.leading
    first.cable.pulled = False
    await world.rest(60)
    assert (first.elector.leading, second.elector.leading) == (False, True)
    assert first.terms == [True, False]


async def test_leading_ends_on_time_not_at_the_next_attempt(world: World, group: Tasks) -> None:
    first = Replica(world, "first")
    first.start(group)
    await world.rest(60)
    first.cable.pulled = True
    await world.rest(10.001)
    assert not first.elector.leading, "the last renewal began before the cable was pulled"


async def test_clocks_that_disagree_by_hours_change_nothing(world: World, group: Tasks) -> None:
    first, second = Replica(world, "first"), Replica(world, "second")
    first.start(group)
    await world.rest()
    cast("Any", world.clock).jump(timedelta(hours=-5))
    second.start(group)
    await world.rest(30)
    cast("Any", world.clock).jump(timedelta(hours=20))
    await world.rest(30)
    assert (first.terms, second.terms) == ([True], [])


async def test_a_released_lease_is_taken_at_once(world: World, group: Tasks) -> None:
    first, second = Replica(world, "first"), Replica(world, "second")
    first.start(group)
    await world.rest()
    second.start(group)
    await world.rest(60)
    first.stop()
    await first.elector.release()
    await world.rest(3)
    assert second.elector.leading


async def test_a_lease_somebody_deleted_is_made_again(world: World, group: Tasks) -> None:
    first = Replica(world, "first")
    first.start(group)
    await world.rest(60)
    await world.cluster.client.delete(Lease, LEASE)
    await world.rest(30)
    assert first.elector.leading
    assert (await world.cluster.client.get(Lease, LEASE))["spec"]["holderIdentity"] == "first"


async def test_renewing_costs_one_write_and_no_read(world: World, group: Tasks) -> None:
    first = Replica(world, "first")
    first.start(group)
    await world.rest(1)
    asked = []
    send = first.cable.send

    async def count(request: Request) -> Response:
        asked.append(request.verb)
        response: Response = await send(request)
        return response

    first.cable.send = count
    await world.rest(60)
    assert set(asked) == {"patch"}
    assert 20 <= len(asked) <= 31


def recorder(log: list[tuple[str, str]], name: str) -> Controller:
    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        log.append((name, key.name))
        return DONE

    return Controller(Secret, reconcile)


async def test_only_the_leader_works_and_the_standby_takes_over_warm(world: World) -> None:
    log: list[Any] = []
    await world.secrets("a")
    async with world.running(recorder(log, "one"), leader_election=election("one")) as one:
        await world.rest(5)
        async with world.running(recorder(log, "two"), leader_election=election("two")) as two:
            await world.rest(30)
            assert log == [("one", "a")]
            assert not any(check.problem for check in two.readiness()), "a standby is ready"
            one.stop()
            await world.rest(5)
            assert log == [("one", "a"), ("two", "a")]


async def test_losing_the_lease_pauses_work_and_winning_it_back_resumes(
    world: World, metric: Callable[..., float]
) -> None:
    log, cancelled = [], []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        log.append(key.name)
        if key.name == "slow":
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                cancelled.append(key.name)
                raise
        return DONE

    async with world.running(
        Controller(Secret, reconcile), leader_election=election("one")
    ) as manager:
        await world.rest(5)
        usurper = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 15}}
        await world.secrets("slow")
        await world.rest(1)
        await world.cluster.client.patch(Lease, LEASE, usurper)
        await world.rest(10)
        assert cancelled == ["slow"]
        await world.secrets("a")
        await world.rest(2)
        assert log == ["slow"]
        assert metric(manager, "leader_election_master_status", name="toys") == 0
        await world.rest(60)
        assert sorted(log) == ["a", "slow", "slow"], "nothing was lost, nothing failed"
        errors = "controller_runtime_reconcile_errors_total"
        assert metric(manager, errors, controller="secret") == 0


async def test_a_replica_that_cannot_work_does_not_ask_to_lead(world: World) -> None:
    ghost = Resource("not.installed", "v1", "Ghost", "ghosts")

    async def reconcile(_ctx: Context, _key: Key) -> Any:
        return DONE

    async with world.running(Controller(ghost, reconcile), leader_election=election("one")):
        await world.rest(60)
        with pytest.raises(NotFound):
            await world.cluster.client.get(Lease, LEASE)


async def test_losing_the_lease_while_shutting_down_does_not_hold_up_the_end(world: World) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Any:
        await asyncio.sleep(30)
        return DONE

    await world.secrets("a")
    async with world.running(
        Controller(Secret, reconcile), leader_election=election("one"), grace=timedelta(minutes=1)
    ) as manager:
        await world.rest(1)
        started = world.clock.monotonic()
        manager.stop()
        await world.cluster.client.patch(Lease, LEASE, {"spec": {"holderIdentity": "usurper"}})
    assert world.clock.monotonic() - started < 10


@pytest.mark.parametrize("stubborn", [True, False])
async def test_the_lease_is_not_given_away_while_work_goes_on(
    world: World, *, stubborn: bool
) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        end = world.clock.monotonic() + 60
        while world.clock.monotonic() < end:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                if not stubborn:
                    raise
        return DONE

    await world.secrets("a")
    async with world.running(
        Controller(Secret, reconcile), leader_election=election("one"), grace=timedelta(seconds=5)
    ) as manager:
        await world.rest(1)
        manager.stop()
        await world.rest(8)
        lease = await world.cluster.client.get(Lease, LEASE)
        assert lease["spec"]["holderIdentity"] == ("one" if stubborn else "")


async def test_a_lease_lasts_no_shorter_than_its_holder_believes(
    world: World, group: Tasks
) -> None:
    """The API knows whole seconds only: cut down, others would start before we stop."""
    short = LeaderElection(
        name="toys",
        namespace="default",
        identity="first",
        lease_duration=timedelta(seconds=2.9),
        renew_deadline=timedelta(seconds=2.5),
        retry_period=timedelta(seconds=1),
    )
    elector = Elector(Client(world.server.transport(), clock=world.clock), short, world.clock)
    group.start(elector.run())
    await world.rest(1)
    lease = await world.cluster.client.get(Lease, LEASE)
    assert lease["spec"]["leaseDurationSeconds"] == 3


async def test_a_standby_says_that_it_does_not_lead(
    world: World, metric: Callable[..., float]
) -> None:
    async with world.running(leader_election=election("one")) as manager:
        text = (await manager.exposition()).decode()
        assert 'leader_election_master_status{name="toys"} 0.0' in text

"""Start order, shutdown, and what the manager says about itself."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import pytest
from tests.component.runtime.conftest import World

from certwright.client import Client, ConnectFailed, Request, Transport, TransportError
from certwright.kube import Key, Resource
from certwright.kube.kinds import Lease, Secret
from certwright.runtime import DONE, Context, Controller, Manager, Outcome, again, select

Missing = Resource("not.installed", "v1", "Ghost", "ghosts")


def working(log: list[Any], **options: Any) -> Controller:
    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        log.append(key.name)
        return DONE

    return Controller(Secret, reconcile, **options)


async def test_a_kind_that_is_not_served_holds_back_only_who_needs_it(world: World) -> None:
    log: list[Any] = []
    ghosts: list[Any] = []
    await world.secrets("a")
    needs_ghosts = working(ghosts, name="ghostly", reads=[Missing])
    async with world.running(working(log), needs_ghosts) as manager:
        await world.rest(60)
        assert (log, ghosts) == (["a"], [])
        assert manager.idle()
        problems = [check.name for check in manager.readiness() if check.problem]
        assert len(problems) == 1
        assert "Ghost" in problems[0]
        assert not any(check.problem for check in manager.liveness())


async def test_stopping_lets_what_is_under_way_end(world: World) -> None:
    ended = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        await asyncio.sleep(10)
        ended.append(key.name)
        return DONE

    await world.secrets("a", "b")
    controller = Controller(Secret, reconcile, workers=1)
    async with world.running(controller, grace=timedelta(seconds=15)) as manager:
        await world.rest(1)
        started = world.clock.monotonic()
        manager.stop()
    assert ended == ["a"], "nothing new is started"
    assert 8 < world.clock.monotonic() - started < 11


async def test_stopping_does_not_wait_longer_than_the_grace_period(world: World) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Any:
        await asyncio.sleep(1000)
        return DONE

    await world.secrets("a")
    controller = Controller(Secret, reconcile, deadline=timedelta(hours=1))
    async with world.running(controller, grace=timedelta(seconds=5)) as manager:
        await world.rest(1)
        started = world.clock.monotonic()
        manager.stop()
    assert world.clock.monotonic() - started < 6


async def test_idle_means_that_nothing_is_left_to_do(world: World) -> None:
    release = asyncio.Event()

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        if key.name == "slow":
            await release.wait()
        return again(after=3600)

    async with world.running(Controller(Secret, reconcile)) as manager:
        assert not manager.idle(), "nothing is synced yet"
        await world.rest(1)
        assert manager.idle()
        await world.secrets("slow")
        await world.rest()
        assert not manager.idle()
        release.set()
        await world.rest()
        assert manager.idle(), "a key that waits for its time is no work"


async def test_ten_idle_minutes_cost_nothing_but_watches(world: World) -> None:
    asked = []

    class Counter:
        def on_request(self, request: Request, outcome: object, seconds: float) -> None:  # noqa: ARG002 - as the protocol names them
            asked.append(request.verb)

    await world.secrets("a")
    client = Client(world.server.transport(), clock=world.clock, observers=[Counter()])
    manager = Manager(client, [working([], owns=[Lease])], clock=world.clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await world.rest(5)
        asked.clear()
        await world.rest(600)
        manager.stop()
    assert set(asked) <= {"watch"}


async def test_runnables_run_beside_the_controllers(world: World) -> None:
    class Poller:
        ticks = 0

        async def run(self) -> None:
            while True:
                await asyncio.sleep(1)
                self.ticks += 1

    poller = Poller()
    manager = Manager(Client(world.server.transport(), clock=world.clock), clock=world.clock)
    manager.add(poller)
    manager.add(working([]))
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await world.rest(5)
        with pytest.raises(RuntimeError, match="before"):
            manager.add(poller)
        manager.stop()
    assert poller.ticks >= 4


async def test_two_controllers_of_one_name_are_refused(world: World) -> None:
    client = Client(world.server.transport(), clock=world.clock)
    with pytest.raises(ValueError, match="two controllers are called secret"):
        Manager(client, [working([]), working([])])


async def test_the_dump_shows_what_is_under_way(world: World) -> None:
    release = asyncio.Event()

    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        await release.wait()
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile)) as manager:
        await world.rest(3)
        shown = json.loads(json.dumps(manager.dump(), default=str))
        (under_way,) = shown["controllers"]["secret"]["underWay"]
        assert under_way["key"] == "default/a"
        assert 2 < under_way["seconds"] <= 4
        assert shown["watches"]["Secret"]["state"] == "watching"
        assert shown["leader"] is None
        release.set()


async def test_the_dump_shows_who_waits_and_who_failed(world: World) -> None:
    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        match key.name:
            case "bad":
                raise TransportError("not today")
            case "later":
                return again(after=60)
        await asyncio.sleep(50)
        return DONE

    await world.secrets("bad", "later", "long", "waits")
    async with world.running(
        Controller(Secret, reconcile, workers=1), grace=timedelta(0)
    ) as manager:
        await world.rest(10)
        shown = json.loads(json.dumps(manager.dump()))["controllers"]["secret"]
        assert set(shown["waitingSeconds"]) == {"default/waits", "default/bad"}
        assert 9 < shown["waitingSeconds"]["default/waits"] < 11
        assert shown["dueInSeconds"] == {"default/later": pytest.approx(50, abs=1)}
        assert shown["failures"] == {"default/bad": 1}
        assert (shown["queued"], shown["delayed"]) == (2, 1)


async def test_nobody_comes_back_to_what_is_gone(world: World) -> None:
    seen: list[str] = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        seen.append(key.name)
        return again(after=60) if ctx.get(Secret, key) is not None else DONE

    await world.secrets("a", "b")
    async with world.running(Controller(Secret, reconcile)) as manager:
        await world.rest(1)
        assert manager.dump()["controllers"]["secret"]["delayed"] == 2
        await world.cluster.client.delete(Secret, Key("default", "a"))
        await world.rest(1)
        assert manager.dump()["controllers"]["secret"]["delayed"] == 1
        seen.clear()
        await world.rest(65)
        assert seen == ["b"]


async def test_nothing_stays_of_what_a_controller_does_not_want(world: World) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        return DONE

    await world.secrets("wanted", "other")
    wanted = select(Secret, keep=lambda entry: entry.key.name == "wanted")
    async with world.running(Controller(wanted, reconcile)) as manager:
        await world.rest(1)
        await world.secrets("late")
        await world.rest(1)
        [store] = [informer.store for informer in manager.informers]
        assert store.keys() == [Key("default", "wanted")]
        assert not store.has_refused(Key("default", "other")), "it was listed"
        assert not store.has_refused(Key("default", "late")), "it was watched"


async def test_the_metrics_bear_the_names_dashboards_ask_for(world: World) -> None:
    await world.secrets("a", "b")
    async with world.running(working([])) as manager:
        await world.rest(1)
        text = (await manager.exposition()).decode()
    for line in (
        'controller_runtime_reconcile_total{controller="secret",result="success"} 2.0',
        'controller_runtime_reconcile_errors_total{controller="secret"} 0.0',
        'controller_runtime_max_concurrent_reconciles{controller="secret"} 4.0',
        'controller_runtime_active_workers{controller="secret"} 0.0',
        'controller_runtime_reconcile_time_seconds_count{controller="secret"} 2.0',
        'workqueue_depth{controller="secret",name="secret"} 0.0',
        'workqueue_adds_total{controller="secret",name="secret"} 2.0',
        'certwright_watch_synced{view="Secret"} 1.0',
        'certwright_watch_state{state="watching",view="Secret"} 1.0',
    ):
        assert line in text.splitlines(), line


async def test_reading_a_kind_that_is_not_watched_says_what_to_do(world: World) -> None:
    failures = []

    async def reconcile(ctx: Context, _key: Key) -> Outcome:
        with pytest.raises(LookupError) as failure:
            ctx.get(Lease, Key("default", "s"))
        failures.append(str(failure.value))
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile)):
        await world.rest(1)
    assert failures == [
        "controller secret does not watch Lease.v1.coordination.k8s.io; name the kind in owns, watches or reads"
    ]


async def test_blocking_work_runs_in_a_thread(world: World) -> None:
    results = []

    async def reconcile(ctx: Context, _key: Key) -> Outcome:
        results.append(await ctx.cpu(sum, [1, 2, 3]))
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile)):
        await world.rest(1)
    assert results == [6]


async def test_a_fresh_change_goes_before_what_was_there_at_the_start(world: World) -> None:
    log, go_on = [], asyncio.Event()

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        log.append(key.name)
        await go_on.wait()
        return DONE

    await world.secrets("a", "b", "c")
    async with world.running(Controller(Secret, reconcile, workers=1)):
        await world.rest(1)
        await world.secrets("fresh")
        await world.rest(1)
        go_on.set()
        await world.rest(1)
    assert log == ["a", "fresh", "b", "c"]


async def test_events_still_held_back_are_written_at_the_end(world: World) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(Secret, key)
        for _ in range(3):
            ctx.event(found, "Normal", "Seen", "three times")
            await asyncio.sleep(0.1)
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile)):
        await world.rest(1)
        (event,) = await world.events()
        assert "series" not in event
    (event,) = await world.events()
    assert event["series"]["count"] == 3


class Cable:
    """A transport that can be pulled out; what streams already goes on."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.pulled = False

    async def send(self, request: Any) -> Any:
        self._check()
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        self._check()
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()

    def _check(self) -> None:
        if self.pulled:
            raise ConnectFailed("no route to the server")


async def test_a_replica_cut_off_is_not_ready_but_alive_and_recovers(world: World) -> None:
    cable = Cable(world.server.transport())
    manager = Manager(Client(cable, clock=world.clock), [working([])], clock=world.clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await world.rest(5)
        assert [check.problem for check in manager.readiness()] == [""]
        cable.pulled = True
        await world.rest(1000)
        (check,) = manager.readiness()
        assert check.problem.startswith("silent: backing-off")
        assert not any(check.problem for check in manager.liveness())
        cable.pulled = False
        await world.rest(60)
        assert [check.problem for check in manager.readiness()] == [""]
        manager.stop()


async def test_nothing_is_remembered_of_objects_that_are_gone(world: World) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(Secret, key)
        if found is not None:
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            await ctx.apply({**lease, "metadata": {"name": key.name}}, owner=found)
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile, owns=[Lease])) as manager:
        await world.rest(1)
        applier = manager.workers[0]._environment.applier
        assert len(applier._applied) == 1
        await world.cluster.delete(Secret, "a")
        await world.rest(5)
        assert len(applier._applied) == 0


async def test_nothing_is_remembered_of_objects_that_no_store_holds(world: World) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(Secret, key)
        if found is not None:
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            await ctx.apply({**lease, "metadata": {"name": key.name}}, owner=found)
        return DONE

    await world.secrets("a")
    leases = select(Lease, labels="kept=yes")
    async with world.running(Controller(Secret, reconcile, owns=[leases])) as manager:
        await world.rest(1)
        assert "a" in await world.cluster.names(Lease)
        assert len(manager.workers[0]._environment.applier._applied) == 0

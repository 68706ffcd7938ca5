"""Reconcile functions, mappers and sources that do what they must not: the process lives on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, cast

import pytest
from structlog.testing import capture_logs
from tests.component.runtime.conftest import World

from certwright.clock import SYSTEM
from certwright.kube import Key
from certwright.kube.kinds import Lease, Secret
from certwright.runtime import DONE, Context, Controller, Manager, Outcome, TerminalError, mapped
from certwright.runtime.cache.entries import Entry


def endless(depth: int = 0) -> Any:
    return endless(depth + 1)


def raises(error: BaseException) -> Callable[..., Any]:
    def body() -> None:
        raise error

    return body


CRASHES = {
    "a defect": raises(KeyError("spec")),
    "recursion": endless,
    "sys.exit": raises(SystemExit(3)),
    "a group of the worst": raises(BaseExceptionGroup("x", [SystemExit(), ValueError()])),
    "cancelling itself": raises(asyncio.CancelledError()),
    "a stray stop": raises(StopAsyncIteration()),
}


@pytest.mark.parametrize("crash", CRASHES.values(), ids=CRASHES)
async def test_a_crash_is_visible_and_the_others_are_worked_on(
    world: World, metric: Callable[..., float], crash: Callable[..., Any]
) -> None:
    done = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        if key.name == "bad":
            crash()
        done.append(key.name)
        return DONE

    await world.secrets("bad", "good")
    with capture_logs() as logs:
        async with world.running(Controller(Secret, reconcile, workers=1)) as manager:
            await world.rest(1)
            assert done == ["good"]
            crashes = metric(
                manager, "controller_runtime_reconcile_panics_total", controller="secret"
            )
            assert crashes > 2, "it is tried again"
            assert crashes < 15, "and less often each time"
    events = [e for e in await world.events() if e["regarding"]["name"] == "bad"]
    assert [(e["type"], e["reason"]) for e in events] == [("Warning", "ReconcileCrashed")]
    assert any(log["event"] == "reconcile crashed" and log["key"] == "default/bad" for log in logs)


async def test_a_traceback_is_shown_once_and_begins_in_the_reconcile(world: World) -> None:
    errors = iter([KeyError("a"), KeyError("a"), ValueError("b"), ValueError("b")])

    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        for error in errors:
            raise error
        return DONE

    await world.secrets("bad")
    with capture_logs() as logs:
        async with world.running(Controller(Secret, cast("Any", reconcile))):
            await world.rest(10)
    shown = [log["exc_info"] for log in logs if log["event"] == "reconcile crashed"]
    assert [bool(one) for one in shown] == [True, False, True, False]
    assert shown[0][2].tb_frame.f_code is reconcile.__code__


async def test_anything_but_an_outcome_is_a_crash_that_says_so(
    world: World, metric: Callable[..., float]
) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> bool:
        return True

    await world.secrets("a")
    async with world.running(Controller(Secret, cast("Any", reconcile))):
        await world.rest(1)
    (event,) = await world.events()
    assert event["note"] == (
        "TypeError: reconcile returned True; it must return DONE, WAIT or again(after=…)"
    )


async def test_a_function_that_is_not_async_is_a_crash_that_says_so(world: World) -> None:
    async with world.running(Controller(Secret, cast("Any", lambda _ctx, _key: DONE))):
        await world.secrets("a")
        await world.rest(1)
    (event,) = await world.events()
    assert "must be an async function" in event["note"]


async def test_a_terminal_error_is_not_retried_until_the_object_changes(
    world: World, metric: Callable[..., float]
) -> None:
    attempts = []

    async def reconcile(_ctx: Context, key: Key) -> None:
        attempts.append(key.name)
        raise TerminalError("spec.color must be a color")

    await world.secrets("a")
    async with world.running(Controller(Secret, cast("Any", reconcile))) as manager:
        await world.rest(1500)
        assert attempts == ["a"]
        await world.cluster.patch(Secret, "a", {"metadata": {"labels": {"x": "y"}}})
        await world.rest(1500)
        assert attempts == ["a", "a"]
        name = "controller_runtime_terminal_reconcile_errors_total"
        assert metric(manager, name, controller="secret") == 2
    (event,) = await world.events()
    assert event["note"] == "TerminalError: spec.color must be a color"
    assert event["series"]["count"] == 2


async def test_a_reconcile_that_never_returns_is_cut_off_and_tried_again(
    world: World, metric: Callable[..., float]
) -> None:
    attempts = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        attempts.append(key.name)
        if len(attempts) < 3:
            await asyncio.Event().wait()
        return DONE

    await world.secrets("a")
    controller = Controller(Secret, reconcile, workers=1, deadline=timedelta(seconds=5))
    async with world.running(controller) as manager:
        await world.rest(60)
        assert attempts == ["a", "a", "a"]
        name = "controller_runtime_reconcile_timeouts_total"
        assert metric(manager, name, controller="secret") == 2
        assert manager.idle()
    assert [event["note"] for event in await world.events()] == [
        "DeadlineExceeded: no result within 5 s"
    ]


async def test_a_reconcile_that_ignores_its_cancellation_gets_a_substitute(
    world: World, metric: Callable[..., float]
) -> None:
    """The key stays with the stubborn one, so it is never worked on twice at a time."""
    done, stubborn, let_go = [], [], asyncio.Event()

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        if key.name == "bad":
            stubborn.append(key.name)
            while not let_go.is_set():
                with suppress(asyncio.CancelledError):
                    await let_go.wait()
        done.append(key.name)
        return DONE

    await world.secrets("bad")
    controller = Controller(Secret, reconcile, workers=1, deadline=timedelta(seconds=5))
    with capture_logs() as logs:
        async with world.running(controller) as manager:
            await world.rest(14)
            await world.secrets("good")
            await world.rest()
            assert done == []
            await world.rest(2)
            assert done == ["good"]
            name = "certwright_reconciles_stuck"
            assert metric(manager, name, controller="secret") == 1
            await world.cluster.patch(Secret, "bad", {"metadata": {"labels": {"x": "y"}}})
            await world.rest(60)
            assert stubborn == ["bad"]
            let_go.set()
            await world.rest(1)
            assert done == ["good", "bad", "bad"]
            assert metric(manager, name, controller="secret") == 0
    assert any(log["event"] == "reconcile ignores its cancellation" for log in logs)


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def cancels_itself_and_goes_on() -> None:
    with suppress(asyncio.CancelledError):
        await cancels_itself()
    raise KeyError("spec")


@pytest.mark.parametrize("misbehave", [cancels_itself, cancels_itself_and_goes_on])
async def test_a_reconcile_that_cancels_its_task_takes_no_worker_along(
    world: World, misbehave: Callable[[], Awaitable[None]]
) -> None:
    done = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        if key.name == "bad":
            await misbehave()
        done.append(key.name)
        return DONE

    await world.secrets("bad")
    async with world.running(Controller(Secret, reconcile, workers=1)):
        await world.rest()
        await world.secrets("good")
        await world.rest(1)
        assert done == ["good"]


async def test_workers_end_though_a_reconcile_loses_its_cancellation(world: World) -> None:
    """As a TaskGroup did, up to Python 3.12, of which a task failed meanwhile."""
    begun = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        begun.append(key.name)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionResetError from None
        return DONE

    await world.secrets("any")
    manager = Manager(world.cluster.client, [Controller(Secret, reconcile)], clock=world.clock)
    async with asyncio.TaskGroup() as group:
        life = group.create_task(manager.run())
        await world.rest()
        life.cancel()
        await asyncio.wait([life], timeout=60)
        assert life.done()
    assert begun == ["any"]


async def test_a_controller_that_lost_all_workers_is_not_alive(world: World) -> None:
    let_go = asyncio.Event()

    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        return DONE

    await world.secrets("a", "b", "c")
    controller = Controller(Secret, reconcile, workers=1, deadline=timedelta(seconds=1))
    async with world.running(controller) as manager:
        await world.rest(5)
        assert [check.problem for check in manager.liveness()] == [""]
        await world.rest(60)
        assert [bool(check.problem) for check in manager.liveness()] == [True]
        let_go.set()
        await world.rest(1)
        assert [check.problem for check in manager.liveness()] == [""]


async def test_a_reconcile_that_blocks_the_loop_is_named(
    world: World, metric: Callable[..., float]
) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        until = SYSTEM.monotonic() + 0.15
        while SYSTEM.monotonic() < until:
            pass
        return DONE

    await world.secrets("a")
    with capture_logs() as logs:
        async with world.running(Controller(Secret, cast("Any", reconcile))) as manager:
            await world.rest(1)
            name = "certwright_event_loop_stall_seconds_count"
            assert metric(manager, name, controller="secret") == 1
    blocked = [log["by"] for log in logs if log["event"] == "event loop was blocked"]
    assert blocked == ["secret default/a"]


async def test_a_mapper_that_raises_wakes_everybody_instead_of_nobody(
    world: World, metric: Callable[..., float]
) -> None:
    woken = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        woken.append(key.name)
        return DONE

    def broken(_entry: Entry) -> list[Key]:
        raise LookupError("no such index")

    controller = Controller(Secret, reconcile, watches=[mapped(Lease, broken)])
    await world.secrets("a", "b")
    async with world.running(controller) as manager:
        await world.rest(1)
        woken.clear()
        await world.cluster.create(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "s"}}
        )
        await world.rest(1)
        assert sorted(woken) == ["a", "b"]
        assert metric(manager, "certwright_mapper_errors_total", controller="secret") == 1


async def test_a_burst_of_failures_of_a_mapper_costs_one_look_at_everybody(world: World) -> None:
    async def reconcile(_ctx: Context, _key: Key) -> Outcome:
        return DONE

    def broken(_entry: Entry) -> list[Key]:
        raise LookupError("no such index")

    await world.secrets("a", "b")
    for n in range(50):
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        await world.cluster.create({**lease, "metadata": {"name": f"l-{n}"}})
    controller = Controller(Secret, reconcile, watches=[mapped(Lease, broken)])
    looks = []
    with capture_logs():
        async with world.running(controller) as manager:
            await asyncio.sleep(0)
            store = manager.workers[0]._primary
            items = store.items

            def counted() -> Any:
                looks.append(1)
                return items()

            cast("Any", store).items = counted
            await world.rest(1)
    assert len(looks) <= 2


@pytest.mark.parametrize("crash", CRASHES.values(), ids=CRASHES)
async def test_a_source_may_raise_anything(world: World, crash: Callable[..., Any]) -> None:
    starts = []

    async def reconcile(_ctx: Context, _key: Any) -> Outcome:
        return DONE

    async def source(_ctx: Context) -> AsyncIterator[Any]:
        starts.append(1)
        crash()
        yield Key("default", "never")

    with capture_logs():
        async with world.running(Controller(Secret, reconcile, sources=[source])):
            await world.rest(30)
    assert 3 <= len(starts) <= 8


async def test_a_mapper_may_ask_to_exit(world: World) -> None:
    woken = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        woken.append(key.name)
        return DONE

    def exiting(_entry: Entry) -> list[Key]:
        raise SystemExit

    await world.secrets("a")
    controller = Controller(Secret, reconcile, watches=[mapped(Lease, exiting)])
    with capture_logs():
        async with world.running(controller):
            await world.rest(1)
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            await world.cluster.create({**lease, "metadata": {"name": "l"}})
            await world.rest(1)
    assert woken == ["a", "a"]


async def test_a_source_queues_keys_and_is_started_again_when_it_fails(world: World) -> None:
    woken, starts = [], []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        woken.append(key.name)
        return DONE

    async def source(ctx: Context) -> AsyncIterator[Key]:
        starts.append(ctx.clock.now())
        await asyncio.sleep(10)
        yield Key("default", f"key-{len(starts)}")
        raise OSError("connection lost")

    async with world.running(Controller(Secret, reconcile, sources=[source])):
        await world.rest(30)
    assert woken[:2] == ["key-1", "key-2"]


async def test_everything_is_looked_at_every_now_and_then_if_asked_for(world: World) -> None:
    woken = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        woken.append(key.name)
        return DONE

    await world.secrets("a")
    controller = Controller(Secret, reconcile, resync=timedelta(minutes=10))
    async with world.running(controller):
        await world.rest(1)
        assert woken == ["a"]
        await world.rest(1200)
        assert woken == ["a", "a", "a"]

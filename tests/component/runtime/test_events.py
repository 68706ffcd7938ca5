"""Events on a server: series, limits, and a recorder that nobody waits for."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from tests.component.runtime.conftest import World

from certwright.client import Client, Request, Response
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Event, Secret
from certwright.runtime import DONE, Context, Controller, Outcome
from certwright.runtime.writes.events import EventRecorder
from certwright.testkit import Cluster

OBJ = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"namespace": "default", "name": "a", "uid": "u-1"},
}


@pytest.fixture
def asked() -> list[Any]:
    """The verbs of the recorder's requests."""
    return []


@pytest.fixture
async def recorder(world: World, asked: list[Any]) -> AsyncIterator[Any]:
    class Observer:
        def on_request(self, request: Request, outcome: object, seconds: float) -> None:  # noqa: ARG002 - as the protocol names them
            asked.append(request.verb)

    dropped = []
    recorder: Any = EventRecorder(
        Client(world.server.transport(), clock=world.clock, observers=[Observer()]),
        world.clock,
        controller="toys",
        instance="host",
        dropped=lambda: dropped.append(1),
    )
    recorder.count_dropped = lambda: len(dropped)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        yield recorder
        task.cancel()


async def test_an_event_says_what_happened_to_whom(world: World, recorder: Any) -> None:
    recorder.record(OBJ, "Normal", "Applied", "Applied Secret default/a")
    await world.rest()
    (event,) = await world.events()
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Secret",
        "namespace": "default",
        "name": "a",
        "uid": "u-1",
    }
    assert (event["type"], event["reason"], event["note"]) == (
        "Normal",
        "Applied",
        "Applied Secret default/a",
    )
    assert (event["reportingController"], event["reportingInstance"]) == ("toys", "host")
    assert "series" not in event


@pytest.mark.parametrize(
    "nonsense",
    [
        {"metadata": {"namespace": "not/one", "name": "a"}},
        {"metadata": {"namespace": "default", "name": "a", "uid": 7}},
        {"metadata": {"namespace": "default", "name": "a"}, "kind": "half a \ud800 pair"},
        {},
    ],
    ids=["namespace", "uid", "kind", "nothing"],
)
async def test_an_event_about_nonsense_is_dropped_and_the_next_is_written(
    world: World, recorder: Any, nonsense: JsonObject
) -> None:
    recorder.record(nonsense, "Normal", "Looked", "at what?")
    recorder.record(OBJ, "Normal", "Applied", "fine")
    await world.rest()
    assert "fine" in {event["note"] for event in await world.events()}


async def test_repetitions_become_a_series_written_now_and_then(
    world: World, recorder: Any, asked: list[Any]
) -> None:
    for _ in range(100):
        recorder.record(OBJ, "Warning", "Failed", "not again")
        await world.rest(0.5)
    await world.rest(20)
    (event,) = await world.events()
    assert event["series"]["count"] == 100
    assert asked == ["create"] + ["patch"] * 5, "a hundred repetitions in 50 s"
    assert recorder.idle


async def test_notes_that_keep_changing_are_combined_after_a_few(
    world: World, recorder: Any, asked: list[Any]
) -> None:
    for number in range(100):
        recorder.record(OBJ, "Warning", "Failed", f"attempt {number}")
        await world.rest(0.5)
    await world.rest(20)
    events = {event["note"]: event.get("series", {}) for event in await world.events()}
    assert list(events) == [
        *(f"attempt {number}" for number in range(5)),
        "(combined from similar events) attempt 5",
    ]
    assert events["(combined from similar events) attempt 5"]["count"] == 95
    recorder.record(OBJ, "Warning", "Failed", "attempt 3")
    await world.rest(20)
    events = {event["note"]: event.get("series", {}) for event in await world.events()}
    assert events["attempt 3"]["count"] == 2


def numbered(number: int) -> JsonObject:
    metadata = {"namespace": "default", "name": f"s-{number}", "uid": f"u-{number}"}
    return {**OBJ, "metadata": metadata}


async def test_a_burst_about_many_objects_leaves_no_tail_of_writes(
    world: World, recorder: Any, asked: list[Any]
) -> None:
    for number in range(2000):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
    await world.rest(1)
    assert len(asked) == 26, "a crowd, and the one that stands for the rest"
    await world.rest(20)
    assert asked == ["create"] * 26
    combined = [one for one in await world.events() if one["note"].startswith("(combined")]
    [event] = combined
    assert event["note"] == "(combined from events about many objects) Succeeded signing"
    assert event["series"]["count"] == 1975
    assert event["regarding"]["name"] == "s-25"
    assert recorder.count_dropped() == 0
    assert recorder.idle


async def test_one_burst_does_not_combine_all_that_comes_later(world: World, recorder: Any) -> None:
    for number in range(100):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
    for number in range(100, 240):
        await world.rest(0.5)
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
    await world.rest(5)
    told = {one["regarding"]["name"] for one in await world.events()}
    assert "s-120" not in told
    assert "s-239" in told


async def test_after_a_burst_objects_have_their_own_events_again(
    world: World, recorder: Any
) -> None:
    for number in range(100):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
    await world.rest(5)
    recorder.record(numbered(100), "Normal", "Issued", "Succeeded signing")
    await world.rest(1)
    about = [one["note"] for one in await world.events() if one["regarding"]["name"] == "s-100"]
    assert about == ["Succeeded signing"]


async def test_warnings_and_other_reasons_are_not_lost_in_a_crowd(
    world: World, recorder: Any
) -> None:
    for number in range(100):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
        recorder.record(numbered(number), "Warning", "Failed", "no luck")
    recorder.record(numbered(7), "Normal", "Checked", "Succeeded checking")
    await world.rest(5)
    events = await world.events()
    assert sum(one["reason"] == "Failed" for one in events) == 100
    assert [one["note"] for one in events if one["reason"] == "Checked"] == ["Succeeded checking"]


async def test_objects_that_come_one_by_one_are_no_crowd(world: World, recorder: Any) -> None:
    for number in range(100):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
        await world.rest(0.1)
    notes = {one["note"] for one in await world.events()}
    assert notes == {"Succeeded signing"}
    assert len(await world.events()) == 100


async def test_what_has_long_been_told_is_forgotten(world: World, recorder: Any) -> None:
    for number in range(240):
        recorder.record(numbered(number), "Normal", "Issued", "Succeeded signing")
        await world.rest(10)
    assert len(recorder._series) <= 61, "those of ten minutes"
    assert len(recorder._notes) == len(recorder._series)
    assert len(recorder._buckets) <= 31, "those of which an event was spent five minutes ago"
    assert not recorder.count_dropped()


@pytest.mark.parametrize(("minutes", "told"), [(9, [2]), (11, [1, 1])])
async def test_repetitions_are_recognised_for_ten_minutes(
    world: World, recorder: Any, minutes: float, told: list[int]
) -> None:
    recorder.record(OBJ, "Warning", "Failed", "not again")
    await world.rest(minutes * 60)
    recorder.record(numbered(2), "Warning", "Failed", "something else")
    recorder.record(OBJ, "Warning", "Failed", "not again")
    await world.rest(20)
    about = [one for one in await world.events() if one["regarding"]["name"] == "a"]
    assert [one.get("series", {}).get("count", 1) for one in about] == told


async def test_an_object_whose_name_no_event_can_have_gets_its_events(
    world: World, recorder: Any
) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    recorder.record({**role, "metadata": {"name": "system:node", "uid": "u"}}, "Normal", "R", "n")
    await world.rest()
    (event,) = await world.events()
    assert event["regarding"]["name"] == "system:node"


async def test_a_flood_of_different_events_about_one_object_is_held_back(
    world: World, recorder: Any
) -> None:
    for number in range(100):
        recorder.record(OBJ, "Warning", f"Reason{number}", "note")
    await world.rest(1)
    assert len(await world.events()) == 25
    assert recorder.count_dropped() == 75
    other = {**OBJ, "metadata": {"namespace": "default", "name": "b", "uid": "u-2"}}
    recorder.record(other, "Normal", "Applied", "another object is not concerned")
    await world.rest(1)
    assert len(await world.events()) == 26


async def test_a_controller_may_tell_more_at_once(world: World) -> None:
    client = Client(world.server.transport(), clock=world.clock)
    recorder = EventRecorder(client, world.clock, controller="c", instance="host", burst=50)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        for number in range(10):
            recorder.record(OBJ, "Normal", "Creating", f"number {number}")
        for number in range(60):
            recorder.record(OBJ, "Normal", f"Reason{number}", "note")
        await world.rest(1)
        task.cancel()
    notes = [event["note"] for event in await world.events()]
    assert len(notes) == 50
    assert {f"number {number}" for number in range(10)} <= set(notes)


async def test_a_server_that_does_not_answer_blocks_nobody(world: World) -> None:
    class Silent:
        async def send(self, _request: Request) -> None:
            await asyncio.Event().wait()

    recorder = EventRecorder(
        Client(cast("Any", Silent()), clock=world.clock),
        world.clock,
        controller="toys",
        instance="host",
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        for number in range(5000):
            uid = f"u-{number}"
            recorder.record({**OBJ, "metadata": {"name": "x", "uid": uid}}, "Normal", "R", "n")
        before = world.clock.monotonic()
        await recorder.flush()
        assert world.clock.monotonic() - before <= 2.1
        task.cancel()


async def test_cluster_wide_objects_have_their_events_in_default(
    world: World, recorder: Any
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u"}}
    recorder.record(node, "Normal", "Seen", "hello")
    await world.rest()
    (event,) = await world.events()
    assert event["metadata"]["namespace"] == "default"


async def test_long_notes_are_cut_and_secrets_left_out(world: World, recorder: Any) -> None:
    recorder.record(OBJ, "Warning", "R" * 500, "token Bearer abc " + "ü" * 2000)
    await world.rest()
    (event,) = await world.events()
    assert len(event["note"].encode()) <= 1024
    assert "abc" not in event["note"]
    assert len(event["reason"]) == 128


async def test_an_event_that_expired_is_made_anew(world: World, recorder: Any) -> None:
    recorder.record(OBJ, "Normal", "Applied", "one")
    await world.rest()
    (event,) = await world.events()
    await world.cluster.client.delete(Event, Key("default", event["metadata"]["name"]))
    await world.rest(1)
    recorder.record(OBJ, "Normal", "Applied", "one")
    await world.rest(11)
    (again,) = await world.events()
    assert again["note"] == "one"
    assert "series" not in again
    assert again["eventTime"] > event["eventTime"]


async def test_a_controller_records_through_its_context(world: World) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(Secret, key)
        ctx.event(found, "Normal", "Seen", f"saw {key}")
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile, name="watcher")) as manager:
        await world.rest(1)
        assert manager.idle()
    (event,) = await world.events()
    assert (event["reportingController"], event["note"]) == ("watcher", "saw default/a")


async def test_every_server_accepts_events_and_their_series(
    cluster: Cluster,
) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        if key == Key(cluster.namespace, "a"):
            ctx.event(cast("Any", ctx.get(Secret, key)), "Normal", "Seen", "looked at it")
        return DONE

    metadata = {"name": "a"}
    await cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    await cluster.settle(Controller(Secret, reconcile, name="looker"))
    await cluster.patch(Secret, "a", {"metadata": {"labels": {"x": "y"}}})
    await cluster.settle()
    await cluster.stop()
    (event,) = [e for e in await cluster.list(Event) if e["reportingController"] == "looker"]
    assert (event["note"], event["series"]["count"]) == ("looked at it", 2)


async def test_events_give_way_to_work_on_a_server_that_is_slow(world: World) -> None:
    """Each takes 0.1 s to write; 0.3 s pass before the next, so that two seconds take five."""
    inner = world.server.transport()

    class Slow:
        stream, close = inner.stream, inner.close

        async def send(self, request: Request) -> Response:
            await asyncio.sleep(0.1)
            return await inner.send(request)

    client = Client(Slow(), clock=world.clock)
    recorder = EventRecorder(client, world.clock, controller="toys", instance="host")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        for number in range(20):
            recorder.record(OBJ, "Normal", f"Reason{number}", "x")
        await asyncio.sleep(2)
        assert len(await world.events()) == 5
        await recorder.flush()  # while the next one waits for its turn
        await asyncio.sleep(6)
        assert len(await world.events()) == 20
        task.cancel()

"""`--wait`: the server tells when something changes, and nothing is asked for again and again."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from certwright.apply import Action, Change, ChangeSet, Direct, Live, ObjectRef
from certwright.cli.apply.wait import not_gone, until_gone, until_healthy
from certwright.cli.errors import UsageError
from certwright.cli.terminal.progress import ProgressLine
from certwright.client import Client
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map, deployment
from certwright.testkit.calls import CallLog, CountingTransport

READY = {
    "status": {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    }
}


class Waiting:
    """A client whose calls are counted, and what is told meanwhile."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.log = CallLog([])
        transport = CountingTransport(cluster.client.transport, self.log)
        self.client = Client(transport, clock=cluster.clock)
        self.direct = Direct(self.client)
        self.told = io.StringIO()
        self.progress = ProgressLine(0, self.told)

    async def stored(self, *objects: JsonObject) -> dict[ObjectRef, Live | None]:
        """Create objects; return how they are."""
        states = {}
        for obj in objects:
            obj["metadata"]["namespace"] = self.cluster.namespace
            await self.cluster.create(obj)
            ref = ObjectRef.of(obj)
            resource = await self.direct.resource(ref.gvk)
            states[ref] = await self.direct.read(resource, ref.key)
        self.log.mark()
        return states

    async def until_healthy(self, states: dict[ObjectRef, Live | None], seconds: int) -> None:
        more = "certwright tree -i app"
        await until_healthy(self.client, states, seconds, self.progress, look_with=more)

    async def ready(self, *names: str) -> None:
        for name in names:
            await self.cluster.patch(Deployment, name, READY, subresource="status")

    @property
    def calls(self) -> Calls:
        return self.log.since_mark()


@pytest.fixture
def waiting(embedded_cluster: EmbeddedCluster) -> Waiting:
    return Waiting(embedded_cluster)


async def test_what_is_healthy_already_costs_no_call(waiting: Waiting) -> None:
    states = await waiting.stored(config_map("a"))
    await waiting.until_healthy(states, 1)
    assert not waiting.calls


async def test_ends_as_soon_as_all_is_healthy(waiting: Waiting) -> None:
    states = await waiting.stored(config_map("a"), deployment("x"), deployment("y"))
    start = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        group.create_task(waiting.until_healthy(states, 600))
        for name in ("x", "y"):
            await asyncio.sleep(100)
            await waiting.ready(name)
    assert asyncio.get_running_loop().time() - start < 201
    assert waiting.calls.by_verb == {"list": 1, "watch": 1}
    first, second = waiting.told.getvalue().splitlines()
    assert first.startswith('waiting for 2 of 3: Deployment "default/x"')
    assert second.startswith('waiting for 1 of 3: Deployment "default/y"')


async def test_what_is_not_healthy_in_time_is_named_with_the_reason(waiting: Waiting) -> None:
    states = await waiting.stored(deployment("x"), deployment("y"))
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(failing(waiting, states))
        await waiting.ready("x")
    message = waits.result()
    assert message.startswith('not healthy after 30 s: Deployment "default/y"')
    assert "default/x" not in message
    assert message.endswith("; to see more, run: certwright tree -i app")


async def failing(waiting: Waiting, states: dict[ObjectRef, Live | None]) -> str:
    with pytest.raises(UsageError) as caught:
        await waiting.until_healthy(states, 30)
    return str(caught.value)


async def test_what_is_deleted_while_it_is_waited_for_is_missed(waiting: Waiting) -> None:
    states = await waiting.stored(deployment("x"))
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(failing(waiting, states))
        await asyncio.sleep(1)
        await waiting.cluster.delete(Deployment, "x")
    assert 'Required Deployment "x" in namespace "default" is missing' in waits.result()


async def test_a_deletion_goes_on_when_something_has_gone(waiting: Waiting) -> None:
    states = await waiting.stored(config_map("held"), config_map("free"), config_map("x"))
    held, free, gone = states
    asked = []

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        asked.append(asyncio.get_running_loop().time())
        left = await waiting.cluster.find(ConfigMap, "held")
        entries = [
            Change(held, Action.BLOCKED, "held")
            if left
            else Change(held, Action.UNCHANGED, "gone"),
            Change(free, Action.UNCHANGED if len(asked) > 1 else Action.DELETED),
            Change(gone, Action.UNCHANGED, "gone"),
        ]
        for entry in entries:
            on_entry(entry, states[held] if entry.action is Action.BLOCKED else None)
        return ChangeSet.of(entries)

    waiting.progress = ProgressLine(3, waiting.told)
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(until_gone(waiting.client, delete, 60, waiting.progress))
        await asyncio.sleep(3)
        await waiting.cluster.delete(ConfigMap, "held")
    told = {entry.ref.name: entry.action for entry in waits.result().entries}
    assert told == {"held": "deleted", "free": "deleted", "x": "unchanged"}
    assert len(asked) == 2
    assert 3 <= asked[1] - asked[0] < 4
    assert waiting.told.getvalue().splitlines() == [
        "[1/3] ConfigMap default/free deleted",
        "[2/3] ConfigMap default/x unchanged: gone",
        "waiting for 1 object to go: ConfigMap default/held: held",
        "[3/3] ConfigMap default/held deleted",
    ]


def blocked(*refs: ObjectRef) -> Callable[..., Awaitable[Any]]:
    """Return a deletion that does not come to an end."""

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        entries = [Change(ref, Action.BLOCKED, "it is held by x") for ref in refs]
        for entry in entries:
            on_entry(entry, None)
        return ChangeSet.of(entries)

    return delete


async def test_what_does_not_go_in_time_is_named(waiting: Waiting) -> None:
    [(ref, _)] = (await waiting.stored(config_map("a"))).items()
    start = asyncio.get_running_loop().time()
    left = await until_gone(waiting.client, blocked(ref), 12, waiting.progress)
    assert 12 <= asyncio.get_running_loop().time() - start < 13
    assert not_gone(left, 12) == "not gone after 12 s: ConfigMap default/a: it is held by x"
    assert waiting.told.getvalue().count("waiting for 1 object to go") == 1


def test_not_all_that_is_left_is_named() -> None:
    refs = [ObjectRef("v1", "ConfigMap", "default", f"m{number}") for number in range(12)]
    text = not_gone(ChangeSet.of(Change(ref, Action.BLOCKED, "held") for ref in refs), 3)
    assert "default/m9: held; and 2 more" in text


async def test_a_kind_that_is_gone_has_no_objects_to_wait_for(waiting: Waiting) -> None:
    toy = ObjectRef("example.com/v1", "Toy", "default", "t")
    rounds = []

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        rounds.append(asyncio.get_running_loop().time())
        action = Action.BLOCKED if len(rounds) == 1 else Action.UNCHANGED
        on_entry(Change(toy, action), Live({"metadata": {}}))
        return ChangeSet.of([Change(toy, action)])

    done = await until_gone(waiting.client, delete, 60, waiting.progress)
    assert [entry.action for entry in done.entries] == ["deleted"]
    assert rounds[1] - rounds[0] < 1


async def test_a_deletion_that_ends_soon_is_not_waited_for_aloud(waiting: Waiting) -> None:
    states = await waiting.stored(config_map("held"))
    (held,) = states

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        left = await waiting.cluster.find(ConfigMap, "held")
        entry = Change(held, Action.BLOCKED if left else Action.UNCHANGED, "held")
        on_entry(entry, states[held])
        return ChangeSet.of([entry])

    async with asyncio.TaskGroup() as group:
        group.create_task(until_gone(waiting.client, delete, 60, waiting.progress))
        await asyncio.sleep(1)
        await waiting.cluster.delete(ConfigMap, "held")
    assert waiting.told.getvalue() == "[1/1] ConfigMap default/held deleted\n"


async def test_an_object_that_waits_for_another_and_is_gone_causes_no_haste(
    waiting: Waiting,
) -> None:
    """Nothing can be done about it before the other one is gone."""
    states = await waiting.stored(config_map("held"))
    (held,) = states
    absent = ObjectRef("v1", "ConfigMap", "default", "absent")
    rounds = []

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        rounds.append(1)
        entries = [Change(held, Action.BLOCKED, "held"), Change(absent, Action.BLOCKED, "waits")]
        for entry in entries:
            on_entry(entry, states.get(entry.ref))
        return ChangeSet.of(entries)

    await until_gone(waiting.client, delete, 12, waiting.progress)
    assert len(rounds) == 4


async def test_what_goes_along_with_its_inventory_is_waited_for_all_the_same(
    waiting: Waiting,
) -> None:
    states = await waiting.stored(config_map("held"))
    (held,) = states
    rounds = []

    async def delete(on_entry: Callable[..., Any]) -> ChangeSet:
        rounds.append(1)
        if len(rounds) > 1:
            return ChangeSet()
        on_entry(Change(held, Action.BLOCKED, "held"), states[held])
        return ChangeSet.of([Change(held, Action.BLOCKED, "held")])

    async with asyncio.TaskGroup() as group:
        waits = group.create_task(until_gone(waiting.client, delete, 60, waiting.progress))
        await asyncio.sleep(7)
        await waiting.cluster.delete(ConfigMap, "held")
    assert [entry.action for entry in waits.result().entries] == ["deleted"]

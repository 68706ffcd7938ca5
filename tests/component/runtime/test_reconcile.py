"""What a controller does on a server: write what differs, once, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec import Struct
from tests.component.runtime.conftest import Toys, World

from certwright.client import Client, Request, Transport
from certwright.client.transport import Stream
from certwright.kube import AlreadyExists, JsonObject, Key, Object
from certwright.kube.kinds import ConfigMap, Deployment, Secret, ServiceAccount
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Effect,
    Manager,
    Outcome,
    again,
    mapped,
    select,
)
from certwright.runtime.cache.entries import Entry
from certwright.testkit import Cluster


@pytest.fixture
async def toybox(cluster: Cluster, toy: Toys) -> Cluster:
    """A cluster that knows toys: the embedded one, and the real one when asked for."""
    await cluster.install(toy.crd)
    return cluster


def child(name: str, **data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def keeper(toy: Toys) -> Controller:
    """Keeps one ConfigMap with the toy's data, and says so in its status."""

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is not None:
            await ctx.apply(child(key.name, **found["spec"]), owner=found)
            await ctx.status(found, {"kept": len(found["spec"])})
        return DONE

    return Controller(toy.resource, reconcile, owns=[ConfigMap])


async def test_one_write_per_object_and_none_afterwards(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red"))
    assert (await toybox.settle(keeper)).writes == 2
    assert (await toybox.get(ConfigMap, "a"))["data"] == {"color": "red"}
    assert (await toybox.get(toy.resource, "a"))["status"] == {"kept": 1}
    assert (await toybox.settle()).writes == 0


async def test_no_read_ever(toybox: Cluster, toy: Toys, keeper: Controller) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    assert toybox.calls.reads == 0


async def test_a_change_costs_what_changed(toybox: Cluster, toy: Toys, keeper: Controller) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.patch(toy.resource, "a", {"spec": {"color": "blue"}})
    assert (await toybox.settle()).writes == 1
    assert (await toybox.get(ConfigMap, "a"))["data"] == {"color": "blue"}


async def test_a_field_no_longer_wanted_disappears(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red", size="big"))
    await toybox.settle(keeper)
    await toybox.patch(toy.resource, "a", {"spec": {"size": None}})
    await toybox.settle()
    assert (await toybox.get(ConfigMap, "a"))["data"] == {"color": "red"}


async def test_drift_is_repaired_and_fields_of_others_survive(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.patch(ConfigMap, "a", {"data": {"color": "drift", "foreign": "kept"}})
    assert (await toybox.settle()).writes == 1
    assert (await toybox.get(ConfigMap, "a"))["data"] == {"color": "red", "foreign": "kept"}


async def test_a_change_in_fields_of_others_costs_nothing(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.patch(ConfigMap, "a", {"data": {"foreign": "new"}})
    assert (await toybox.settle()).writes == 0


async def test_a_deleted_child_comes_back(toybox: Cluster, toy: Toys, keeper: Controller) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.delete(ConfigMap, "a")
    assert (await toybox.settle()).writes == 1
    assert await toybox.names(ConfigMap) >= {"a"}


async def test_a_restart_with_nothing_remembered_writes_nothing(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    assert (await toybox.restart()).writes == 0


async def test_a_restart_notices_fields_that_are_no_longer_wanted(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red", size="big"))
    await toybox.settle(keeper)
    await toybox.stop()
    await toybox.patch(toy.resource, "a", {"spec": {"size": None}})
    await toybox.settle(keeper)
    assert (await toybox.get(ConfigMap, "a"))["data"] == {"color": "red"}


async def test_a_restart_notices_that_somebody_took_a_list_over(toybox: Cluster, toy: Toys) -> None:
    """Tolerations are one atomic list: who adds to it owns it, and still leaves ours in it."""

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is not None:
            labels = {"app": key.name}
            pod = {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
                "tolerations": [{"key": "ours", "operator": "Exists"}],
            }
            template = {"metadata": {"labels": labels}, "spec": pod}
            spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
            kind = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": key.name}}
            await ctx.apply({**kind, "spec": spec}, owner=found)
        return DONE

    controller = Controller(toy.resource, reconcile, owns=[Deployment])
    await toybox.create(toy("a"))
    await toybox.settle(controller)
    assert (await toybox.restart()).writes == 0
    await toybox.stop()
    both = [{"key": "ours", "operator": "Exists"}, {"key": "theirs", "operator": "Exists"}]
    pod = {"spec": {"template": {"spec": {"tolerations": both}}}}
    await toybox.patch(Deployment, "a", pod)
    await toybox.settle(controller)
    pod = (await toybox.get(Deployment, "a"))["spec"]["template"]["spec"]
    assert [toleration["key"] for toleration in pod["tolerations"]] == ["ours"]


async def test_children_go_with_their_owner(toybox: Cluster, toy: Toys, keeper: Controller) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.delete(toy.resource, "a")
    await toybox.gone(ConfigMap, "a")
    await toybox.settle()
    assert "a" not in await toybox.names(ConfigMap)


async def test_a_tampered_status_is_put_right(
    toybox: Cluster, toy: Toys, keeper: Controller
) -> None:
    await toybox.create(toy("a", color="red"))
    await toybox.settle(keeper)
    await toybox.patch(toy.resource, "a", {"status": {"kept": 99}}, subresource="status")
    assert (await toybox.settle()).writes == 1
    assert (await toybox.get(toy.resource, "a"))["status"] == {"kept": 1}


async def test_what_was_written_is_read_back_at_once(toybox: Cluster, toy: Toys) -> None:
    seen = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is None:
            return DONE
        if await ctx.apply(child("echo", n="1"), owner=found) is Effect.WRITTEN:
            seen.append(cast("Any", ctx.get(ConfigMap, Key(key.namespace, "echo")))["data"])
            await ctx.status(found, {"phase": "one"})
            seen.append(cast("Any", ctx.get(toy.resource, key))["status"])
            await ctx.status(found, {"phase": "two"})
        return DONE

    await toybox.create(toy("a"))
    await toybox.settle(Controller(toy.resource, reconcile, owns=[ConfigMap]))
    assert seen == [{"n": "1"}, {"phase": "one"}]
    assert (await toybox.get(toy.resource, "a"))["status"] == {"phase": "two"}


async def test_a_finalizer_holds_the_object_until_the_work_outside_is_undone(
    toybox: Cluster, toy: Toys
) -> None:
    outside = set()

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is None:
            return DONE
        if "deletionTimestamp" in found["metadata"]:
            outside.discard(key.name)
            await ctx.release(found, "toys.certwright.dev/outside")
            return DONE
        await ctx.hold(found, "toys.certwright.dev/outside")
        outside.add(key.name)
        return DONE

    controller = Controller(toy.resource, reconcile)
    await toybox.create(toy("a"))
    assert (await toybox.settle(controller)).writes == 1
    assert outside == {"a"}
    await toybox.delete(toy.resource, "a")
    assert (await toybox.settle()).writes == 1
    assert outside == set()
    assert await toybox.names(toy.resource) == set()


async def test_mapped_kinds_wake_whom_they_concern(toybox: Cluster, toy: Toys) -> None:
    woken = []

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        woken.append(key.name)
        return DONE

    def users(entry: Entry) -> list[Key]:
        return [Key(entry.key.namespace, f"{entry.key.name}-user")]

    secrets = select(Secret, namespace=toybox.namespace)
    controller = Controller(toy.resource, reconcile, watches=[mapped(secrets, users)])
    await toybox.settle(controller)
    await toybox.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    await toybox.settle()
    assert woken == ["s-user"]


async def test_deleting_what_changed_meanwhile_is_a_conflict_and_settles(
    toybox: Cluster, toy: Toys
) -> None:
    attempts = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is None:
            return DONE
        attempts.append(found["spec"])
        if len(attempts) == 1:
            await ctx.client.patch(toy.resource, key, {"spec": {"touched": True}})
        await ctx.delete(found)
        return DONE

    await toybox.create(toy("a"))
    await toybox.settle(Controller(toy.resource, reconcile))
    assert attempts[0] == {}
    assert attempts[-1] == {"touched": True}
    assert await toybox.names(toy.resource) == set()


async def test_a_conflict_is_not_repeated_while_the_cache_is_late(
    world: World, metric: Callable[..., float]
) -> None:
    attempts = []

    async def reconcile(ctx: Context, key: Key) -> Any:
        found: Any = ctx.get(Secret, key)
        attempts.append(found["metadata"]["resourceVersion"])
        if len(attempts) == 1:
            await ctx.client.patch(Secret, key, {"metadata": {"labels": {"touched": "yes"}}})
        found["metadata"]["resourceVersion"] = attempts[0]  # as if the event never came
        await ctx.delete(found)
        return DONE

    await world.secrets("a")
    async with world.running(Controller(Secret, reconcile)) as manager:
        await world.rest(4)
        refused = {"code": "409", "method": "DELETE", "host": ""}
        assert len(attempts) > 8, "it was tried all the time"
        assert metric(manager, "rest_client_requests_total", **refused) == 1
        await world.rest(20)
        assert metric(manager, "rest_client_requests_total", **refused) > 1, "not believed forever"


@pytest.mark.parametrize("lost", ["MODIFIED", "DELETED"])
async def test_an_event_that_was_lost_is_made_up_for_when_a_write_runs_into_it(
    world: World, lost: str
) -> None:
    """The connection lives on, so nothing but the refusal tells that the cache is wrong."""
    seen = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(Secret, key)
        labels = {} if found is None else found["metadata"].get("labels") or {}
        seen.append("gone" if found is None else labels.get("touched", "no"))
        if found is not None and ctx.clock.monotonic() - started > 2:
            await ctx.hold(found, "demo.certwright.dev/f")
        return again(after=3)

    await world.secrets("a")
    started = world.clock.monotonic()
    client = Client(Forgetful(world.server.transport(), lost), clock=world.clock)
    manager = Manager(client, [Controller(Secret, reconcile)], clock=world.clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await world.rest(1)
        key = Key("default", "a")
        if lost == "MODIFIED":
            await world.cluster.client.patch(
                Secret, key, {"metadata": {"labels": {"touched": "yes"}}}
            )
        else:
            await world.cluster.client.delete(Secret, key)
        await world.rest(30)
        manager.stop()
    assert seen[-1] == ("yes" if lost == "MODIFIED" else "gone")
    assert "no" in seen, "the event was lost"


async def test_what_was_deleted_is_not_read_any_more_whatever_the_server_returns(
    toybox: Cluster, toy: Toys
) -> None:
    """Of some kinds the answer to a deletion is the object that is gone."""
    left = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        account = ctx.get(ServiceAccount, key)
        if account is not None and key.name == "robot":
            await ctx.delete(account)
            left.append(ctx.get(ServiceAccount, key))
        return DONE

    kind = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await toybox.create({**kind, "metadata": {"name": "robot"}})
    accounts = select(ServiceAccount, namespace=toybox.namespace)
    await toybox.settle(Controller(accounts, reconcile))
    assert left == [None]
    assert "robot" not in await toybox.names(ServiceAccount)


class Forgetful:
    """A transport whose watches lose the first event of a type."""

    def __init__(self, transport: Transport, lost: str) -> None:
        self._transport = transport
        self._lost = lost.encode()
        self.send = transport.send
        self.close = transport.close

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Any]:
        async with self._transport.stream(request) as stream:
            yield self._Stream(stream, self._lost)

    class _Stream:
        def __init__(self, stream: Stream, lost: bytes) -> None:
            self.status, self.headers = stream.status, stream.headers
            self._stream, self._lost = stream, lost

        async def chunks(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream.chunks():
                lines = chunk.splitlines(keepends=True)
                if any(line.startswith(b'{"type":"' + self._lost) for line in lines):
                    self._lost, lines = b"nothing more", []
                yield b"".join(lines)


async def test_the_status_may_follow_an_apply_to_the_same_object(
    toybox: Cluster, toy: Toys
) -> None:
    calls = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        label = {"metadata": {"namespace": key.namespace, "name": key.name, "labels": {"a": "b"}}}
        calls.append(await ctx.apply({**toy.kind, **label}))
        await ctx.status(found, {"phase": "labelled"})
        return DONE

    await toybox.create(toy("a"))
    assert (await toybox.settle(Controller(toy.resource, reconcile))).writes == 2
    assert calls[0] is Effect.WRITTEN
    assert (await toybox.get(toy.resource, "a"))["status"] == {"phase": "labelled"}


async def test_an_object_of_the_wrong_shape_is_reported_and_holds_nobody_up(
    world: World, toy: Toys
) -> None:
    class ToySpec(Struct):
        size: int = 0

    class Toy(Object):
        resource = toy.resource
        spec: ToySpec

    done = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        done.append((key.name, cast("Any", ctx.get(Toy, key)).spec.size))
        return DONE

    await world.cluster.install(toy.crd)
    await world.cluster.create(toy("bad", size="huge"))
    await world.cluster.create(toy("good", size=3))
    async with world.running(Controller(Toy, reconcile)) as manager:
        await world.rest(600)
        assert done == [("good", 3)]
        assert manager.idle()
        await world.cluster.patch(toy.resource, "bad", {"spec": {"size": 4}})
        await world.rest(1)
        assert done == [("good", 3), ("bad", 4)]
    (event,) = await world.events()
    assert event["regarding"]["name"] == "bad"
    assert "Toy default/bad" in event["note"]
    assert "spec.size" in event["note"]
    assert "series" not in event, "it was tried once, not over and over"


async def test_a_status_based_on_an_old_version_is_never_written(
    toybox: Cluster, toy: Toys
) -> None:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if "late" not in found["spec"]:
            await ctx.client.patch(toy.resource, key, {"spec": {"late": "change"}})
            while "late" not in cast("Any", ctx.get(toy.resource, key))["spec"]:
                await asyncio.sleep(0.1)
        await ctx.status(found, {"seen": found["spec"]})
        return DONE

    await toybox.create(toy("a"))
    calls = await toybox.settle(Controller(toy.resource, reconcile))
    assert (await toybox.get(toy.resource, "a"))["status"] == {"seen": {"late": "change"}}
    assert calls.writes == 2, "the change and one status; not even a refused one"


async def test_what_the_server_names_is_made_once(toybox: Cluster, toy: Toys) -> None:
    """However late the watch is, the next pass sees what was created."""
    refused: list[str] = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found: Any = ctx.get(toy.resource, key)
        if found is not None and not ctx.owned(ConfigMap, found):
            unnamed = {**child(""), "metadata": {"generateName": f"{key.name}-"}}
            made = await ctx.create(unnamed, owner=found)
            assert [each["metadata"]["name"] for each in ctx.owned(ConfigMap, found)] == [
                made["metadata"]["name"]
            ]
            try:
                await ctx.create(child(made["metadata"]["name"]), owner=found)
            except AlreadyExists as error:
                refused.append(error.status_reason)
        return DONE

    controller = Controller(toy.resource, reconcile, owns=[ConfigMap])
    await toybox.create(toy("a"))
    assert (await toybox.settle(controller)).writes == 2
    assert len([name for name in await toybox.names(ConfigMap) if name.startswith("a-")]) == 1
    assert refused == ["AlreadyExists"]

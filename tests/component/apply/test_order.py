"""What needs what: definitions and namespaces first, failures that keep nobody else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apply.conftest import Bench, Toys

from certwright.apply import Action
from certwright.kube import Forbidden, InternalError, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Namespace
from certwright.testkit.builders import config_map, deployment, namespace, secret


def in_namespace(name: str, obj: JsonObject) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": name}}


@pytest.mark.scenario("MR-46")
async def test_a_definition_and_its_resources_arrive_in_one_pass(bench: Bench, toy: Toys) -> None:
    objects = [bench.placed(toy("a", size=1)), toy.crd()]
    changes = await bench.apply_as_is(*objects)
    assert bench.told(changes) == {
        "CustomResourceDefinition/toys.toys.certwright.dev": "created",
        "Toy/a": "created",
    }
    assert (await bench.cluster.get(toy.resource, "a"))["spec"] == {"size": 1}
    with bench.counted() as calls:
        await bench.apply_as_is(*objects)
    assert calls[0].writes == 0


@pytest.mark.scenario("MR-47")
async def test_an_unknown_kind_fails_alone_and_works_once_it_is_known(
    bench: Bench, toy: Toys
) -> None:
    changes = await bench.apply(toy("a"), config_map("c"))
    failure = next(e for e in changes.entries if e.ref.kind == "Toy")
    assert failure.action is Action.FAILED
    place = f"toys.certwright.dev/v1/Toy/{bench.cluster.namespace}/a"
    assert failure.reason.startswith(
        f'error during apply of object "{place}": no matches for kind "Toy" in version '
        '"toys.certwright.dev/v1"'
    )
    assert bench.told(changes)["ConfigMap/c"] == "created"
    await bench.cluster.install(toy.crd())
    await asyncio.sleep(5)  # a client does not ask for unknown kinds all the time
    changes = await bench.apply(toy("a"), config_map("c"))
    assert changes.complete, str(changes)


async def test_a_namespace_and_what_is_in_it_arrive_in_one_pass(bench: Bench) -> None:
    name = f"{bench.cluster.namespace}-inner"
    inside = in_namespace(name, config_map("c"))
    changes = await bench.apply_as_is(inside, namespace(name))
    assert bench.told(changes) == {f"Namespace/{name}": "created", "ConfigMap/c": "created"}


async def test_what_waits_for_a_namespace_on_its_way_out_says_so(embedded_bench: Bench) -> None:
    bench = embedded_bench
    held = namespace("going", finalizers=["example.com/hold"])
    await bench.apply_as_is(held)
    await bench.cluster.delete(Namespace, "going")
    with bench.counted() as calls:
        changes = await bench.apply_as_is(held, in_namespace("going", config_map("c")))
    assert {e.action for e in changes.entries} == {Action.BLOCKED}
    assert "waits for Namespace going" in changes.entries[1].reason
    assert calls[0].writes == 0


async def test_what_waits_for_a_definition_that_cannot_be_says_so(bench: Bench, toy: Toys) -> None:
    broken = toy.crd()
    broken["spec"]["versions"][0]["storage"] = False
    changes = await bench.apply_as_is(broken, bench.placed(toy("a")))
    assert bench.told(changes) == {
        "CustomResourceDefinition/toys.toys.certwright.dev": "failed",
        "Toy/a": "blocked",
    }


@pytest.mark.scenario("MR-48")
async def test_one_failure_keeps_nobody_else_and_all_failures_are_told(bench: Bench) -> None:
    refused = {"bad-1", "bad-2"}
    apply = bench.direct.apply

    async def guarded(resource: Resource, obj: JsonObject, **options: bool) -> Any:
        if obj["metadata"]["name"] in refused:
            raise Forbidden(f'configmaps "{obj["metadata"]["name"]}" is forbidden')
        return await apply(resource, obj, **options)

    bench.direct.apply = guarded
    names = ["bad-1", "good-1", "bad-2", "good-2"]
    changes = await bench.apply(*map(config_map, names), deployment("d"))
    assert {e.ref.name for e in changes.with_action(Action.FAILED)} == refused
    assert await bench.cluster.names(ConfigMap) >= {"good-1", "good-2"}
    assert all("is forbidden" in e.reason for e in changes.with_action(Action.FAILED))
    assert bench.told(changes)["Deployment/d"] == "created"


@pytest.mark.scenario("MR-49")
async def test_kinds_come_in_their_order(bench: Bench) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    objects = [deployment("d"), config_map("b"), config_map("a"), secret("s"), account]
    await bench.apply(*objects, concurrency=1)
    written = [r.path.rsplit("/", 2)[1:] for r in bench.log.all() if r.verb == "patch"]
    assert written == [
        ["serviceaccounts", "sa"],
        ["secrets", "s"],
        ["configmaps", "a"],
        ["configmaps", "b"],
        ["deployments", "d"],
    ]


async def test_the_same_object_twice_is_one_and_in_two_forms_is_an_error(bench: Bench) -> None:
    same, other = config_map("a", {"k": "1"}), config_map("a", {"k": "2"})
    assert len((await bench.apply(same, same)).entries) == 1
    with bench.counted() as calls:
        changes = await bench.apply(other, same)
    assert [e.action for e in changes.entries] == [Action.FAILED]
    assert calls[0].writes == 0


async def test_each_object_is_told_as_soon_as_it_is_done(bench: Bench) -> None:
    seen = []
    await bench.apply(
        config_map("a"), deployment("d"), on_entry=lambda entry, live: seen.append((entry, live))
    )
    assert [entry.ref.kind for entry, _ in seen] == ["ConfigMap", "Deployment"]
    assert all(live.uid for _, live in seen)


async def test_many_objects_do_not_hold_up_the_loop(bench: Bench) -> None:
    objects = [config_map(f"c{i}") for i in range(40)]
    await bench.apply(*objects)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def cached(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return seen[key]

    seen = {}
    for obj in objects:
        key = bench.cluster.key(ConfigMap, obj["metadata"]["name"])
        seen[key] = await bench.direct.read(ConfigMap, key)
    bench.direct.read = cached
    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count())
        await bench.apply(*objects, concurrency=1)
        counting.cancel()
    assert turns >= 40


async def test_definitions_are_only_waited_for_while_they_are_new(bench: Bench, toy: Toys) -> None:
    await bench.apply_as_is(toy.crd())
    live = await bench.cluster.get(CustomResourceDefinition, toy.resource.qualified)
    assert any(c["type"] == "Established" for c in live["status"]["conditions"])
    with bench.counted() as calls:
        await bench.apply_as_is(toy.crd())
    assert calls[0].reads == 1


@pytest.mark.parametrize("young", [True, False], ids=["new", "old"])
async def test_a_kind_the_server_does_not_know_everywhere_yet_is_tried_again(
    bench: Bench, toy: Toys, *, young: bool
) -> None:
    """Right after a definition is established some parts of a server still answer 404."""
    if not young:
        await bench.cluster.install(toy.crd())
    apply = bench.direct.apply
    refused: list[Any] = []

    async def late(resource: Resource, obj: JsonObject, **options: bool) -> Any:
        if resource.kind == "Toy" and len(refused) < 2:
            refused.append(resource)
            raise NotFound("the server could not find the requested resource")
        return await apply(resource, obj, **options)

    bench.direct.apply = late
    objects = [bench.placed(toy("a")), *([toy.crd()] if young else [])]
    changes = await bench.apply_as_is(*objects)
    assert bench.told(changes)["Toy/a"] == ("created" if young else "failed")
    assert len(refused) == (2 if young else 1)


async def test_a_definition_nobody_can_tell_about_keeps_nobody_else(
    bench: Bench, toy: Toys
) -> None:
    asked = []

    async def broken(resource: Resource, *_: float | Callable[..., Any] | Key) -> None:
        asked.append(resource)
        raise InternalError("etcdserver: leader changed")

    bench.direct.until = broken
    changes = await bench.apply_as_is(toy.crd(), bench.placed(config_map("c")))
    assert asked == [CustomResourceDefinition]
    assert set(bench.told(changes).values()) == {"created"}

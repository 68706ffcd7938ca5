"""Clusters that begin with the same definitions have them from each other, and share nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from certwright.kube import Invalid, JsonObject
from certwright.kube.kinds import CustomResourceDefinition
from certwright.testkit import Cluster, EmbeddedCluster, VirtualLoop
from certwright.testkit.faults.endstate import differences, end_state

NAME = "toys.example.com"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object"}}}


def definition(plural: str = "toys", kind: str = "Toy", **names: object) -> JsonObject:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, **names},
            "versions": [version],
        },
    }


def toy(name: str) -> JsonObject:
    return {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": name}, "spec": {}}


@pytest.fixture
def embedded() -> Callable[..., Any]:
    """Run a coroutine on a cluster, in virtual time of its own."""

    def play(body: Callable[..., Awaitable[Any]], seed: int = 0) -> Any:
        async def main() -> Any:
            async with EmbeddedCluster(seed=seed) as cluster:
                return await body(cluster)

        with asyncio.Runner(loop_factory=partial(VirtualLoop, seed)) as runner:
            return runner.run(main())

    return play


def test_at_once_or_the_long_way_it_is_the_same(embedded: Callable[..., Any]) -> None:
    async def at_once(cluster: EmbeddedCluster) -> list[JsonObject]:
        await cluster.install(definition())
        await cluster.create(toy("a"))
        return list(cluster.server.objects())

    async def the_long_way(cluster: EmbeddedCluster) -> list[JsonObject]:
        await Cluster.install(cluster, definition())
        await cluster.create(toy("a"))
        return list(cluster.server.objects())

    short, long = embedded(at_once, seed=1), embedded(the_long_way, seed=2)
    assert differences(end_state(short), end_state(long)) == []
    owners = [
        [{**entry, "time": ""} for entry in obj["metadata"]["managedFields"]]
        for objects in (short, long)
        for obj in objects
        if obj["kind"] == "CustomResourceDefinition"
    ]
    assert owners[0] == owners[1]


def test_each_has_its_own_uids_and_times(embedded: Callable[..., Any]) -> None:
    async def body(cluster: EmbeddedCluster) -> str:
        await cluster.install(definition())
        now = cluster.clock.now()
        found = await cluster.get(CustomResourceDefinition, NAME)
        times = {each["lastTransitionTime"] for each in found["status"]["conditions"]}
        times |= {each["time"] for each in found["metadata"]["managedFields"]}
        assert times == {found["metadata"]["creationTimestamp"]}
        assert times == {now.strftime("%Y-%m-%dT%H:%M:%SZ")}
        value: str = found["metadata"]["uid"]
        return value

    assert embedded(body, seed=1) != embedded(body, seed=2)


def test_what_one_changes_no_other_sees(embedded: Callable[..., Any]) -> None:
    async def change(cluster: EmbeddedCluster) -> None:
        await cluster.install(definition())
        await cluster.patch(CustomResourceDefinition, NAME, {"metadata": {"labels": {"a": "b"}}})
        names = {"spec": {"names": {"shortNames": ["t"]}}}
        await cluster.patch(CustomResourceDefinition, NAME, names)

    async def look(cluster: EmbeddedCluster) -> JsonObject:
        await cluster.install(definition())
        return await cluster.get(CustomResourceDefinition, NAME)

    before = embedded(look)
    embedded(change)
    assert embedded(look) == before


def test_names_that_are_taken_stay_with_who_has_them(embedded: Callable[..., Any]) -> None:
    async def body(cluster: EmbeddedCluster) -> JsonObject:
        await cluster.install(definition())
        await cluster.client.apply(definition("games", "Toy", singular="game", listKind="Games"))
        found = await cluster.get(CustomResourceDefinition, "games.example.com")
        return {each["type"]: each["status"] for each in found["status"]["conditions"]}

    assert embedded(body) == {"NamesAccepted": "False", "Established": "False"}


def test_a_definition_of_a_group_that_has_others_goes_the_long_way(
    embedded: Callable[..., Any],
) -> None:
    async def body(cluster: EmbeddedCluster) -> set[str]:
        await cluster.install(definition())
        assert not cluster.server.define([definition("games", "Game")], "test")
        await cluster.install(definition("games", "Game"))
        return await cluster.names(CustomResourceDefinition)

    assert embedded(body) == {NAME, "games.example.com"}


def test_a_definition_that_is_wrong_is_refused(embedded: Callable[..., Any]) -> None:
    async def body(cluster: EmbeddedCluster) -> set[Any]:
        wrong = definition()
        wrong["metadata"]["name"] = "other.example.com"
        with pytest.raises(Invalid, match=r"must be spec\.names\.plural"):
            await cluster.install(wrong)
        return await cluster.names(CustomResourceDefinition)

    assert embedded(body) == set()

"""What scenarios of ManagedResources are made of, and what is watched while they run."""

import base64
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
from msgspec.structs import replace

from certwright.api.managedresources import ManagedResource
from certwright.kube import JsonObject, NotFound
from certwright.kube.kinds import ConfigMap, Secret
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.operators.managedresource.configuration import Controllers
from certwright.runtime import Operator
from certwright.testkit import EmbeddedCluster, survives
from certwright.testkit.faults.faults import At, Crash, Refuse
from certwright.testkit.faults.replay import Replay
from certwright.testkit.faults.simulation import Scenario

MR = ManagedResource.resource
PREFIX = "resources.gardener.cloud"
OURS = "resources.certwright.dev"
HELD = "example.com/held"
PASSING = ["ManagedResource.metadata.annotations"]
"""What was intended at first depends on when the first look was taken."""
LONG = Replay.is_campaign()
"""Whether somebody asked for a campaign: then every combination is tried, however long it takes."""


def operator(resource_class: str = "resources") -> Operator:
    controllers = replace(Controllers(), resource_class=resource_class)
    return resource_operator(replace(Configuration(), controllers=controllers))


def config(
    name: str, text: str = "one", *, annotations: Any = None, labels: Any = None, **fields: Any
) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    if annotations:
        metadata["annotations"] = annotations
    if labels:
        metadata["labels"] = labels
    data = {"text": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def secret(name: str, *objects: Any) -> JsonObject:
    text = b"\n".join(
        obj.encode() if isinstance(obj, str) else orjson.dumps(obj) for obj in objects
    )
    data = {"objects": base64.b64encode(text).decode()} if objects else {}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def unit(name: str, *secrets: Any, annotations: Any = None, **spec: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "annotations": annotations or {}}
    references = [{"name": reference} for reference in secrets or (name,)]
    kind = {"apiVersion": MR.api_version, "kind": MR.kind}
    return {**kind, "metadata": metadata, "spec": {"secretRefs": references, **spec}}


def job(name: str, image: Any, *, annotations: Any) -> JsonObject:
    container = {"name": "main", "image": image}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def gizmo(name: str) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": metadata, "spec": {}}


ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GIZMOS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gizmos.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Gizmo", "plural": "gizmos", "singular": "gizmo"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANYTHING}}},
            }
        ],
    },
}


async def declare(cluster: EmbeddedCluster, name: str, *objects: Any, **spec: Any) -> None:
    await cluster.create(secret(name, *objects))
    await cluster.create(unit(name, **spec))


async def rewrite(cluster: EmbeddedCluster, name: str, *objects: Any) -> None:
    await cluster.patch(Secret, name, {"data": {"objects": None, **secret(name, *objects)["data"]}})


async def annotate(cluster: EmbeddedCluster, name: str, **annotations: Any) -> None:
    await cluster.patch(MR, name, {"metadata": {"annotations": annotations}})


async def done(cluster: EmbeddedCluster) -> None:
    """Let everything be done that is possible: what comes next presupposes it.

    `settle` is content when nothing moves, which may be because all wait for a second attempt.
    """
    await cluster.advance(minutes=6)  # longer than any back-off


async def add_to_all(cluster: EmbeddedCluster) -> None:
    """Let another client add what is not declared to every object that is kept."""
    kept = await cluster.client.list(ConfigMap, "default", labels=f"{PREFIX}/managed-by=gardener")
    addition = {"data": {"theirs": "1"}, "binaryData": {"theirs.bin": "AAAA"}}
    for obj in kept.items:
        name = obj["metadata"]["name"]
        if name != "bystander" and not obj.get("immutable"):
            with suppress(NotFound):
                await cluster.patch(ConfigMap, name, addition)


async def add_to_steady(cluster: EmbeddedCluster) -> None:
    """Let another client add what is not declared to the object that is wanted all the time."""
    with suppress(NotFound):
        await cluster.patch(ConfigMap, "steady", {"data": {"theirs": "1"}})


# Watching


def uids_of(name: str, cluster: EmbeddedCluster) -> Any:
    """Return a set that is told the uid of each ConfigMap of this name there ever is."""
    uids = set()

    def note(_old: Any, new: Any) -> None:
        if new is not None and new["kind"] == "ConfigMap" and new["metadata"]["name"] == name:
            uids.add(new["metadata"]["uid"])

    cluster.server.on_change(note)
    return uids


def watched(play: Scenario) -> Any:
    """Return a scenario during which nothing may be lost."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        await cluster.settle()  # which also installs the definition
        uids = uids_of("steady", cluster)
        marks = {f"{PREFIX}/origin": "default/somebody-else"}
        labels = {f"{PREFIX}/managed-by": "gardener"}
        await cluster.create(config("bystander", annotations=marks, labels=labels))
        before = (await cluster.get(ConfigMap, "bystander"))["metadata"]["resourceVersion"]
        await play(cluster)
        await done(cluster)
        after = (await cluster.get(ConfigMap, "bystander"))["metadata"]["resourceVersion"]
        assert after == before, "a foreign object was touched"
        assert len(uids) == 1, "an object that is wanted all the time was replaced"

    scenario.__name__ = play.__name__
    return scenario


# Tortures


def crash_in_turn(calm: Any) -> Iterator[Any]:
    """Kill the process once at each write: before it has the answer, and right after, in turn.

    What a process learns of an answer dies with it, so that both leave the same behind.
    """
    for number in range(1, calm.writes + 1):
        yield At(writes={number: Crash(answered=number % 2 == 0)})


def restart_into_the_past(calm: Any) -> Iterator[Any]:
    """Kill the process at each write; show its successor the latest past and the earliest in turn."""
    for number, seen in enumerate(calm.seen_at_write, start=1):
        yield At(writes={number: Crash(behind=seen if number % 2 else 1)})


def refuse_in_turn(calm: Any) -> Iterator[Any]:
    """Refuse each write once, each in another way."""
    faults = [Refuse(409), Refuse(429, retry_after_seconds=1), Refuse(500), Refuse(503)]
    for number in range(1, calm.writes + 1):
        yield At(writes={number: faults[number % len(faults)]})


def survive(
    play: Scenario, *tortures: Any, operators: Any = None, most: Any = None, **budget: int
) -> Any:
    """Play a scenario under tortures; return how often. It needs the operator, or more than that."""
    chosen = operators or operator()
    return survives(watched(play), chosen, *tortures, ignore=PASSING, most=most, **budget)

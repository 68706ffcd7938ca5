"""Our workload controllers against those of kube-controller-manager: random traces, step by step.

Each trace is played on the embedded server in virtual time, and on the real control plane, where
kube-controller-manager does what ours do here. Pods are played by the same code on both. After each
step the real side has to come to the state that the embedded side rests in. What is not compared is
in `DIFFERENCES`. For a longer look, give ``--certwright-seeds`` a number of traces per kind.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.contract.workload_traces import (
    COMPARED,
    POLICIES,
    TRACES,
    Step,
    Trace,
    normalized,
    trace_of,
)

from certwright.client import Client, Propagation, connect
from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import Node, Pod
from certwright.runtime import Manager
from certwright.testkit import EmbeddedCluster, VirtualLoop
from certwright.testkit.actors import workload_controllers
from certwright.testkit.actors.pods import played_node
from certwright.testkit.controlplane import control_plane
from certwright.testkit.controlplane.flags import CONTROLLERS, WORKLOAD_CONTROLLERS

SEEDS = int(os.environ.get("CERTWRIGHT_SEEDS") or 6)
START = int(os.environ.get("CERTWRIGHT_TRACE_SEED", "0"))
AT_ONCE = int(os.environ.get("CERTWRIGHT_TRACES_AT_ONCE") or 6)
PATIENCE_SECONDS = 90.0
LATER_SECONDS = 45.0
"""How long the embedded side is left alone after a step: longer than what a trace waits for."""
NODES = ({"name": "one"}, {"name": "two"})


class Side:
    """One server on which a trace is played."""

    def __init__(self, client: Client, namespace: str, trace: Trace) -> None:
        self.client = client
        self.namespace = namespace
        self.trace = trace
        self.key = Key(namespace, "w")

    async def begin(self) -> None:
        for manifest in (*self.trace.others, self.trace.manifest):
            placed = {**manifest["metadata"], "namespace": self.namespace}
            await self.client.create({**manifest, "metadata": placed})

    async def do(self, step: Step) -> None:
        """Carry out a step; one that cannot be is none, as long as it is none on both sides."""
        match step.verb:
            case "patch":
                try:
                    await self.client.patch(self.trace.kind, self.key, step.body)
                except NotFound:
                    return
            case "delete-pod" | "release-pod":
                await self._touch_pod(step)
            case "orphan":
                await self._orphan()

    async def _touch_pod(self, step: Step) -> None:
        pods = [pod for pod in await self._list(Pod) if pod["metadata"].get("ownerReferences")]
        crowd = Counter(pod["spec"].get("nodeName") for pod in pods)
        pods.sort(key=lambda pod: (*_worth(pod), crowd[pod["spec"].get("nodeName")]))
        if not pods:
            return
        key = Key(self.namespace, pods[step.body % len(pods)]["metadata"]["name"])
        if step.verb == "delete-pod":
            await self.client.delete(Pod, key)
        else:
            await self.client.patch(Pod, key, {"metadata": {"labels": {"app": "released"}}})

    async def _orphan(self) -> None:
        """Delete the workload, leave what it owns, and create it again, which adopts it."""
        try:
            found = await self.client.get(self.trace.kind, self.key)
            await self.client.delete(self.trace.kind, self.key, propagation=Propagation.ORPHAN)
        except NotFound:
            return
        while True:
            try:
                await self.client.get(self.trace.kind, self.key)
            except NotFound:
                break
            await asyncio.sleep(0.05)
        kept = {"name": "w", "namespace": self.namespace}
        again = {**found, "metadata": kept}
        again.pop("status", None)
        await self.client.create(again)

    async def state(self) -> list[Any]:
        kinds = COMPARED[self.trace.kind]
        return normalized({kind: await self._list(kind) for kind in kinds})

    async def _list(self, kind: Any) -> Sequence[JsonObject]:
        found: Sequence[JsonObject] = (await self.client.list(kind, self.namespace)).items
        return found


def _worth(pod: JsonObject) -> tuple[str, ...]:
    """Sort pods by what both sides have in common."""
    status = pod.get("status") or {}
    ready = [c["status"] for c in status.get("conditions") or () if c["type"] == "Ready"]
    image = pod["spec"]["containers"][0]["image"]
    name = pod["metadata"].get("generateName") or pod["metadata"]["name"]
    return image, str(sorted((pod["metadata"].get("annotations") or {}).items())), str(ready), name


def expected_states(trace: Trace, seed: int) -> list[list[Any]]:
    """Return where the embedded side rests after each step."""

    async def play() -> list[list[Any]]:
        async with EmbeddedCluster(seed=seed) as cluster:
            await make_nodes(cluster.client)
            side = Side(cluster.client, cluster.namespace, trace)
            await side.begin()
            await cluster.settle(*workload_controllers())
            await cluster.advance(seconds=LATER_SECONDS)
            states = [await side.state()]
            for step in trace.steps:
                await side.do(step)
                await cluster.settle()
                await cluster.advance(seconds=LATER_SECONDS)
                states.append(await side.state())
            return states

    loop = VirtualLoop(seed)
    try:
        return loop.run_until_complete(play())
    finally:
        loop.close()


async def make_nodes(client: Client) -> None:
    for metadata in NODES:
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": dict(metadata)})
        await client.patch(Node, Key("", str(metadata["name"])), {"spec": {"taints": None}})


async def play_real(client: Client, trace: Trace, seed: int, expected: list[list[Any]]) -> str:
    """Play a trace on the real side; return the first difference, or nothing."""
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "trace-"}}
    namespace = (await client.create(made))["metadata"]["name"]
    side = Side(client, namespace, trace)
    await side.begin()
    for number, wanted in enumerate(expected):
        if number:
            await side.do(trace.steps[number - 1])
        found = await _until_equal(side, wanted)
        if found != wanted:
            done = "\n".join(map(str, trace.steps[:number]))
            return (
                f"{trace.kind.kind} seed {seed}, after step {number}:\n{trace.manifest['spec']}\n"
                f"{done}\n{_difference(wanted, found)}"
            )
    return ""


async def _until_equal(side: Side, wanted: list[Any]) -> list[Any]:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        found = await side.state()
        if found == wanted or asyncio.get_running_loop().time() > deadline:
            return found
        await asyncio.sleep(0.1)


def _difference(wanted: list[Any], found: list[Any]) -> str:
    ours, real = _without(wanted, found), _without(found, wanted)
    if len(ours) == len(real):
        return "\n".join(_fields(*pair) for pair in zip(ours, real, strict=True))
    lines = [f"  embedded: {each}" for each in ours] + [f"  real:     {each}" for each in real]
    return "\n".join(lines)


def _without(some: list[Any], others: list[Any]) -> list[Any]:
    """Return what is not among others, as often as it is more here than there."""
    left, more = list(others), []
    for each in some:
        if each in left:
            left.remove(each)
        else:
            more.append(each)
    return more


def _fields(ours: JsonObject, real: JsonObject) -> str:
    names = [name for name in {**ours, **real} if ours.get(name) != real.get(name)]
    lines = [f"  {ours['kind']} {ours['name']}, {', '.join(names)}:"]
    for side, obj in (("embedded", ours), ("real", real)):
        lines.append(f"    {side}: { {name: obj.get(name) for name in names} }")
    return "\n".join(lines)


@pytest.mark.real
@pytest.mark.timeout(3600)
def test_traces_lead_to_the_same_states() -> None:
    chosen = [
        (trace_of(name, seed), seed) for seed in range(START, START + SEEDS) for name in TRACES
    ]
    chosen += [(trace, -1) for trace in POLICIES]
    expected = [expected_states(trace, seed) for trace, seed in chosen]

    async def compare() -> list[str]:
        names = (*CONTROLLERS, *WORKLOAD_CONTROLLERS)
        async with (
            control_plane(controllers=names) as plane,
            connect(kubeconfig=plane.kubeconfig) as client,
        ):
            await make_nodes(client)
            manager, slots = Manager(client, played_node()), asyncio.Semaphore(AT_ONCE)

            async def play(trace: Trace, seed: int, wanted: list[list[Any]]) -> str:
                async with slots:
                    first = await play_real(client, trace, seed, wanted)
                    return first and await play_real(client, trace, seed, wanted)

            async with asyncio.TaskGroup() as group:
                running = group.create_task(manager.run())
                played = [
                    group.create_task(play(trace, seed, wanted))
                    for (trace, seed), wanted in zip(chosen, expected, strict=True)
                ]
                await asyncio.wait(played)
                manager.stop()
                await running
            return [each.result() for each in played if each.result()]

    different = asyncio.run(compare())
    assert not different, f"{len(different)} of {len(chosen)} differ\n" + "\n\n".join(different)


@pytest.mark.parametrize("name", sorted(TRACES))
def test_traces_come_to_rest_on_the_embedded_server(name: str) -> None:
    """Without the real side: every state is one in which nothing moves."""
    for seed in range(START, START + 2):
        trace = trace_of(name, seed)
        states = expected_states(trace, seed)
        assert len(states) == len(trace.steps) + 1
        assert states == expected_states(trace, seed), "the same seed, the same states"

"""ManagedResources that are large: many objects, or a Secret as large as they get."""

import asyncio
import statistics
from random import Random

import msgspec

from bench.apimetrics import usage
from bench.managedworkload import witnessed
from bench.meter import Task
from bench.processes import Program
from bench.result import Result, at_most, exactly
from bench.suite.managed_resources import at_rest, prepared
from certwright.client import Client, connect
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap
from certwright.managed import Declaration, deploy
from certwright.testkit.controlplane import ControlPlane, control_plane

NAMESPACE = "keep"
MANY = 2_000
LARGEST = 5_000
DRIFTS = 20
PAUSE_SECONDS = 0.5
HEAVY_BYTES = 22_000


def run(_: int) -> Result:
    """Apply both once and watch the event loop."""
    return asyncio.run(_run())


async def _run() -> Result:
    rng = Random(4)
    many = await _stall("many", [_small(number) for number in range(MANY)])
    heavy = await _stall("heavy", [_heavy(number, rng) for number in range(60)])
    drift = await _drift([_small(number) for number in range(LARGEST)])
    return Result(
        "managed-resources-large",
        f"One ManagedResource of {MANY:,} ConfigMaps, and one whose Brotli data fills a Secret "
        "(1 MiB of text that hardly compresses, 60 ConfigMaps), on a real API server. A stall is "
        "the longest stretch in which the event loop did not come round, in processor time of "
        "its thread. "
        f"And one of {LARGEST:,} ConfigMaps at rest: {DRIFTS} times another client edits one of "
        "them, one after the other; processor time of the operator for each, all threads.",
        {"2,000 objects": many, "1 MiB of Brotli": heavy, "5,000 objects": drift},
        [
            at_most("event-loop stall with 2,000 objects", float(many["stall, ms"]), 20, "ms"),
            at_most("event-loop stall with 1 MiB of Brotli", float(heavy["stall, ms"]), 20, "ms"),
            exactly("writes for 2,000 objects", int(many["writes"]), MANY + 3),
            at_most("5,000 objects: one drift", float(drift["a drift, CPU ms"]), 20, "ms"),
        ],
        1,
    )


async def _stall(name: str, objects: list[JsonObject]) -> dict[str, float]:
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        await prepared(client, [NAMESPACE])
        return await _stall_on(
            plane, client, Declaration(key=Key(NAMESPACE, name), objects=objects)
        )


async def _stall_on(
    plane: ControlPlane, client: Client, declaration: Declaration
) -> dict[str, float]:
    task = Task(kubeconfig=str(plane.kubeconfig), namespace=NAMESPACE, stalls=True)
    text = msgspec.json.encode(task).decode()
    async with witnessed(client, NAMESPACE) as witness:
        with Program("subjects.certwright_resources", text) as program:
            await asyncio.to_thread(program.line)
            await deploy(client, declaration)
            before, cpu = await usage(client, but="leases"), program.cpu()
            began = asyncio.get_running_loop().time()
            await witness.sees_well(1)
            seconds = asyncio.get_running_loop().time() - began
            writes = (await usage(client, but="leases")).since(before).writes
            used = program.cpu() - cpu
            program.go_on()
            line = await asyncio.to_thread(program.line)
            return {
                "stall, ms": line["stall_ms"],
                "stall in wall time, ms": line["wall_ms"],
                "seconds": seconds,
                "CPU s": used,
                "writes": writes,
            }


async def _drift(objects: list[JsonObject]) -> dict[str, float]:
    """Apply one set, let it rest, and edit one object after the other."""
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        await prepared(client, [NAMESPACE])
        task = Task(kubeconfig=str(plane.kubeconfig), namespace=NAMESPACE)
        async with witnessed(client, NAMESPACE) as witness:
            with Program(
                "subjects.certwright_resources", msgspec.json.encode(task).decode()
            ) as program:
                await asyncio.to_thread(program.line)
                await deploy(client, Declaration(key=Key(NAMESPACE, "largest"), objects=objects))
                cpu = program.cpu()
                await witness.sees_well(1)
                used = program.cpu() - cpu
                await at_rest(program)
                before, times = await usage(client, but="leases"), []
                for number in range(DRIFTS):
                    began = program.exact_cpu()
                    await _edit(client, Key(NAMESPACE, f"small-{number * 7:04d}"))
                    await asyncio.sleep(PAUSE_SECONDS)
                    times.append(1000 * (program.exact_cpu() - began))
                calls = (await usage(client, but="leases")).since(before)
                return {
                    "CPU s": used,
                    "a drift, CPU ms": statistics.median(times),
                    "slowest drift, CPU ms": max(times),
                    "writes for a drift": calls.writes / DRIFTS - 1,
                }


async def _edit(client: Client, key: Key) -> None:
    """Change an object, and wait until it is as declared again."""
    await client.patch(ConfigMap, key, {"data": {"n": "disturbed"}})
    while (await client.get(ConfigMap, key))["data"]["n"] == "disturbed":
        await asyncio.sleep(0.02)


def _small(number: int) -> JsonObject:
    metadata = {"name": f"small-{number:04d}", "namespace": NAMESPACE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"n": str(number)},
    }


def _heavy(number: int, rng: Random) -> JsonObject:
    metadata = {"name": f"heavy-{number:02d}", "namespace": NAMESPACE}
    data = {"text": rng.randbytes(HEAVY_BYTES // 2).hex()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

"""ManagedResources that are large: many objects, or a Secret as large as they get."""

import asyncio
from random import Random

import msgspec

from bench.apimetrics import usage
from bench.managedworkload import witnessed
from bench.meter import Task
from bench.processes import Program
from bench.result import Result, at_most, exactly
from bench.suite.managed_resources import prepared
from certwright.client import Client, connect
from certwright.kube import JsonObject, Key
from certwright.managed import Declaration, deploy
from certwright.testkit.controlplane import ControlPlane, control_plane

NAMESPACE = "keep"
MANY = 2_000
HEAVY_BYTES = 22_000


def run(_: int) -> Result:
    """Apply both once and watch the event loop."""
    return asyncio.run(_run())


async def _run() -> Result:
    rng = Random(4)
    many = await _stall("many", [_small(number) for number in range(MANY)])
    heavy = await _stall("heavy", [_heavy(number, rng) for number in range(60)])
    return Result(
        "managed-resources-large",
        f"One ManagedResource of {MANY:,} ConfigMaps, and one whose Brotli data fills a Secret "
        "(1 MiB of text that hardly compresses, 60 ConfigMaps), on a real API server. A stall is "
        "the longest stretch in which the event loop did not come round, in processor time of "
        "its thread.",
        {"2,000 objects": many, "1 MiB of Brotli": heavy},
        [
            at_most("event-loop stall with 2,000 objects", float(many["stall, ms"]), 20, "ms"),
            at_most("event-loop stall with 1 MiB of Brotli", float(heavy["stall, ms"]), 20, "ms"),
            exactly("writes for 2,000 objects", int(many["writes"]), MANY + 3),
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

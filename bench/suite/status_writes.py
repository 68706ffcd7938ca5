"""One status write for each of 2,000 custom objects, on a real API server."""

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from bench.apimetrics import Usage, usage
from bench.meter import Task
from bench.processes import Program
from bench.result import Bar, Figures, Result, at_least, exactly
from bench.workload import Widget
from certwright.client import Client, Request, Selection, connect
from certwright.kube import ObjectMeta, crd_manifest
from certwright.runtime import Cache, Entry
from certwright.testkit.controlplane import ControlPlane, control_plane

OBJECTS = 2_000
NAMES = [f"widget-{number:04d}" for number in range(OBJECTS)]
PROBES = 30
NAMESPACE = "default"
SUBJECTS = {"certwright": "certwright_status", "kopf": "kopf_status"}
QUIET_SECONDS = 1.0
QUIET_CPU = 0.02


@dataclass(frozen=True)
class Measured:
    """One run of one subject."""

    cpu: float
    wall: float
    server: Usage
    latencies: list[float]
    """Seconds from sending a create to seeing the status, one object at a time."""


def run(runs: int) -> Result:
    return asyncio.run(_run(runs))


async def _run(runs: int) -> Result:
    measured: dict[str, list[Measured]] = {name: [] for name in SUBJECTS}
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        await client.create(crd_manifest(Widget))
        version = await _version(client)
        for _ in range(runs):
            for name, subject in SUBJECTS.items():
                async with widgets(client), watched(client) as witness:
                    measured[name].append(await measure(plane, client, subject, witness))
    ours = measured["certwright"]
    per_second = {name: OBJECTS / _median(of, "cpu") for name, of in measured.items()}
    return Result(
        "status-writes",
        f"{OBJECTS:,} Widgets (a small custom resource) exist when the operator starts; each gets "
        f"one status field. etcd and kube-apiserver {version} are real, and the latter counts "
        "calls. Reaction is the time from sending a create to seeing the status, "
        f"{PROBES} objects one after the other, once the {OBJECTS:,} are done. kopf handles "
        "creations as its documentation shows: no peering, no posting of events, logging off. "
        "It patches each object twice; the bar compares objects, not patches.",
        {name: _figures(of) for name, of in measured.items()},
        [
            _writes(ours),
            exactly("reads after sync", max(m.server.reads for m in ours), 0),
            at_least(
                "objects given their status per CPU-second",
                per_second["certwright"] / per_second["kopf"],
                3,
                "times kopf",
            ),
        ],
        runs,
    )


async def _version(client: Client) -> str:
    answer = await client.send(Request("get", "GET", "/version"))
    return str(msgspec.json.decode(answer.body)["gitVersion"])


def _writes(ours: list[Measured]) -> Bar:
    counts = {m.server.writes for m in ours}
    worst = max(counts, key=lambda count: abs(count - OBJECTS))
    return exactly(f"{OBJECTS:,} objects, one status write each", worst, OBJECTS, "writes")


def _median(runs: list[Measured], name: str) -> float:
    return statistics.median(getattr(m, name) for m in runs)


def _figures(runs: list[Measured]) -> Figures:
    latencies = sorted(1000 * seconds for m in runs for seconds in m.latencies)
    return {
        "CPU s": _median(runs, "cpu"),
        "objects per CPU-second": OBJECTS / _median(runs, "cpu"),
        "wall s": _median(runs, "wall"),
        "writes": runs[-1].server.writes,
        "calls": runs[-1].server.text(),
        "kube-apiserver, CPU s": statistics.median(m.server.cpu for m in runs),
        "reaction, median ms": statistics.median(latencies),
        "reaction, slowest ms": latencies[-1],
    }


class Witness:
    """Sees statuses appear, by a watch of its own."""

    def __init__(self) -> None:
        self._ready: set[str] = set()

    def on_change(self, _: Entry | None, new: Entry | None) -> None:
        if new is not None and new.as_(Widget).status.ready:
            self._ready.add(new.key.name)

    async def sees(self, *names: str) -> None:
        """Return when all of these objects have their status."""
        while not self._ready.issuperset(names):
            await asyncio.sleep(0.002)


@asynccontextmanager
async def watched(client: Client) -> AsyncIterator[Witness]:
    """Watch Widgets for the duration of the context."""
    witness, cache = Witness(), Cache(client)
    async with asyncio.TaskGroup() as group:
        share = cache.store(Widget)
        share.listen(witness.on_change)
        watching = group.create_task(cache.run())
        await share.synced()
        yield witness
        watching.cancel()


@asynccontextmanager
async def widgets(client: Client) -> AsyncIterator[None]:
    """Create the objects; delete all there are afterwards."""
    for first in range(0, OBJECTS, 50):
        async with asyncio.TaskGroup() as group:
            for name in NAMES[first : first + 50]:
                group.create_task(client.create(_widget(name)))
    yield
    await client.delete_collection(Widget, Selection(NAMESPACE))


def _widget(name: str) -> Widget:
    return Widget(metadata=ObjectMeta(namespace=NAMESPACE, name=name))


async def measure(plane: ControlPlane, client: Client, subject: str, witness: Witness) -> Measured:
    """Run a subject until every status is written and it has come to rest."""
    task = msgspec.json.encode(Task(kubeconfig=str(plane.kubeconfig))).decode()
    before = await usage(client, "widgets")
    clock = asyncio.get_running_loop().time
    with Program(f"subjects.{subject}", task) as program:
        started = await asyncio.to_thread(program.line)
        began = clock()
        await witness.sees(*NAMES)
        wall = clock() - began
        cpu = await _at_rest(program)
        after = await usage(client, "widgets")
        latencies = [await _reaction(client, witness, n) for n in range(PROBES)]
    return Measured(cpu - started["resumed"], wall, after.since(before), latencies)


async def _at_rest(program: Program) -> float:
    """Return the processor time of a program once it does no more."""
    cpu = program.cpu()
    while True:
        await asyncio.sleep(QUIET_SECONDS)
        if (now := program.cpu()) - cpu <= QUIET_CPU:
            return now
        cpu = now


async def _reaction(client: Client, witness: Witness, number: int) -> float:
    clock = asyncio.get_running_loop().time
    name = f"probe-{number:04d}"
    began = clock()
    await client.create(_widget(name))
    await witness.sees(name)
    return clock() - began

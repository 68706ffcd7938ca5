"""2,000 ManagedResources of three objects on a real API server: their whole life."""

import asyncio
import statistics
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec

from bench.apimetrics import Usage, usage
from bench.managedworkload import (
    Witness,
    create_all,
    delete_all,
    keys,
    names,
    source,
    unit,
    witnessed,
)
from bench.meter import Task
from bench.processes import ROOT, Child, Program, cpu_of
from bench.result import Bar, Figures, Result, at_least, at_most, exactly
from bench.suite.drift import Repairs, disturb
from certwright.api.managedresources import ManagedResource
from certwright.client import Client, connect, until_served
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import Secret
from certwright.testkit.controlplane import ControlPlane, control_plane

UNITS = 2_000
OBJECTS = 3
FOREIGN_SECRETS = 30_000
IDLE_SECONDS = 300
EDITS = 500
NAMESPACES = {"bare loop": "bare", "certwright": "keep"}
SUBJECTS = {"bare loop": "bare_resources", "certwright": "certwright_resources"}
PATIENCE_SECONDS = 3_600
"""How long a subject may take, on a busy machine and with the idle minutes."""
MIB = 2**20
OTHERS = ("leases", "services")
"""What is not counted: leases are renewed, and the server itself lists Services now and then."""


@dataclass
class Life:
    """What one subject needed for all ManagedResources."""

    applied: "Phase"
    deleted: "Phase"
    idle: "Phase | None" = None
    repairs: Repairs = field(default_factory=Repairs)
    rss: int = 0
    rss_with_foreign: int = 0


@dataclass(frozen=True)
class Phase:
    """What one step cost the processes that take part."""

    seconds: float
    own_cpu: float
    server: Usage
    etcd_cpu: float


class Stopwatch:
    """Measures phases of one subject."""

    def __init__(self, plane: ControlPlane, client: Client, program: Program) -> None:
        self._client = client
        self._program = program
        self._etcd = _pid_of("etcd", plane.folder)

    async def start(self) -> None:
        """Begin a phase."""
        self._server = await usage(self._client, but=OTHERS)
        self._etcd_cpu, self._cpu = cpu_of(self._etcd), self._program.cpu()
        self._began = asyncio.get_running_loop().time()

    async def stop(self) -> Phase:
        """End the phase."""
        seconds = asyncio.get_running_loop().time() - self._began
        own, etcd = self._program.cpu() - self._cpu, cpu_of(self._etcd) - self._etcd_cpu
        server = await usage(self._client, but=OTHERS)
        return Phase(seconds, own, server.since(self._server), etcd)


def run(runs: int) -> Result:
    """Measure everything once per run; the long parts in the first run only."""
    return asyncio.run(_run(runs))


async def _run(runs: int) -> Result:
    lives: dict[str, list[Life]] = {name: [] for name in SUBJECTS}
    for number in range(runs):
        async with fresh("bare loop") as (plane, client):
            lives["bare loop"].append(await bare(plane, client, UNITS))
        async with fresh("certwright") as (plane, client):
            long = number == 0
            lives["certwright"].append(await ours(plane, client, UNITS, long=long))
    return _result(lives, runs)


@asynccontextmanager
async def fresh(subject: str) -> AsyncIterator[tuple[ControlPlane, Client]]:
    """Run a control plane without history: who comes second on one has a tenth less."""
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        await prepared(client, [NAMESPACES[subject]])
        yield plane, client


async def prepared(client: Client, namespaces: Iterable[str]) -> None:
    """Install the definition and create namespaces."""
    await until_served(client, await client.create(crd_manifest(ManagedResource)))
    for namespace in namespaces:
        await client.create(_namespace(namespace))


async def bare(plane: ControlPlane, client: Client, units: int) -> Life:
    """Let the bare loop write and delete."""
    namespace = NAMESPACES["bare loop"]
    await create_all(client, [unit(namespace, name) for name in names(units)])
    async with witnessed(client, namespace) as witness:
        task = task_for(plane, namespace, units)
        with Program("subjects.bare_resources", task, patience_seconds=PATIENCE_SECONDS) as program:
            watch = Stopwatch(plane, client, program)
            await asyncio.to_thread(program.line)
            await watch.start()
            await asyncio.to_thread(program.line)
            await witness.sees_well(units)
            applied = await watch.stop()
            await watch.start()
            program.go_on()
            await delete_all(
                client, ManagedResource, [Key(namespace, name) for name in names(units)]
            )
            await witness.sees_none()
            return Life(applied, await watch.stop())


async def ours(
    plane: ControlPlane,
    client: Client,
    units: int,
    *,
    long: bool,
    delete: bool = True,
    root: Path = ROOT,
) -> Life:
    """Let the operator apply, rest, repair and delete."""
    namespace = NAMESPACES["certwright"]
    await create_all(client, [source(namespace, name) for name in names(units)])
    await create_all(client, [unit(namespace, name) for name in names(units)])
    async with witnessed(client, namespace) as witness:
        task = task_for(plane, namespace, units)
        with Program(
            "subjects.certwright_resources", task, patience_seconds=PATIENCE_SECONDS, root=root
        ) as program:
            watch = Stopwatch(plane, client, program)
            await asyncio.to_thread(program.line)
            await watch.start()
            await witness.sees_well(units)
            life = Life(applied=await watch.stop(), deleted=_NOTHING)
            await at_rest(program)
            life.rss = program.rss()
            if long:
                await _long_parts(client, program, watch, life, units)
            if delete:
                await _delete(client, witness, watch, life, units)
            return life


async def _long_parts(
    client: Client, program: Program, watch: Stopwatch, life: Life, units: int
) -> None:
    await watch.start()
    await asyncio.sleep(IDLE_SECONDS)
    life.idle = await watch.stop()
    namespace = NAMESPACES["certwright"]
    life.repairs = await disturb(client, namespace, names(units), EDITS, Random(4))
    await at_rest(program)
    rss = program.rss()
    foreign = foreign_keys()
    await create_all(client, map(foreign_secret, foreign))
    await at_rest(program)
    life.rss_with_foreign = life.rss + program.rss() - rss
    await delete_all(client, Secret, foreign)


async def _delete(
    client: Client, witness: Witness, watch: Stopwatch, life: Life, units: int
) -> None:
    namespace = NAMESPACES["certwright"]
    await watch.start()
    await delete_all(client, ManagedResource, keys(namespace, units))
    await witness.sees_none()
    life.deleted = await watch.stop()


async def at_rest(program: Child) -> None:
    """Return when a program does no more."""
    cpu = program.cpu()
    while True:
        await asyncio.sleep(2.0)
        if (now := program.cpu()) - cpu <= 0.03:
            return
        cpu = now


def task_for(plane: ControlPlane, namespace: str, units: int, *, follow: bool = False) -> str:
    """Return what a subject is asked to do."""
    task = Task(kubeconfig=str(plane.kubeconfig), namespace=namespace, objects=units, keep=follow)
    return msgspec.json.encode(task).decode()


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def foreign_keys() -> list[Key]:
    """Return the keys of many Secrets that are not ours."""
    return [Key("default", f"foreign-{number:05d}") for number in range(FOREIGN_SECRETS)]


def foreign_secret(key: Key) -> JsonObject:
    """Return a Secret that is not ours."""
    metadata = {"name": key.name, "namespace": key.namespace}
    data = {"tls.crt": "Q0VSVElG" * 40}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _pid_of(name: str, folder: Path) -> int:
    """Return the process of a control plane that runs a program of this name."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue  # it has just ended
            if Path(words[0]).name == name and any(str(folder) in word for word in words):
                return int(entry.name)
    raise LookupError(f"no process {name} of {folder}")


_NOTHING = Phase(0.0, 0.0, Usage(Counter(), 0.0), 0.0)


# What it comes to


def _result(lives: dict[str, list[Life]], runs: int) -> Result:
    return Result(
        "managed-resources",
        f"{UNITS:,} ManagedResources of a ConfigMap, a Secret and a ServiceAccount each, with "
        "their Secrets, exist when the operator starts on a real etcd and kube-apiserver; it has "
        "20 workers. The bare loop makes the same writes with aiohttp and uvloop, 20 at a time: "
        "finalizer, three creations, status; later conditions, three deletions, finalizer, while "
        "another client deletes the ManagedResources, as fast as the API server allows, for both "
        "alike. Each has servers of its own. Idle, drift and memory are from one run. Calls are "
        "the API server's count, leases aside, and Services, which it lists itself every three "
        "minutes.",
        {name: _figures(of) for name, of in lives.items()},
        _bars(lives),
        runs,
    )


def _figures(lives: list[Life]) -> Figures:
    applied, deleted = [life.applied for life in lives], [life.deleted for life in lives]
    return {
        "applied and healthy, per second": UNITS / _median(applied, lambda p: p.seconds),
        "own CPU ms each": _ms(applied, lambda p: p.own_cpu),
        "kube-apiserver CPU ms each": _ms(applied, lambda p: p.server.cpu),
        "etcd CPU ms each": _ms(applied, lambda p: p.etcd_cpu),
        "writes each": _median(applied, lambda p: p.server.writes) / UNITS,
        "calls": applied[-1].server.text(),
        "deleted, per second": UNITS / _median(deleted, lambda p: p.seconds),
        "deletion, own CPU ms each": _ms(deleted, lambda p: p.own_cpu),
        "deletion, kube-apiserver CPU ms each": _ms(deleted, lambda p: p.server.cpu),
        "deletion, etcd CPU ms each": _ms(deleted, lambda p: p.etcd_cpu),
        "deletion, writes each": _median(deleted, lambda p: p.server.writes) / UNITS - 1,
        "deletion, calls": deleted[-1].server.text(),
    }


def _median(phases: list[Phase], figure: Callable[[Phase], float]) -> float:
    return statistics.median(map(figure, phases))


def _ms(phases: list[Phase], figure: Callable[[Phase], float]) -> float:
    return 1000 * _median(phases, figure) / UNITS


def _bars(lives: dict[str, list[Life]]) -> list[Bar]:
    bare_, own = lives["bare loop"], lives["certwright"]

    def ratio(phase: Callable[[Life], Phase]) -> float:
        return statistics.median(
            phase(b).seconds / phase(o).seconds for b, o in zip(bare_, own, strict=True)
        )

    first = own[0]
    assert first.idle is not None
    idle_calls = first.idle.server
    return [
        at_least("2,000 ManagedResources: throughput", ratio(lambda x: x.applied), 0.75, "of bare"),
        at_most(
            "own CPU for each of them", _ms([x.applied for x in own], lambda p: p.own_cpu), 7, "ms"
        ),
        exactly("writes for each", round(first.applied.server.writes / UNITS), OBJECTS + 2),
        exactly("reads for all", first.applied.server.reads, 0),
        exactly("five idle minutes: reads and writes", idle_calls.reads + idle_calls.writes, 0),
        at_most("five idle minutes: CPU", 100 * first.idle.own_cpu / first.idle.seconds, 0.2, "%"),
        exactly("edits, additions, deletions: repaired", len(first.repairs.seconds), EDITS),
        at_most("time to repair, 99th percentile", first.repairs.percentile(99), 0.3, "s"),
        at_least("deletion: throughput", ratio(lambda x: x.deleted), 0.7, "of bare"),
        at_most(
            "deletion: calls each",
            (first.deleted.server.writes + first.deleted.server.reads) / UNITS - 1,
            OBJECTS + 2,
            "",
        ),
        at_most("memory with 2,000 and their 6,000 objects", first.rss / MIB, 90, "MiB"),
        at_most(
            "more memory with 30,000 foreign Secrets",
            (first.rss_with_foreign - first.rss) / MIB,
            5,
            "MiB",
        ),
    ]

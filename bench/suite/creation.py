"""ManagedResources that are created while the operator runs, its restart, rest and repairs."""

import asyncio
import statistics
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.managedworkload import BATCH, create_all, names, source, unit, witnessed
from bench.processes import ROOT, Program
from bench.result import Bar, Figures, Result, at_least, at_most, exactly
from bench.suite.drift import Repairs, disturb
from bench.suite.managed_resources import (
    EDITS,
    NAMESPACES,
    OBJECTS,
    PATIENCE_SECONDS,
    SUBJECTS,
    Phase,
    Stopwatch,
    at_rest,
    fresh,
    task_for,
)
from certwright.client import Client
from certwright.testkit.controlplane import ControlPlane

UNITS = 2_000
MANY = 10_000
GIVEN = 2
"""What is created for each: its Secret and itself."""
IDLE_SECONDS = 120
LEASE_SECONDS = 20
"""Until then the lease of an operator that was killed has expired."""


@dataclass
class After:
    """What follows when all are there."""

    restart: Phase
    idle: Phase
    repairs: Repairs = field(default_factory=Repairs)


def run(runs: int) -> Result:
    """Measure 2,000 so often, 10,000 once; restart, rest and repairs once, with 2,000."""
    return asyncio.run(_run(runs))


async def _run(runs: int) -> Result:
    phases: dict[str, list[Phase]] = {name: [] for name in SUBJECTS}
    after: After | None = None
    for _ in range(runs):
        for subject, of in phases.items():
            async with fresh(subject) as (plane, client):
                of.append(await created(subject, plane, client, UNITS))
                if subject == "certwright" and after is None:
                    after = await _afterwards(plane, client)
    many: dict[str, Phase] = {}
    for subject in SUBJECTS:
        async with fresh(subject) as (plane, client):
            many[subject] = await created(subject, plane, client, MANY)
    assert after is not None
    return _result(phases, many, after, runs)


async def created(
    subject: str, plane: ControlPlane, client: Client, units: int, root: Path = ROOT
) -> Phase:
    """Create ManagedResources while a subject runs, until all are applied and healthy."""
    namespace = NAMESPACES[subject]
    async with (
        witnessed(client, namespace) as witness,
        _started(subject, plane, client, units, root) as (program, watch),
    ):
        await watch.start()
        for first in range(0, units, BATCH):
            some = names(units)[first : first + BATCH]
            await create_all(client, [source(namespace, name) for name in some])
            await create_all(client, [unit(namespace, name) for name in some])
            if subject == "bare loop":
                program.go_on(str(first + len(some)))
        await witness.sees_well(units)
        return await watch.stop()


@asynccontextmanager
async def _started(
    subject: str, plane: ControlPlane, client: Client, units: int, root: Path = ROOT
) -> AsyncIterator[tuple[Program, Stopwatch]]:
    """Run a subject, from when it has nothing more to do."""
    task = task_for(plane, NAMESPACES[subject], units, follow=subject == "bare loop")
    module = f"subjects.{SUBJECTS[subject]}"
    with Program(module, task, patience_seconds=PATIENCE_SECONDS, root=root) as program:
        await asyncio.to_thread(program.line)
        await at_rest(program)
        yield program, Stopwatch(plane, client, program)


async def _afterwards(plane: ControlPlane, client: Client) -> After:
    """Start the operator anew beside what it has applied, let it rest, and disturb it."""
    namespace = NAMESPACES["certwright"]
    task = task_for(plane, namespace, UNITS)
    with Program(
        "subjects.certwright_resources", task, patience_seconds=PATIENCE_SECONDS
    ) as program:
        watch = Stopwatch(plane, client, program)
        await asyncio.to_thread(program.line)
        await watch.start()
        await at_rest(program)
        await asyncio.sleep(LEASE_SECONDS)
        await at_rest(program)
        restart = await watch.stop()
        await watch.start()
        await asyncio.sleep(IDLE_SECONDS)
        idle = await watch.stop()
        return After(
            restart, idle, await disturb(client, namespace, names(UNITS), EDITS, Random(4))
        )


def writes_each(phase: Phase, units: int) -> float:
    """Return how often a subject wrote for each."""
    return phase.server.writes / units - GIVEN


def cpu_ms_each(phase: Phase, units: int) -> float:
    """Return the processor time of all three, API server, etcd and subject, for each."""
    return 1000 * (phase.own_cpu + phase.server.cpu + phase.etcd_cpu) / units


def _result(
    phases: dict[str, list[Phase]], many: dict[str, Phase], after: After, runs: int
) -> Result:
    figures: dict[str, Figures] = {name: _figures(of, UNITS) for name, of in phases.items()}
    figures |= {f"{name}, {MANY:,}": _figures([of], MANY) for name, of in many.items()}
    return Result(
        "managed-resources-created",
        f"{UNITS:,} ManagedResources, and {MANY:,} in one run, of a ConfigMap, a Secret and a "
        "ServiceAccount each are created with their Secrets, as fast as the API server allows, "
        "while the operator runs, until all are applied and healthy. The bare loop is told which "
        "are there, and makes the same five writes, 20 at a time: finalizer, three creations, "
        "status. Each has servers of its own. Writes and reads are the subject's. Restart, idle "
        "and repairs (edits, additions by another client, deletions; 20 at a time) are from one "
        f"run, with {UNITS:,}.",
        figures,
        _bars(phases, many, after),
        runs,
    )


def _figures(phases: list[Phase], units: int) -> Figures:
    def middle(figure: Callable[[Phase], float]) -> float:
        return statistics.median(map(figure, phases))

    return {
        "applied and healthy, per second": units / middle(lambda p: p.seconds),
        "own CPU ms each": 1000 * middle(lambda p: p.own_cpu) / units,
        "kube-apiserver CPU ms each": 1000 * middle(lambda p: p.server.cpu) / units,
        "etcd CPU ms each": 1000 * middle(lambda p: p.etcd_cpu) / units,
        "all three": middle(lambda p: cpu_ms_each(p, units)),
        "writes each": round(middle(lambda p: writes_each(p, units)), 3),
        "reads": middle(lambda p: p.server.reads),
    }


def _bars(phases: dict[str, list[Phase]], many: dict[str, Phase], after: After) -> list[Bar]:
    ratio = statistics.median(
        bare.seconds / own.seconds
        for bare, own in zip(phases["bare loop"], phases["certwright"], strict=True)
    )
    own, large = phases["certwright"], many["certwright"]
    restarted, idle, repairs = after.restart.server, after.idle.server, after.repairs
    return [
        at_least(f"{UNITS:,} created: throughput", ratio, 0.75, "of bare"),
        at_most(
            f"{UNITS:,} created: writes for each",
            max(writes_each(p, UNITS) for p in own),
            OBJECTS + 2,
            "",
        ),
        exactly(f"{UNITS:,} created: reads", max(p.server.reads for p in own), 0),
        at_least(
            f"{MANY:,} created: throughput",
            many["bare loop"].seconds / large.seconds,
            0.75,
            "of bare",
        ),
        at_most(f"{MANY:,} created: writes for each", writes_each(large, MANY), OBJECTS + 2, ""),
        exactly(f"{MANY:,} created: reads", large.server.reads, 0),
        exactly(f"restart with {UNITS:,}: reads and writes", restarted.reads + restarted.writes, 0),
        exactly("two idle minutes: reads and writes", idle.reads + idle.writes, 0),
        at_most("two idle minutes: CPU", 100 * after.idle.own_cpu / after.idle.seconds, 0.2, "%"),
        exactly(
            "after a restart, edits, additions, deletions: repaired", len(repairs.seconds), EDITS
        ),
        at_most(
            "after a restart, time to repair, 99th percentile", repairs.percentile(99), 0.3, "s"
        ),
    ]

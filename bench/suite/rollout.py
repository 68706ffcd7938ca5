"""1,000 workloads restarted because 2,000 Secrets were renewed at once, on a real API server."""

import asyncio
import math
import statistics
from dataclasses import dataclass

import msgspec

from bench.apimetrics import Usage, usage
from bench.managedworkload import create_all
from bench.meter import Task
from bench.processes import Program
from bench.result import Figures, Result, at_least, at_most, exactly
from bench.rolloutworkload import (
    SECRETS_EACH,
    WINDOW_SECONDS,
    WORKLOADS,
    RestartWitness,
    create,
    delete,
    renew,
    watch,
)
from bench.suite.managed_resources import FOREIGN_SECRETS, foreign_keys, foreign_secret
from certwright.client import Client, connect
from certwright.testkit.controlplane import ControlPlane, control_plane

SUBJECTS = {"certwright": "certwright_rollout", "bare loop": "bare_rollout"}
OURS = "certwright"
QUIET_SECONDS = 1.0
QUIET_CPU = 0.02
MIB = 2**20


@dataclass(frozen=True)
class Renewal:
    """One run of one subject."""

    cpu: float
    took: float
    """Seconds that the renewal of all Secrets took."""
    lasted: float
    """Seconds from the first renewal to the last restart."""
    waits: list[float]
    """Seconds from the last renewal of a workload's Secrets to its restart."""
    restarts: int
    deployments: Usage
    secrets: Usage
    again: Usage
    """What a second process asked of Deployments, with nothing changed."""
    rss: int


@dataclass(frozen=True)
class Growth:
    """By how many bytes the operator grows."""

    workloads: int
    """With so many workloads more, and their Secrets."""
    foreign: int
    """With Secrets that no workload consumes."""


def run(runs: int) -> Result:
    """Measure each subject once per run, and what ours grows by once."""
    return asyncio.run(_run(runs))


async def _run(runs: int) -> Result:
    measured: dict[str, list[Renewal]] = {name: [] for name in SUBJECTS}
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        for _ in range(runs):
            for name, subject in SUBJECTS.items():
                await create(client)
                measured[name].append(await _measure(plane, client, subject))
                await delete(client)
        growth = await _growth(plane, client)
    ours = measured[OURS]
    pace = {name: WORKLOADS / _median(of, "lasted") for name, of in measured.items()}
    late = max(_percentile(one.waits, 0.99) for one in ours)
    writes = max((one.deployments.writes for one in ours), key=lambda n: abs(n - WORKLOADS))
    return Result(
        "rollout",
        f"{WORKLOADS:,} Deployments consume {SECRETS_EACH} Secrets each. All {WORKLOADS * 2:,}"
        " Secrets are renewed as fast as the API server takes it; the quiet window is"
        f" {WINDOW_SECONDS:g} s. etcd and kube-apiserver are real, and the latter counts calls."
        " The bare loop watches Secrets, waits, and patches the template: it keeps no record and"
        " has no policy, so what is pending when it ends is lost. CPU is from the first renewal"
        " until the process rests, with the events that ours writes about each restart.",
        {name: _figures(of) for name, of in measured.items()},
        [
            exactly(f"{WORKLOADS:,} workloads, one write each", writes, WORKLOADS, "writes"),
            exactly("reads besides the watches", max(one.secrets.reads for one in ours), 0),
            at_most("99 of 100 restarts after", late, WINDOW_SECONDS + 1, "s"),
            at_least("restarts per second", pace[OURS] / pace["bare loop"], 0.7, "times bare"),
            exactly("writes of a new process", max(one.again.writes for one in ours), 0, "writes"),
            at_most("memory of a workload", growth.workloads / WORKLOADS / 1000, 2, "kB"),
            at_most(
                f"more memory with {FOREIGN_SECRETS:,} Secrets that are not consumed",
                growth.foreign / MIB,
                5,
                "MiB",
            ),
        ],
        runs,
    )


async def _measure(plane: ControlPlane, client: Client, subject: str) -> Renewal:
    witness = RestartWitness()
    cache = await watch(client, witness)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(cache.run())
        await cache.wait_synced(60)
        found = await _renewed(plane, client, subject, witness)
        watching.cancel()
    return found


async def _renewed(
    plane: ControlPlane, client: Client, subject: str, witness: RestartWitness
) -> Renewal:
    task = msgspec.json.encode(Task(kubeconfig=str(plane.kubeconfig))).decode()
    clock = asyncio.get_running_loop().time
    with Program(f"subjects.{subject}", task) as program:
        await asyncio.to_thread(program.line)
        if subject == SUBJECTS[OURS]:
            while len(witness.recorded) < WORKLOADS:
                await asyncio.sleep(0.05)
        started = await _at_rest(program)
        before = [await usage(client, name) for name in ("deployments", "secrets")]
        renewed: dict[str, float] = {}
        began = clock()
        await renew(client, "second", renewed)
        took = clock() - began
        await witness.sees(WORKLOADS)
        lasted = clock() - began
        cpu = await _at_rest(program) - started
        after = [await usage(client, name) for name in ("deployments", "secrets")]
        rss = program.rss()
    deployments, secrets = (new.since(old) for new, old in zip(after, before, strict=True))
    secrets.calls["PATCH"] -= WORKLOADS * SECRETS_EACH  # those of the renewal itself
    waits = [witness.seen[name][0] - moment for name, moment in renewed.items()]
    restarts = sum(map(len, witness.seen.values()))
    again = await _again(client, subject, task)
    return Renewal(cpu, took, lasted, waits, restarts, deployments, secrets, again, rss)


async def _growth(plane: ControlPlane, client: Client) -> Growth:
    """Let our operator run while workloads are added, and then Secrets of others; it comes last."""
    task = msgspec.json.encode(Task(kubeconfig=str(plane.kubeconfig))).decode()
    await create(client)
    with Program(f"subjects.{SUBJECTS[OURS]}", task) as program:
        await asyncio.to_thread(program.line)
        await _at_rest(program)
        first = program.rss()
        await create(client, range(WORKLOADS, 2 * WORKLOADS))
        await _at_rest(program)
        second = program.rss()
        await create_all(client, map(foreign_secret, foreign_keys()))
        await _at_rest(program)
        third = program.rss()
    return Growth(second - first, third - second)


async def _again(client: Client, subject: str, task: str) -> Usage:
    """Start another process; return what it asks of Deployments."""
    before = await usage(client, "deployments")
    with Program(f"subjects.{subject}", task) as program:
        await asyncio.to_thread(program.line)
        await asyncio.sleep(WINDOW_SECONDS + 1)
        await _at_rest(program)
    return (await usage(client, "deployments")).since(before)


async def _at_rest(program: Program) -> float:
    """Return the processor time of a program once it does no more."""
    cpu = program.cpu()
    while True:
        await asyncio.sleep(QUIET_SECONDS)
        if (now := program.cpu()) - cpu <= QUIET_CPU:
            return now
        cpu = now


def _median(runs: list[Renewal], name: str) -> float:
    return statistics.median(getattr(one, name) for one in runs)


def _percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(math.ceil(part * len(ordered)) - 1, len(ordered) - 1)]


def _figures(runs: list[Renewal]) -> Figures:
    return {
        "CPU s": _median(runs, "cpu"),
        "restarts per CPU-second": WORKLOADS / _median(runs, "cpu"),
        "all Secrets renewed within, s": _median(runs, "took"),
        "first renewal to last restart, s": _median(runs, "lasted"),
        "restart after, median s": statistics.median(w for one in runs for w in one.waits),
        "restart after, 99th of 100 s": max(_percentile(one.waits, 0.99) for one in runs),
        "restarts": runs[-1].restarts,
        "calls for Deployments": runs[-1].deployments.text(),
        "memory, MiB": _median(runs, "rss") / MIB,
    }

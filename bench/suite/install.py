"""cert-manager installed, left alone, upgraded and looked after again: beside Helm."""

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from bench.installworkload import (
    CMD,
    FIRST,
    NEXT,
    Difference,
    InstallPhase,
    InstallWorld,
    available,
    charts,
    declared,
    difference,
    helm,
    install_world,
    operator_task,
    phase,
    probed,
    recovered,
    request,
    runs,
    touch,
)
from bench.managedworkload import create_all
from bench.processes import Program
from bench.result import Bar, Figures, Result, at_most, exactly
from bench.suite.installdrift import InstallRepairs, disturb_installation
from bench.suite.managed_resources import at_rest, foreign_keys, foreign_secret
from certwright.apply import ObjectRef
from certwright.bundles.catalogue import load
from certwright.kube import Key
from certwright.testkit.certmanager.released import released_bundle

STEPS = ("install", "unchanged", "upgrade", "restart")
MIB = 2**20


@dataclass
class InstallLife:
    """What one subject needed, step by step."""

    phases: dict[str, InstallPhase] = field(default_factory=dict)
    rss: int = 0
    rss_with_foreign: int = 0
    repairs: InstallRepairs = field(default_factory=InstallRepairs)


def run(runs: int) -> Result:
    """Measure everything once per run."""
    return asyncio.run(_run(runs))


async def _run(count: int) -> Result:
    for version in load().versions:
        released_bundle(version)
    lives: dict[str, list[InstallLife]] = {"helm": [], "certwright": []}
    for number in range(count):
        async with install_world() as world:
            lives["helm"].append(await _helm(world))
        async with install_world() as world:
            lives["certwright"].append(await _ours(world, long=number == 0))
    return _result(lives, difference(), count)


async def _helm(world: InstallWorld) -> InstallLife:
    life = InstallLife()
    async with charts() as chart:
        life.phases["install"] = await helm(world, chart[FIRST])
        await runs(world, FIRST)
        life.phases["unchanged"] = await helm(world, chart[FIRST])
        life.phases["upgrade"] = await helm(world, chart[NEXT])
        await runs(world, NEXT)
    return life


async def _ours(world: InstallWorld, *, long: bool) -> InstallLife:
    life = InstallLife()
    await declared(world)
    with Program("subjects.certwright_install", operator_task(world)) as program:
        await _begun(program)
        async with phase(world, program) as found:
            await request(world, FIRST)
            await available(world, FIRST)
            await at_rest(program)
        [life.phases["install"]] = found
        async with phase(world, program) as found:
            await touch(world)
            await at_rest(program)
        [life.phases["unchanged"]] = found
        async with phase(world, program) as found:
            await request(world, NEXT)
            await available(world, NEXT)
            await at_rest(program)
        [life.phases["upgrade"]] = found
        life.rss = program.rss()
    with Program("subjects.certwright_install", operator_task(world)) as program:
        await asyncio.to_thread(program.line)
        async with phase(world, program) as found:
            await probed(world)
            await at_rest(program)
        [life.phases["restart"]] = found
        if long:
            await _long_parts(world, program, life)
    return life


async def _long_parts(world: InstallWorld, program: Program, life: InstallLife) -> None:
    obj = await world.client.get(CMD, Key("", "cluster"))
    refs = [ObjectRef.parse(text) for text in obj["status"]["inventory"]]
    life.repairs = await disturb_installation(world.client, refs, partial(recovered, world, NEXT))
    await at_rest(program)
    life.rss = max(life.rss, program.rss())
    before = program.rss()
    await create_all(world.client, map(foreign_secret, foreign_keys()))
    await at_rest(program)
    life.rss_with_foreign = life.rss + program.rss() - before


async def _begun(program: Program) -> None:
    await asyncio.to_thread(program.line)
    await at_rest(program)


# What it comes to


def _result(lives: dict[str, list[InstallLife]], work: Difference, count: int) -> Result:
    return Result(
        "install",
        f"cert-manager {FIRST} ({work.objects} objects), once more without a change, and then "
        f"{NEXT} ({work.changed} objects changed or new, {work.pruned} gone), on a real control "
        "plane whose node runs the real cert-manager. Helm: `helm upgrade --install`, which waits "
        "for nothing; its processor time is that of its process. certwright: the operator runs, "
        "its custom resource is created, touched and changed; its processor time is taken until it "
        "is at rest after it found that certificates can be issued. Calls are those of the subject "
        "in the API server's audit log, the Lease of the election aside; dry runs and events are "
        "not among the writes and are shown with them. Each object is disturbed when cert-manager "
        "works again after the one before: a registration stays away while no webhook answers.",
        {name: _figures(of) for name, of in lives.items()},
        _bars(lives, work),
        count,
    )


def _figures(lives: list[InstallLife]) -> Figures:
    figures: dict[str, float | str] = {}
    for step in STEPS:
        phases = [life.phases[step] for life in lives if step in life.phases]
        if not phases:
            continue
        figures[f"{step}, CPU s"] = _median(phases, lambda p: p.cpu)
        figures[f"{step}, s"] = _median(phases, lambda p: p.seconds)
        figures[f"{step}, calls"] = phases[-1].calls.text()
    if lives[-1].rss:
        figures["resident, MiB"] = max(life.rss for life in lives) / MIB
    if repairs := lives[0].repairs.slowest:
        slowest = sorted(repairs.items(), key=lambda item: -item[1])[:5]
        figures["repairs"] = len(lives[0].repairs.seconds)
        figures["deletion by the server, longest s"] = lives[0].repairs.longest_going
        figures["not deleted by the server"] = ", ".join(lives[0].repairs.stuck) or "none"
        figures["repairs, median s"] = statistics.median(lives[0].repairs.seconds)
        figures["slowest repairs"] = ", ".join(f"{what} {took:.2f} s" for what, took in slowest)
    return figures


def _median(phases: list[InstallPhase], figure: Callable[[InstallPhase], float]) -> float:
    return statistics.median(map(figure, phases))


def _bars(lives: dict[str, list[InstallLife]], work: Difference) -> list[Bar]:
    own, theirs = lives["certwright"], lives["helm"]
    first, repairs = own[0], own[0].repairs

    def most(step: str) -> int:
        return max(life.phases[step].calls.writes for life in own)

    def cpu(step: str) -> float:
        ratios = (
            ours.phases[step].cpu / other.phases[step].cpu
            for ours, other in zip(own, theirs, strict=True)
        )
        return statistics.median(ratios)

    return [
        at_most(
            f"install of {work.objects} objects: writes", most("install"), work.objects + 8, ""
        ),
        exactly("installed, nothing changed: writes", most("unchanged"), 0),
        exactly("installed, operator started again: writes", most("restart"), 0),
        at_most("upgrade: writes", most("upgrade"), work.changed + work.pruned + 10, ""),
        at_most("install: CPU", cpu("install"), 0.5, "times Helm"),
        at_most("nothing changed: CPU", cpu("unchanged"), 0.25, "times Helm"),
        at_most("upgrade: CPU", cpu("upgrade"), 0.25, "times Helm"),
        at_most("install operator: memory", max(life.rss for life in own) / MIB, 80, "MiB"),
        at_most(
            "install operator: more memory with 30,000 foreign Secrets",
            (first.rss_with_foreign - first.rss) / MIB,
            5,
            "MiB",
        ),
        exactly(
            "installed objects, each edited, added to, deleted: not repaired",
            len(repairs.missing),
            0,
        ),
        at_most(
            "installed objects: deletion by the server, longest", repairs.longest_going, 30, "s"
        ),
        at_most(
            "installed objects: time to repair, 99th percentile", repairs.percentile(99), 1, "s"
        ),
        exactly("registrations seen without a CA", len(repairs.empty), 0),
    ]

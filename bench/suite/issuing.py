"""1,000 CertificateRequests on a real API server: how fast they are issued, and at what cost."""

import asyncio
import statistics
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bench.apimetrics import Usage, usage
from bench.issuingworkload import (
    CERT_MANAGERS,
    OURS,
    IssuerKind,
    authority_secret,
    names,
    publish,
    signing_requests,
    until_ready,
    witnessed,
)
from bench.meter import Task
from bench.processes import ROOT, Child, Program
from bench.result import Bar, Figures, Result, at_least, at_most, exactly
from bench.suite.managed_resources import at_rest
from certwright import pki
from certwright.client import Client, connect, until_served
from certwright.issuers.ca import app
from certwright.kube import JsonObject
from certwright.testkit.certmanager import obtain_cert_manager, official_definitions
from certwright.testkit.controlplane import ControlPlane, control_plane

REQUESTS = 1_000
HELD = 10_000
BURST = 2_000
STALLED = 100
BARE, CERTWRIGHT, CERT_MANAGER = "bare loop", "certwright", "cert-manager"
NAMESPACES = {BARE: "bare", CERTWRIGHT: "keep", CERT_MANAGER: "other"}
ASIDE = ("leases", "selfsubjectaccessreviews", "subjectaccessreviews")
"""Calls that concern no object of anybody's: the look at permissions before the start."""
MIB = 2**20


@dataclass(frozen=True)
class Issued:
    """What one subject needed for all requests."""

    seconds: float
    own_cpu: float
    total_cpu: float
    """Until the process came to rest: events are written behind."""
    server_cpu: float
    requests: Usage
    """Calls about CertificateRequests until the subject came to rest."""
    reads: int
    """Reads of whatever kind until all were issued."""
    events: int
    """Events written before all were issued."""
    trailing_events: int
    """Events written afterwards."""
    rss: int
    """Memory at rest."""


@dataclass
class Long:
    """What is measured once: it takes long, and does not vary."""

    rss: int = 0
    rss_after_restart: int = 0
    restart_writes: int = 0
    issued_before: int = 0
    stall_ms: float = 0.0
    stall_wall_ms: float = 0.0
    burst_events: int = 0
    """Events written for a burst of requests, until the process came to rest."""
    burst_trailing: int = 0
    """Those of them that were written when all were issued."""


@dataclass
class Found:
    """Everything that was measured."""

    issued: dict[str, list[Issued]] = field(
        default_factory=lambda: {name: [] for name in NAMESPACES}
    )
    long: Long = field(default_factory=Long)


def run(runs: int) -> Result:
    """Measure throughput once per run; memory, restart, stalls and a burst only once."""
    return _result(asyncio.run(_run(runs)), runs)


async def _run(runs: int) -> Found:
    found = Found()
    for number in range(runs):
        csrs = signing_requests(names(REQUESTS))
        async with fresh() as (plane, client):
            found.issued[BARE].append(await bare(plane, client, csrs))
        async with fresh() as (plane, client):
            found.issued[CERT_MANAGER].append(await cert_managers(plane, client, csrs))
        async with fresh() as (plane, client):
            found.issued[CERTWRIGHT].append(await ours(plane, client, csrs))
            if number == 0:
                await hold(plane, client, found.long)
    async with fresh() as (plane, client):
        await burst(plane, client, found.long)
        await stall(plane, client, found.long)
    return found


@asynccontextmanager
async def fresh() -> AsyncIterator[tuple[ControlPlane, Client]]:
    """Run a control plane without history, for one subject."""
    async with control_plane(controllers=()) as plane, connect(plane.kubeconfig) as client:
        await install(client)
        yield plane, client


async def install(client: Client) -> None:
    """Install the official definitions, ours, and an authority in every namespace."""
    for manifest in (*await asyncio.to_thread(official_definitions), *app.crds()):
        await until_served(client, await client.create(manifest))
    for namespace in NAMESPACES.values():
        await client.create(_namespace(namespace))
        await client.create(authority_secret(namespace))
    await client.create(OURS.manifest(NAMESPACES[CERTWRIGHT]))
    await client.create(CERT_MANAGERS.manifest(NAMESPACES[CERT_MANAGER]))


# The three


async def bare(plane: ControlPlane, client: Client, csrs: dict[str, bytes]) -> Issued:
    """Let the bare loop write what it has prepared."""
    namespace = NAMESPACES[BARE]
    await publish(client, namespace, csrs, OURS)
    with Program("subjects.bare_issuer", _task(plane, namespace)) as program:
        await asyncio.to_thread(program.line)
        return await measure(client, program, namespace, program.go_on, len(csrs))


async def ours(
    plane: ControlPlane, client: Client, csrs: dict[str, bytes], root: Path = ROOT
) -> Issued:
    """Let the issuer `ca` sign."""
    namespace = NAMESPACES[CERTWRIGHT]
    async with issuer(plane, client, namespace, root=root) as program:
        return await resumed(client, program, namespace, csrs, OURS)


async def cert_managers(plane: ControlPlane, client: Client, csrs: dict[str, bytes]) -> Issued:
    """Let cert-manager's own CA issuer sign."""
    namespace = NAMESPACES[CERT_MANAGER]
    assets = await asyncio.to_thread(obtain_cert_manager)
    command: list[str | Path] = [
        assets.controller,
        f"--kubeconfig={plane.kubeconfig}",
        "--workers=20",
    ]
    with (
        (plane.folder / "cert-manager.log").open("wb") as log,
        Child(command, log=log) as controller,
    ):
        await until_ready(client, namespace, CERT_MANAGERS)
        await at_rest(controller)
        return await resumed(client, controller, namespace, csrs, CERT_MANAGERS)


@asynccontextmanager
async def issuer(
    plane: ControlPlane,
    client: Client,
    namespace: str,
    *,
    stalls: bool = False,
    root: Path = ROOT,
) -> AsyncIterator[Program]:
    """Run our issuer until the end of the context; it is ready and at rest."""
    task = _task(plane, namespace, stalls=stalls)
    with Program("subjects.certwright_issuer", task, root=root) as program:
        await asyncio.to_thread(program.line)
        await until_ready(client, namespace, OURS)
        if not stalls:  # watching for them, the process is never at rest
            await at_rest(program)
        yield program


async def resumed(
    client: Client, child: Child, namespace: str, csrs: dict[str, bytes], kind: IssuerKind
) -> Issued:
    """Make all requests while the subject is paused, and measure from when it goes on.

    So nobody but subject, API server and witness has anything to do meanwhile.
    """
    child.pause()
    await publish(client, namespace, csrs, kind)
    return await measure(client, child, namespace, child.resume, len(csrs))


async def measure(
    client: Client, child: Child, namespace: str, begin: Callable[[], None], count: int
) -> Issued:
    """Measure from *begin* until the witness has seen all requests issued, and what trails."""
    clock = asyncio.get_running_loop().time
    async with witnessed(client, namespace) as witness:
        before, events = await usage(client, but=ASIDE), await usage(client, "events")
        requests, cpu = await usage(client, "certificaterequests"), child.cpu()
        began = clock()
        begin()
        await witness.sees_issued(count)
        seconds, own = clock() - began, child.cpu() - cpu
        after, written = await usage(client, but=ASIDE), await usage(client, "events")
        await at_rest(child)
    trailing = await usage(client, "events")
    return Issued(
        seconds,
        own,
        child.cpu() - cpu,
        after.cpu - before.cpu,
        (await usage(client, "certificaterequests")).since(requests),
        after.since(before).reads,
        written.since(events).writes,
        trailing.since(written).writes,
        child.rss(),
    )


# What takes long


async def burst(plane: ControlPlane, client: Client, long: Long) -> None:
    """Have many requests at once answered, and count the events that are left to write."""
    one = await ours(plane, client, signing_requests(names(BURST)))
    long.burst_events, long.burst_trailing = one.events + one.trailing_events, one.trailing_events


async def hold(plane: ControlPlane, client: Client, long: Long) -> None:
    """Have one process issue many, then another one start where all are issued."""
    namespace = NAMESPACES[CERTWRIGHT]
    async with issuer(plane, client, namespace) as program, witnessed(client, namespace) as witness:
        csrs = signing_requests(names(HELD, "held"))
        await publish(client, namespace, csrs, OURS)
        await witness.sees_issued(REQUESTS + HELD)
        await at_rest(program)
        long.rss = program.rss()
    before = await usage(client, but=ASIDE)
    async with issuer(plane, client, namespace) as program:
        long.restart_writes = (await usage(client, but=ASIDE)).since(before).writes
        long.issued_before = REQUESTS + HELD
        long.rss_after_restart = program.rss()


async def stall(plane: ControlPlane, client: Client, long: Long) -> None:
    """Sign with an RSA key of 4096 bits and see how long the loop is held up."""
    namespace = "slow"
    key = await asyncio.to_thread(pki.generate_key, pki.KeySpec(pki.KeyAlgorithm.RSA, 4096))
    await client.create(_namespace(namespace))
    await client.create(authority_secret(namespace, key))
    await client.create(OURS.manifest(namespace))
    async with (
        issuer(plane, client, namespace, stalls=True) as program,
        witnessed(client, namespace) as witness,
    ):
        program.go_on()
        await publish(client, namespace, signing_requests(names(STALLED)), OURS)
        await witness.sees_issued(STALLED)
        program.go_on()
        told = await asyncio.to_thread(program.line)
        long.stall_ms, long.stall_wall_ms = told["stall_ms"], told["wall_ms"]


def _task(plane: ControlPlane, namespace: str, *, stalls: bool = False) -> str:
    task = Task(kubeconfig=str(plane.kubeconfig), namespace=namespace, stalls=stalls)
    return msgspec.json.encode(task).decode()


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


# What it comes to


def _result(found: Found, runs: int) -> Result:
    return Result(
        "issuing",
        f"{REQUESTS:,} approved CertificateRequests (P-256, the official definitions) on a real "
        "etcd and kube-apiserver, until one witness has seen all of them issued. Our issuer and "
        "cert-manager (its own CA issuer, 20 workers, without its webhook) run, are paused while "
        "the requests are made and approved, and go on with all of them. The bare loop makes the "
        "same single write with aiohttp and uvloop, 20 at a time, all certificates signed "
        "beforehand. Each has servers of its own. Writes and reads are the API server's count. "
        f"Memory, restart, stalls and the burst of {BURST:,} are from one run. A stall is the "
        "longest stretch in which the event loop did not come round, but for the time its thread "
        "waited for a processor.",
        {name: _figures(of) for name, of in found.issued.items()} | {"held": _held(found.long)},
        _bars(found),
        runs,
    )


def _figures(of: list[Issued]) -> Figures:
    return {
        "issued, per second": REQUESTS / _median(of, lambda one: one.seconds),
        "own CPU ms each": _each(of, lambda one: 1000 * one.own_cpu),
        "own CPU ms each, with what trails": _each(of, lambda one: 1000 * one.total_cpu),
        "kube-apiserver CPU ms each": _each(of, lambda one: 1000 * one.server_cpu),
        "writes each": _each(of, lambda one: one.requests.writes),
        "reads each": _each(of, lambda one: one.reads),
        "events each": _each(of, lambda one: one.events),
        "trailing events each": _each(of, lambda one: one.trailing_events),
    }


def _held(long: Long) -> Figures:
    return {
        "issued requests": long.issued_before,
        "RSS MiB, all but the first thousand issued by this process": long.rss / MIB,
        "RSS MiB, started when all were issued": long.rss_after_restart / MIB,
        "RSA 4096: longest stall, ms": long.stall_ms,
        "RSA 4096: longest stall, in wall time, ms": long.stall_wall_ms,
        f"burst of {BURST:,}: events": long.burst_events,
        f"burst of {BURST:,}: trailing events": long.burst_trailing,
    }


def _median(of: list[Issued], figure: Callable[[Issued], float]) -> float:
    return statistics.median(map(figure, of))


def _each(of: list[Issued], figure: Callable[[Issued], float]) -> float:
    return _median(of, figure) / REQUESTS


def _bars(found: Found) -> list[Bar]:
    own, long = found.issued[CERTWRIGHT], found.long

    def ratio(to: str) -> float:
        pairs = zip(found.issued[to], own, strict=True)
        return statistics.median(other.seconds / one.seconds for other, one in pairs)

    writes = max((one.requests.writes for one in own), key=lambda count: abs(count - REQUESTS))
    return [
        at_least(f"{REQUESTS:,} CertificateRequests: throughput", ratio(BARE), 0.8, "of bare"),
        at_least("throughput", ratio(CERT_MANAGER), 1.5, "of cert-manager's CA issuer"),
        exactly("status writes for all", writes, REQUESTS),
        exactly("reads for all", max(one.reads for one in own), 0),
        at_most(f"burst of {BURST:,}: trailing events", long.burst_trailing, 50, ""),
        exactly(f"restart with {long.issued_before:,} issued: writes", long.restart_writes, 0),
        at_most(f"memory with {long.issued_before:,} issued", long.rss / MIB, 80, "MiB"),
        at_most("memory after a restart", long.rss_after_restart / MIB, 80, "MiB"),
        at_most("RSA 4096: event-loop stall", long.stall_ms, 20, "ms"),
    ]

"""Reviews per second and core, how long each takes, and certificates that change under load.

Once sent straight to the server, and once by a real API server that is asked for dry runs.

Times mean something only if the processors are free. Where they are not, real-time priority helps:
``chrt -r 5 python -m bench webhook``.
"""

import asyncio
import os
import statistics
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from bench.processes import Program
from bench.result import Figures, Result, at_least, at_most, exactly
from bench.subjects.webhook_server import WEBHOOKS
from bench.webhookworkload import Certificates, Direct, Outcomes, at_rate, saturate
from certwright.client import connect
from certwright.testkit.controlplane import ControlPlane, control_plane
from certwright.webhook import Registration, configurations

REVIEWS = 10_000
IN_FLIGHT = 16
RATE = 500
SECONDS = 10
SWAPS = 50
CONNECTIONS = 32
MUTATED = '"team":"bench"'
"""What a webhook adds to an object."""


def run(runs: int) -> Result:
    return asyncio.run(_run(runs))


async def _run(runs: int) -> Result:
    direct = [await _direct() for _ in range(runs)]
    real = [await _real() for _ in range(runs)]
    shown = {"straight": _median(direct), "by kube-apiserver": _median(real)}
    ours, through = shown["straight"], shown["by kube-apiserver"]
    return Result(
        "webhook",
        "A validating and a mutating webhook in one process, TLS 1.3, on uvloop. Straight: "
        f"{REVIEWS:,} reviews of the creation of a 3.4 kB Deployment, {IN_FLIGHT} at a time; then "
        f"{RATE} per second for {SECONDS} s, timed from when each was due; then the same while the "
        f"certificate is swapped {SWAPS} times as kubelet does. By kube-apiserver: dry-run creates "
        f"of ConfigMaps, sent by a process of their own, {RATE // 2} per second, each reviewed by "
        "both webhooks; the time is that of the whole request, and beside it that of the same "
        "requests before the webhooks were registered. The API server collects no garbage "
        "meanwhile: on two processors its collector takes both of them for 50 ms every 2.4 s, and "
        "more than one request in a hundred waits for that; one row shows the times with it.",
        shown,
        [
            at_least("webhook: reviews", float(ours["reviews per CPU-second"]), 3000, "/s/core"),
            at_most(f"webhook: 99 % at {RATE}/s", float(ours["99 %, ms"]), 10, "ms"),
            exactly(
                f"webhook: failed while {SWAPS} certificates were swapped",
                int(ours["failed in swaps"]) + int(through["failed in swaps"]),
                0,
            ),
            at_most(
                f"webhook: added to 99 % of requests by two reviews, {RATE} reviews/s",
                float(through["99 %, ms"]) - float(through["99 % without webhooks, ms"]),
                10,
                "ms",
            ),
            at_most(
                f"webhook: 99 % of requests with two reviews, {RATE} reviews/s",
                float(through["99 %, ms"]),
                10,
                "ms",
            ),
        ],
        runs,
    )


def _median(found: list[Figures]) -> Figures:
    """Return the medians; of failures, the sum."""
    return {
        name: sum(one[name] for one in found)  # type: ignore[misc]
        if name.startswith("failed")
        else statistics.median(float(one[name]) for one in found)
        for name in found[0]
    }


async def _direct() -> Figures:
    with tempfile.TemporaryDirectory() as directory:
        certificates = Certificates(Path(directory))
        with Program("subjects.webhook_server", directory, "0") as server:
            port = server.line()["port"]
            direct = Direct(certificates, port, CONNECTIONS)
            try:
                await saturate(direct.send, 500, IN_FLIGHT)
                before = server.cpu()
                full = await saturate(direct.send, REVIEWS, IN_FLIGHT)
                used = server.cpu() - before
                steady = await at_rate(direct.send, RATE, lambda n: n >= RATE * SECONDS)
                swapped = await _under_swaps(direct.send, RATE, certificates, port)
            finally:
                await direct.close()
    return {
        "reviews per CPU-second": REVIEWS / used,
        **_latencies(steady),
        "99 % while swapped, ms": swapped.percentile(99),
        "reviews while swapped": len(swapped.seconds),
        "failed": full.failed + steady.failed,
        "failed in swaps": swapped.failed,
    }


async def _real() -> Figures:
    """Measure through an API server as it is, and through one that collects no garbage."""
    async with control_plane(controllers=()) as plane, _registered(plane) as (load, _, _):
        usual = await load.steady(MUTATED)
    with _without_collector():
        async with (
            control_plane(controllers=()) as plane,
            _registered(plane) as (load, server, swap),
        ):
            before = server.cpu()
            steady = await load.steady(MUTATED)
            used = server.cpu() - before
            swapped = await load.during(MUTATED, swap)
    return {
        "reviews per CPU-second": 2 * len(steady.seconds) / used,
        **_latencies(steady),
        "50 % without webhooks, ms": load.alone.percentile(50),
        "99 % without webhooks, ms": load.alone.percentile(99),
        "99 % with its garbage collector, ms": usual.percentile(99),
        "99 % while swapped, ms": swapped.percentile(99),
        "reviews while swapped": 2 * len(swapped.seconds),
        "failed": usual.failed + steady.failed,
        "failed in swaps": swapped.failed,
    }


class _Load:
    """A process that sends dry runs."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.alone = Outcomes()
        """What was found before webhooks were registered."""

    async def steady(self, wanted: str) -> Outcomes:
        """Send for some time; each answer has to contain a text."""
        return await self.during(wanted, lambda: asyncio.sleep(SECONDS))

    async def during(self, wanted: str, work: Callable[[], Awaitable[None]]) -> Outcomes:
        """Send as long as something else takes."""
        self._program.go_on(wanted)
        await work()
        self._program.go_on()
        found = await asyncio.to_thread(self._program.line)
        return Outcomes(found["seconds"], found["failed"])


@asynccontextmanager
async def _registered(
    plane: ControlPlane,
) -> AsyncIterator[tuple[_Load, Program, Callable[[], Awaitable[None]]]]:
    """Run webhooks that an API server calls, and a load; also yields what swaps certificates."""
    with tempfile.TemporaryDirectory() as directory:
        certificates = Certificates(Path(directory))
        with (
            Program("subjects.webhook_server", directory, "0") as server,
            Program("dryrunload", str(plane.kubeconfig), str(RATE // 2)) as program,
        ):
            port, load = server.line()["port"], _Load(program)
            program.line()
            await load.steady("")  # an API server that has just started is busy with itself
            load.alone = await load.steady("")
            where = Registration("bench", url=f"https://127.0.0.1:{port}")
            async with connect(plane.kubeconfig) as client:
                for obj in configurations(where, WEBHOOKS, certificates.authority.certificate):
                    await client.apply(obj)
            await asyncio.sleep(1)
            while (await load.during(MUTATED, lambda: asyncio.sleep(1))).failed:
                pass  # the API server does not call both yet
            yield load, server, partial(certificates.swap_often, port, SWAPS)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let servers in Go that are started meanwhile collect no garbage."""
    before = os.environ.get("GOGC")
    os.environ["GOGC"] = "off"
    try:
        yield
    finally:
        del os.environ["GOGC"]
        if before is not None:
            os.environ["GOGC"] = before


async def _under_swaps(send, rate: int, certificates: Certificates, port: int) -> Outcomes:
    async with asyncio.TaskGroup() as group:
        swaps = group.create_task(certificates.swap_often(port, SWAPS))
        load = group.create_task(at_rate(send, rate, lambda _: swaps.done()))
    return load.result()


def _latencies(found: Outcomes) -> Figures:
    return {"50 %, ms": found.percentile(50), "99 %, ms": found.percentile(99)}

"""Reviews per second and core, how long each takes, and certificates that change under load.

Once sent straight to the server, and once by a real API server that is asked for dry runs.
"""

import asyncio
import statistics
import tempfile
from pathlib import Path

from bench.processes import Program
from bench.result import Figures, Result, at_least, at_most, exactly
from bench.subjects.webhook_server import WEBHOOKS
from bench.webhookworkload import Certificates, Direct, Outcomes, at_rate, saturate
from certwright.client import Client, connect
from certwright.kube import ApiError
from certwright.testkit.controlplane import ControlPlane, control_plane
from certwright.webhook import Registration, configurations

REVIEWS = 10_000
IN_FLIGHT = 16
RATE = 500
SECONDS = 10
SWAPS = 50
CONNECTIONS = 32


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
        f"of ConfigMaps, each reviewed by both webhooks, {RATE // 2} per second; the time is that "
        "of the whole request, and beside it that of the same requests before the webhooks were "
        "registered: what is much above 10 ms there already is the queue for the processors, which "
        "all processes share.",
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
    async with control_plane(controllers=()) as plane:
        return await _through(plane)


async def _through(plane: ControlPlane) -> Figures:
    with tempfile.TemporaryDirectory() as directory:
        certificates = Certificates(Path(directory))
        with Program("subjects.webhook_server", directory, "0") as server:
            port = server.line()["port"]
            async with connect(plane.kubeconfig, max_in_flight=CONNECTIONS) as client:
                rate = RATE // 2
                alone = await at_rate(_dry_run(client, {}), rate, lambda n: n >= rate * SECONDS)
                where = Registration("bench", url=f"https://127.0.0.1:{port}")
                for obj in configurations(where, WEBHOOKS, certificates.authority.certificate):
                    await client.apply(obj)
                request = _dry_run(client, {"team": "bench"})
                while not await request(0):
                    await asyncio.sleep(0.1)
                before = server.cpu()
                steady = await at_rate(request, rate, lambda n: n >= rate * SECONDS)
                used = server.cpu() - before
                swapped = await _under_swaps(request, rate, certificates, port)
    return {
        "reviews per CPU-second": 2 * len(steady.seconds) / used,
        **_latencies(steady),
        "50 % without webhooks, ms": alone.percentile(50),
        "99 % without webhooks, ms": alone.percentile(99),
        "99 % while swapped, ms": swapped.percentile(99),
        "reviews while swapped": 2 * len(swapped.seconds),
        "failed": steady.failed,
        "failed in swaps": swapped.failed,
    }


def _dry_run(client: Client, labels: dict[str, str]):
    async def request(number: int) -> bool:
        metadata = {"namespace": "default", "name": f"bench-{number}"}
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        try:
            made = await client.create(obj, dry_run=True)
        except ApiError:
            return False
        return made["metadata"].get("labels", {}) == labels

    return request


async def _under_swaps(send, rate: int, certificates: Certificates, port: int) -> Outcomes:
    async with asyncio.TaskGroup() as group:
        swaps = group.create_task(certificates.swap_often(port, SWAPS))
        load = group.create_task(at_rate(send, rate, lambda _: swaps.done()))
    return load.result()


def _latencies(found: Outcomes) -> Figures:
    return {"50 %, ms": found.percentile(50), "99 %, ms": found.percentile(99)}

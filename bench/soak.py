"""``python -m bench.soak --minutes 30``: random requests to ``certwright up``, and its memory.

The process that is looked at is the one that people start, with its operators, samples and live
feed. The requests are those of users and controllers: objects of many kinds come, change and go,
under names that were never used before; lists, pages, watches, reviews, tokens and refusals.
What exists at one time is bounded, so memory has to become flat; the exit code says whether it
did. Everything is on 127.0.0.1, and rate, time and number of requests are bounded.
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bench import machine, report
from bench.processes import Child
from bench.soakworkload import Visitor
from certwright.client import Client, connect
from certwright.clock import SYSTEM
from certwright.kube import ApiError

MOST_MINUTES = 120
MOST_PER_SECOND = 500
SAMPLE_SECONDS = 5.0
MOST_UNDER_WAY = 32
READY_SECONDS = 60.0
WARM_UP = 1 / 3
"""The part of the time in which memory may grow: caches, history and Events fill up."""
ALLOWED = 1.05
"""How many times the memory after the warm-up is allowed at the end."""

Sample = tuple[float, int, int]
"""Seconds since the start, bytes, requests so far."""


async def soak(minutes: float, rate: float, seed: int) -> list[Sample]:
    """Send requests at a steady rate, and note how much memory the process occupies."""
    with tempfile.TemporaryDirectory(prefix="certwright-soak-") as folder:
        kubeconfig, log = Path(folder) / "kubeconfig", Path(folder) / "log"
        start = "from certwright.cli.main import main; main()"
        command = [sys.executable, "-c", start, "up", "--kubeconfig", str(kubeconfig)]
        patience = minutes * 60 + 2 * READY_SECONDS
        with log.open("wb") as file, Child(command, log=file, patience_seconds=patience) as up:
            await _until_said(log, b"  Issued: ")  # the samples come when everything runs
            async with connect(kubeconfig=kubeconfig, max_in_flight=64) as client:
                return await _visit(client, up, minutes * 60, rate, Random(seed))


async def _until_said(log: Path, words: bytes) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while words not in await asyncio.to_thread(log.read_bytes):
            await asyncio.sleep(0.2)


async def _visit(
    client: Client, up: Child, seconds: float, rate: float, rng: Random
) -> list[Sample]:
    visitor = Visitor(client, rng)
    samples: list[Sample] = []
    started, due = SYSTEM.monotonic(), 0.0
    under_way: set[asyncio.Task[None]] = set()

    async def look_on() -> None:
        while True:
            passed = SYSTEM.monotonic() - started
            samples.append((passed, up.rss(), visitor.requests))
            if len(samples) % 6 == 1:
                print(_line(samples[-1], visitor), flush=True)
            await asyncio.sleep(SAMPLE_SECONDS)

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look_on())
        while (now := SYSTEM.monotonic() - started) < seconds:
            if now < due:
                await asyncio.sleep(due - now)
            due = max(due + 1 / rate, now - 1)  # what was missed is not made up for
            if len(under_way) < MOST_UNDER_WAY:
                task = group.create_task(_quietly(visitor.act))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        await visitor.leave()
        looking.cancel()
    return samples


async def _quietly(act: Callable[[], Awaitable[None]]) -> None:
    """Do something at random; that it may be refused is part of it."""
    with contextlib.suppress(ApiError):
        await act()


def _line(sample: Sample, visitor: Visitor) -> str:
    seconds, rss, requests = sample
    return f"{seconds / 60:6.1f} min  {rss / 2**20:7.1f} MiB  {requests:8,} requests  {visitor}"


def judge(samples: list[Sample]) -> tuple[float, float, bool]:
    """Return memory after the warm-up and at the end, in bytes, and whether it is flat."""
    steady = samples[int(len(samples) * WARM_UP) :]
    part = max(1, len(steady) // 5)
    before = statistics.median(rss for _, rss, _ in steady[:part])
    after = statistics.median(rss for _, rss, _ in steady[-part:])
    return before, after, after <= before * ALLOWED


def section(samples: list[Sample], rate: float, where: dict[str, object]) -> str:
    """Return what was found, for the report."""
    before, after, flat = judge(samples)
    minutes, requests = samples[-1][0] / 60, samples[-1][2]
    caption = (
        f"`certwright up` with its operators and samples, on {datetime.now(UTC).date()}"
        f" ({where['cpu']}, {where['cores']} cores, load average {where['load']} at the end):"
        f" {minutes:.0f} minutes of random requests, at most {rate:g} a second, {requests:,} in"
        f" all. Memory (RSS) after the first third: {before / 2**20:.1f} MiB; at the end:"
        f" {after / 2**20:.1f} MiB, which is {'' if flat else '**not** '}flat (at most"
        f" {ALLOWED:g} times). Repeat it with `make soak ARGS='--minutes {minutes:.0f} --rate"
        f" {rate:g}'`."
    )
    step = max(1, len(samples) // 12)
    shown = [*samples[:-1:step], samples[-1]]
    rows = [["minute", "MiB", "requests"]]
    rows += [[f"{s / 60:.1f}", f"{rss / 2**20:.1f}", f"{count:,}"] for s, rss, count in shown]
    return report.series(caption, report.SOAK, rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the section here")
    options = parser.parse_args()
    if not 0 < options.minutes <= MOST_MINUTES or not 0 < options.rate <= MOST_PER_SECOND:
        parser.error(f"at most {MOST_MINUTES} minutes and {MOST_PER_SECOND} requests a second")
    samples = asyncio.run(soak(options.minutes, options.rate, options.seed))
    before, after, flat = judge(samples)
    print(f"{before / 2**20:.1f} MiB after the warm-up, {after / 2**20:.1f} MiB at the end")
    if options.report:
        text = options.report.read_text("utf-8")
        found = section(samples, options.rate, machine.hardware())
        options.report.write_text(report.with_section(text, found), "utf-8")
    sys.exit(0 if flat else "memory is not flat")


if __name__ == "__main__":
    main()

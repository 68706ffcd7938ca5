"""A Secret that changes, and how it reaches all Envoys: beside go-control-plane and marin3r."""

import asyncio
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.result import Bar, Figures, Result, at_most
from bench.xdsworkload import XdsFiles, XdsRun, bare_server, measured, median_of, whole_server

STREAMS = (1_000, 3_000)
PUSHES = 30
MIB = 2**20
OURS, OURS_WHOLE = "certwright, server", "certwright"
THEIRS, THEIRS_WHOLE = "go-control-plane", "marin3r"
SUBJECTS = (THEIRS, OURS, THEIRS_WHOLE, OURS_WHOLE)

Runs = dict[str, dict[int, list[XdsRun]]]
"""By subject and number of streams."""


def run(runs: int) -> Result:
    """Measure all servers in turns."""
    return asyncio.run(_run(runs))


async def _run(count: int) -> Result:
    runs: Runs = {name: {streams: [] for streams in STREAMS} for name in SUBJECTS}
    with tempfile.TemporaryDirectory(prefix="certwright-") as folder:
        files = XdsFiles(Path(folder), PUSHES)
        for _ in range(count):
            for streams in STREAMS:
                for name in SUBJECTS:
                    runs[name][streams].append(await _once(name, files, streams))
        async with bare_server("certwright", files, stalls=True) as subject:
            watched = await measured(subject, files, STREAMS[0])
    return _result(runs, watched, count)


async def _once(name: str, files: XdsFiles, streams: int) -> XdsRun:
    kind = "certwright" if name in {OURS, OURS_WHOLE} else name
    server = bare_server if name in {OURS, THEIRS} else whole_server
    async with server(kind, files) as subject:
        return await measured(subject, files, streams)


# What it comes to


def _result(runs: Runs, watched: XdsRun, count: int) -> Result:
    return Result(
        "xds",
        f"{' and '.join(f'{each:,}' for each in STREAMS)} connections with mTLS (RSA 2048, TLS "
        "1.3), each with a state-of-the-world stream for Clusters, Listeners and one Secret of one "
        f"node, played by one process that is the same for all. The Secret changes {PUSHES} times; "
        "each time all have to have it before the next. Two servers are told what to serve on "
        "standard input (go-control-plane, and ours by itself); two are whole discovery services "
        "that watch a Secret and an EnvoyConfig on a real API server, which shares the machine. "
        "Processor time is that of the server's process until it is at rest; memory is resident, "
        "that of a stream without what the process had before.",
        {name: _figures(of) for name, of in runs.items()},
        _bars(runs, watched),
        count,
    )


def _figures(of: dict[int, list[XdsRun]]) -> Figures:
    figures: dict[str, float | str] = {}
    for streams, found in of.items():
        head = f"{streams:,} streams"
        figures[f"{head}: CPU ms per push"] = median_of(found, lambda one: one.cpu_per_push)
        figures[f"{head}: KiB per stream"] = median_of(found, lambda one: one.kib_per_stream)
        figures[f"{head}: resident, MiB"] = median_of(found, lambda one: one.rss / MIB)
        figures[f"{head}: connect, s"] = median_of(found, lambda one: one.connect)
        figures[f"{head}: write to last Envoy, ms"] = median_of(found, _latency)
        if found[0].writes is not None:
            figures[f"{head}: writes for a new version"] = max(one.writes or 0 for one in found)
    return figures


def _latency(one: XdsRun) -> float:
    return 1000 * statistics.median(one.latencies)


def _bars(runs: Runs, watched: XdsRun) -> list[Bar]:
    bars = []
    for streams in STREAMS:
        bars += _bars_of({name: of[streams] for name, of in runs.items()}, streams)
    first = STREAMS[0]
    writes = max(one.writes or 0 for one in runs[OURS_WHOLE][first])
    return [
        *bars,
        at_most(f"xds, {first:,} Envoys take a new version: API writes", writes, 6, ""),
        at_most(f"xds, {first:,} Envoys take a Secret: event-loop stall", watched.stall, 20, "ms"),
    ]


def _bars_of(runs: dict[str, list[XdsRun]], streams: int) -> list[Bar]:
    def ratio(what: str, figure: Callable[[XdsRun], float], other: str, limit: float) -> Bar:
        ours = OURS if other == THEIRS else OURS_WHOLE
        value = median_of(runs[ours], figure) / median_of(runs[other], figure)
        return at_most(f"xds, {streams:,} streams: {what}", value, limit, f"times {other}")

    return [
        ratio("CPU per push", lambda one: one.cpu_per_push, THEIRS_WHOLE, 0.4),
        ratio("CPU of the server per push", lambda one: one.cpu_per_push, THEIRS, 1.5),
        ratio("memory per stream", lambda one: one.kib_per_stream, THEIRS, 0.5),
        ratio("resident memory", lambda one: one.rss, THEIRS_WHOLE, 0.6),
        ratio("time to connect", lambda one: one.connect, THEIRS, 2.0),
        ratio("Secret written to last Envoy", _latency, THEIRS_WHOLE, 1.0),
    ]

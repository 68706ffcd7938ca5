"""``python -m bench.compare REVISION``: this checkout against another one, in turns.

Both run on the same interpreter and libraries, against the same servers, one after the other in
each round, so that a machine that gets slower gets slower for both. The other revision is checked
out into a temporary folder; only its subjects run from there.
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench import machine, report
from bench.issuingworkload import names, signing_requests
from bench.processes import ROOT, Run, canned_server
from bench.result import Bar, Figures, Result
from bench.suite import creation, issuing, list_watch, managed_resources
from certwright.runtime import configure_logs

Measured = dict[str, float]
"""One run of one side: figure by name."""

ALLOWED = 1.05
"""How many times the processor time and memory of the other revision are allowed."""
TOGETHER = "CPU ms each, with API server and etcd"
"""A figure that is to be below that of revisions that wrote by server-side apply."""
LIMITS = {TOGETHER: 0.93}


@contextlib.contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Check a revision out for the duration of the context."""
    with tempfile.TemporaryDirectory(prefix="certwright-compare-") as folder:
        root = Path(folder) / "checkout"
        git = ["git", "-C", str(ROOT)]
        subprocess.run([*git, "worktree", "add", "--detach", str(root), revision], check=True)
        try:
            yield root
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(root)], check=True)


def _canned(subject: str, root: Path) -> Measured:
    with canned_server(list_watch.OBJECTS, list_watch.EVENTS) as server:
        run = server.measure(subject, root=root)
    calls = {f"calls: {verb}": float(count) for verb, count in run.calls.items()}
    return {"CPU s": Run.total_cpu(run), "memory MB": run.marks["done"]["rss"] / 1e6, **calls}


def _managed_resources(root: Path) -> Measured:
    async def once() -> managed_resources.Life:
        async with managed_resources.fresh("certwright") as (plane, client):
            units = managed_resources.UNITS
            return await managed_resources.ours(plane, client, units, long=False, root=root)

    life, units = asyncio.run(once()), managed_resources.UNITS
    return {
        "CPU ms each": 1000 * life.applied.own_cpu / units,
        "deletion, CPU ms each": 1000 * life.deleted.own_cpu / units,
        "memory MiB": life.rss / 2**20,
        "calls: writes each": round(life.applied.server.writes / units, 2),
        "calls: reads": float(life.applied.server.reads),
        "calls: writes each, deletion": round(life.deleted.server.writes / units, 2),
    }


def _created(root: Path) -> Measured:
    units = creation.UNITS

    async def once() -> managed_resources.Phase:
        async with managed_resources.fresh("certwright") as (plane, client):
            return await creation.created("certwright", plane, client, units, root)

    phase = asyncio.run(once())
    return {
        "CPU ms each": 1000 * phase.own_cpu / units,
        TOGETHER: creation.cpu_ms_each(phase, units),
        "calls: writes each": round(creation.writes_each(phase, units), 2),
        "calls: reads": float(phase.server.reads),
    }


def _issuing(root: Path) -> Measured:
    async def once() -> issuing.Issued:
        async with issuing.fresh() as (plane, client):
            csrs = signing_requests(names(issuing.REQUESTS))
            return await issuing.ours(plane, client, csrs, root)

    one = asyncio.run(once())
    return {
        "CPU ms each": 1000 * one.total_cpu / issuing.REQUESTS,
        "memory MiB": one.rss / 2**20,
        "calls: status writes": float(one.requests.writes),
        "calls: reads": float(one.reads),
    }


SIDES: dict[str, Callable[[Path], Measured]] = {
    "managed-resources": _managed_resources,
    "managed-resources-created": _created,
    "issuing": _issuing,
    "pipeline": lambda root: _canned("certwright_pipeline", root),
    "list-watch": lambda root: _canned("certwright_store", root),
}


def compare(name: str, other: Path, revision: str, rounds: int) -> Result:
    """Run both sides in turns, the one that begins alternating."""
    runs: dict[str, list[Measured]] = {revision: [], "this": []}
    sides = [(revision, other), ("this", ROOT)]
    for number in range(rounds):
        for side, root in sides if number % 2 == 0 else reversed(sides):
            runs[side].append(SIDES[name](root))
    medians = {side: _medians(of) for side, of in runs.items()}
    bars = [_bar(name, figure, medians[revision], medians["this"]) for figure in medians["this"]]
    return Result(name, "", medians, bars, rounds)


def _medians(runs: list[Measured]) -> Figures:
    return {figure: statistics.median(run[figure] for run in runs) for figure in runs[0]}


def _bar(name: str, figure: str, before: Figures, now: Figures) -> Bar:
    old, new = float(before.get(figure, 0.0)), float(now[figure])
    what = f"{name}: {figure}"
    if figure.startswith("calls"):
        return Bar(what, f"≤ {old:g}", f"{new:g}", new <= old)
    ratio, allowed = new / old, LIMITS.get(figure, ALLOWED)
    return Bar(what, f"≤ {allowed:g} times", f"{ratio:.3f} times", ratio <= allowed)


def main() -> None:
    """Compare, print, and write the section of the report if asked to."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("revision", help="what to compare with, such as v0.1.0 or a commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SIDES))
    parser.add_argument("--runs", type=int, default=5, help="rounds (5)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the section here")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SIDES):
        parser.error(f"no comparison {', '.join(sorted(unknown))}; there are {', '.join(SIDES)}")
    configure_logs(level="warning")
    results = []
    with checkout(options.revision) as other:
        for name in options.names or SIDES:
            results.append(compare(name, other, options.revision, options.runs))
            print(report.as_text(results[-1]), flush=True)
    if options.report:
        where, date = machine.describe(), datetime.now(UTC).date().isoformat()
        section = report.comparison(results, options.revision, where, date)
        text = options.report.read_text("utf-8")
        options.report.write_text(report.with_section(text, section), "utf-8")


if __name__ == "__main__":
    main()

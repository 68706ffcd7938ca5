"""LIST 10,000 Deployments and 20,000 watch events, into a store."""

from typing import Any

from bench.processes import Run, canned_server, median
from bench.result import Figures, Result, at_most

OBJECTS, EVENTS = 10_000, 20_000

SUBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "certwright": ("certwright_store", {}),
    "aiohttp+orjson dicts": ("dict_loop", {}),
    "same, no GC": ("dict_loop", {"collect": False}),
    "kubernetes": ("official_store", {}),
    "kopf": ("kopf_events", {"keep": True}),
}


def run(runs: int) -> Result:
    measured: dict[str, list[Run]] = {name: [] for name in SUBJECTS}
    with canned_server(OBJECTS, EVENTS) as server:
        for _ in range(runs):
            for name, (subject, options) in SUBJECTS.items():
                measured[name].append(server.measure(subject, **options))
    bare, ours = measured["aiohttp+orjson dicts"], measured["certwright"]
    cpu = median(ours, Run.total_cpu) / median(bare, Run.total_cpu)
    memory = median(ours, Run.grown) / median(bare, Run.grown)
    return Result(
        "list-watch",
        f"{OBJECTS:,} Deployments of 3.4 kB (two managedFields entries) listed, then {EVENTS:,} "
        "events watched, from a server that answers out of memory. Compared: certwright's "
        "Cache; the least one can write with aiohttp and orjson, which keeps dicts, and the same "
        "with Python's garbage collector off; the official client, typed, pages and Watch; kopf "
        "with one handler that keeps the object. The memory bar compares growth since the start; "
        "the resident row also holds the interpreter and all imports.",
        {name: figures(of) for name, of in measured.items()},
        [
            at_most("list and watch into a store: CPU", cpu, 1.0, "times aiohttp+orjson dicts"),
            at_most(
                "list and watch into a store: memory growth",
                memory,
                0.33,
                "times aiohttp+orjson dicts",
            ),
        ],
        runs,
    )


def figures(runs: list[Run]) -> Figures:
    """Return what is shown of a subject that listed and watched."""
    return {
        "list, CPU s": median(runs, lambda r: r.cpu("start", "listed")),
        "watch, CPU s": median(runs, lambda r: r.cpu("listed", "done")),
        "together, CPU s": median(runs, Run.total_cpu),
        "memory kept, MB": median(runs, Run.grown) / 1e6,
        "bytes per object": median(runs, Run.grown) / OBJECTS,
        "resident, MB": median(runs, lambda r: r.marks["done"]["rss"]) / 1e6,
        "peak, MB": median(runs, lambda r: r.marks["done"]["peak"]) / 1e6,
        "full collection, ms": median(runs, lambda r: r.marks["done"]["gc_ms"]),
        "calls": runs[-1].calls_text(),
        "server, CPU s": median(runs, lambda r: r.server_cpu),
    }

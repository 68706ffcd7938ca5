"""What 10,000 objects in a store weigh, and for how long they stop the event loop."""

from bench.processes import canned_server, median
from bench.result import Result, at_most
from bench.suite.list_watch import OBJECTS


def run(runs: int) -> Result:
    with canned_server(OBJECTS, 1) as server:
        measured = [server.measure("certwright_store", stalls=True) for _ in range(runs)]
    size = median(measured, lambda r: r.grown("listed")) / OBJECTS
    found = {
        name: median(measured, lambda r, name=name, mark=mark: r.marks[mark][name])
        for name, mark in [
            ("gc_ms", "done"),
            ("unsettled_gc_ms", "listed"),
            ("stall_cpu_ms", "listed"),
            ("stall_wall_ms", "listed"),
        ]
    }
    return Result(
        "memory",
        f"{OBJECTS:,} Deployments of 3.4 kB streamed into a store while another task comes round "
        "as often as it can. Memory is the growth of the whole process, connection included. "
        "Collections are timed after `settle_memory()`, which a process calls once its caches "
        "are complete, and before. Stalls count what the process itself computes between two "
        "turns of the loop; the wall time includes what other processes on the machine took.",
        {
            "certwright": {
                "bytes per object": size,
                "full collection, ms": found["gc_ms"],
                "full collection before settling, ms": found["unsettled_gc_ms"],
                "longest stall, CPU ms": found["stall_cpu_ms"],
                "longest stall, wall ms": found["stall_wall_ms"],
            }
        },
        [
            at_most("memory per cached 3.4 kB Deployment", size / 1000, 3.2, "kB"),
            at_most("longest full collection with 10k objects", found["gc_ms"], 10, "ms"),
            at_most("event-loop stall while 10k objects sync", found["stall_cpu_ms"], 20, "ms"),
        ],
        runs,
    )

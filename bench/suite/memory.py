"""What 10,000 objects in a store weigh, and for how long they stop the event loop."""

from bench.processes import canned_server, median
from bench.result import Result, at_most
from bench.suite.list_watch import OBJECTS


def run(runs: int) -> Result:
    with canned_server(OBJECTS, OBJECTS) as server:
        measured = [server.measure("certwright_store", stalls=True) for _ in range(runs)]

    def figure(mark: str, name: str) -> float:
        return median(measured, lambda run: run.marks[mark][name])

    size = median(measured, lambda run: run.grown("listed")) / OBJECTS
    collection, stall = figure("done", "gc_ms"), figure("listed", "stall_cpu_ms")
    return Result(
        "memory",
        f"{OBJECTS:,} Deployments of 3.4 kB streamed into a store while another task comes round "
        "as often as it can. Memory is the growth of the whole process, connection included. "
        "Collections are timed after `release_memory()`, which `certwright run` calls once the "
        "caches are complete, and after every object has been replaced since; before that, the "
        "collector also looks at everything imported. Stalls count what the process itself "
        "computes between two turns of the loop; wall time includes what others took.",
        {
            "certwright": {
                "bytes per object": size,
                "full collection, ms": collection,
                "full collection before settling, ms": figure("listed", "unsettled_gc_ms"),
                "full collection of the empty process, ms": figure("listed", "empty_gc_ms"),
                "longest stall, CPU ms": stall,
                "longest stall, wall ms": figure("listed", "stall_wall_ms"),
            }
        },
        [
            at_most("memory per cached 3.4 kB Deployment", size / 1000, 3.2, "kB"),
            at_most("longest full collection with 10k objects", collection, 10, "ms"),
            at_most("event-loop stall while 10k objects sync", stall, 20, "ms"),
        ],
        runs,
    )

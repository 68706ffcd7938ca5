"""The whole way: list, cache, index, queue, 30,000 reconciles that do nothing."""

from bench.processes import Run, canned_server, median
from bench.result import Result, at_least
from bench.suite.list_watch import EVENTS, OBJECTS, figures

SUBJECTS = {"certwright": "certwright_pipeline", "kopf": "kopf_events"}


def run(runs: int) -> Result:
    measured: dict[str, list[Run]] = {name: [] for name in SUBJECTS}
    with canned_server(OBJECTS, EVENTS) as server:
        for _ in range(runs):
            for name, subject in SUBJECTS.items():
                measured[name].append(server.measure(subject))
    ratio = median(measured["kopf"], Run.total_cpu) / median(measured["certwright"], Run.total_cpu)
    return Result(
        "pipeline",
        f"{OBJECTS:,} Deployments and {EVENTS:,} events, in rounds of {OBJECTS:,} so that no two "
        "of one object are merged: 30,000 reconciles. certwright: Manager and Controller with "
        "store, two indexes, queue and four workers, each reconcile decodes its object. kopf: one "
        "empty event handler; no peering, no posting of events, logging off.",
        {name: figures(of) for name, of in measured.items()},
        [
            at_least(
                "list, cache, index, queue, 30k reconciles: CPU", ratio, 15, "times less than kopf"
            )
        ],
        runs,
    )

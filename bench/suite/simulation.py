"""How many seeds per second the simulator plays."""

from bench.processes import Run, measure, median
from bench.result import Result, at_least

SEEDS = 20


def run(runs: int) -> Result:
    measured = [measure("simulation", objects=SEEDS) for _ in range(runs)]
    fewest = min(run.marks["done"]["fewest"] for run in measured)
    per_second = SEEDS / median(measured, Run.total_cpu)
    return Result(
        "simulation",
        f"{SEEDS} seeds of a scenario with the example controller: greetings created, changed and "
        "deleted under random faults and in random order; every end compared with a calm one. "
        "API events are requests of the controller and events of its watches.",
        {"certwright": {"seeds per CPU-second": per_second, "API events, fewest": fewest}},
        [
            at_least("simulation: speed", per_second, 3, "seeds/s/core"),
            at_least("simulation: API events of every seed", fewest, 200, ""),
        ],
        runs,
    )

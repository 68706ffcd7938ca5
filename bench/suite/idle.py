"""What a controller costs the API server when nothing happens."""

from bench.processes import Run, measure, median
from bench.result import Result, exactly

OBJECTS = 200


def run(runs: int) -> Result:
    measured = [measure("idle", objects=OBJECTS) for _ in range(runs)]
    done = measured[-1].marks["done"]
    other = max(run.marks["done"].get("other", 0) for run in measured)
    return Result(
        "idle",
        f"The example controller with leader election, {OBJECTS} objects with two children each, "
        "on the embedded server: ten virtual minutes after everything is done.",
        {
            "certwright": {
                "lease renewals": done.get("lease", 0),
                "watch renewals": done.get("watch", 0),
                "other requests": other,
                "CPU s": median(measured, Run.total_cpu),
            }
        },
        [exactly("idle for ten minutes: requests besides lease and watch renewals", other, 0)],
        runs,
    )

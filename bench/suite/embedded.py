"""How many writes per second the embedded API server takes."""

from bench.processes import Run, measure, median
from bench.result import Result, at_least

OBJECTS = 3_000


def run(runs: int) -> Result:
    measured = [measure("embedded_server", objects=OBJECTS) for _ in range(runs)]

    def per_second(since: str, until: str) -> float:
        return OBJECTS / median(measured, lambda run: Run.cpu(run, since, until))

    creates, applies = per_second("start", "created"), per_second("applied", "done")
    return Result(
        "embedded-server",
        f"{OBJECTS:,} Widgets (a small custom resource with a schema) created, then applied twice "
        "with a change, through certwright's client, in one process: client and server together "
        "on one core. The first apply takes over fields, the second changes own ones.",
        {
            "certwright": {
                "creates per CPU-second": creates,
                "first applies per CPU-second": per_second("created", "applied"),
                "applies per CPU-second": applies,
            }
        },
        [
            at_least("embedded server: creates", creates, 2000, "/s"),
            at_least("embedded server: applies", applies, 1000, "/s"),
        ],
        runs,
    )

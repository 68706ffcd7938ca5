"""How many writes per second the embedded API server takes."""

from bench.processes import Run, measure, median
from bench.result import Result, at_least

OBJECTS = 3_000


def run(runs: int) -> Result:
    measured = [measure("embedded_server", objects=OBJECTS) for _ in range(runs)]

    def per_second(since: str, until: str) -> float:
        return OBJECTS / median(measured, lambda run: Run.cpu(run, since, until))

    creates, applies = per_second("start", "created"), per_second("applied", "done")
    compared = [measure("embedded_admission", objects=OBJECTS) for _ in range(runs)]

    def unasked(verb: str) -> float:
        return median(compared, lambda run: run.marks["done"][verb])

    return Result(
        "embedded-server",
        f"{OBJECTS:,} Widgets (a small custom resource with a schema) created, then applied twice "
        "with a change, through certwright's client, in one process: client and server together "
        "on one core. The first apply takes over fields, the second changes own ones. How much "
        "it costs that webhooks are looked for although there are none: the same against a server "
        "that does not look, in turns.",
        {
            "certwright": {
                "creates per CPU-second": creates,
                "first applies per CPU-second": per_second("created", "applied"),
                "applies per CPU-second": applies,
                "creates, times those without admission": unasked("creates"),
                "applies, times those without admission": unasked("applies"),
            }
        },
        [
            at_least("embedded server: creates", creates, 2000, "/s"),
            at_least("embedded server: applies", applies, 1000, "/s"),
            *(
                at_least(f"embedded server, no webhook: {verb}", unasked(verb), 0.95, "times")
                for verb in ("creates", "applies")
            ),
        ],
        runs,
    )

"""The command line: ``python -m tests.walk``."""

import asyncio

from tests.walk.journeys import JOURNEYS, Journey
from tests.walk.page import update
from tests.walk.report import picture, text
from tests.walk.tracer import Record, Tracer

from certwright.runtime import configure_logs

RUNS = 3
"""Side branches take their turn sooner or later: of several runs, the middle one counts."""


def walk(journey: Journey) -> Record:
    """Run a journey several times and return the record with the middle number of files."""
    records = []
    for _ in range(RUNS):
        tracer = Tracer()
        asyncio.run(journey(tracer))
        records.append(tracer.record)
    return sorted(records, key=lambda record: len(record.files))[RUNS // 2]


def main() -> None:
    """Walk all journeys, print them and draw them on the architecture page."""
    configure_logs(level="critical")
    for name, (title, journey) in JOURNEYS.items():
        record = walk(journey)
        print("\n".join(text(title, record)), end="\n\n")  # noqa: T201 - a program
        update(name, picture(record))


if __name__ == "__main__":
    main()

"""Does a ManagedResource cost the same among many as among few?"""

import asyncio

from bench.result import Result, at_most, exactly
from bench.suite.managed_resources import OBJECTS, Life, fresh, ours

SIZES = (500, 1_000, 2_000, 4_000)
BAR = 30
"""How long the longest bar of the plot is."""


def run(_: int) -> Result:
    """Measure each size once, on a control plane of its own."""
    return asyncio.run(_run())


async def _run() -> Result:
    lives: dict[int, Life] = {}
    for size in SIZES:
        async with fresh("certwright") as (plane, client):
            lives[size] = await ours(plane, client, size, long=False, delete=False)
    own = {size: 1000 * life.applied.own_cpu / size for size, life in lives.items()}
    server = {size: 1000 * life.applied.server.cpu / size for size, life in lives.items()}
    most = max(own.values())
    return Result(
        "managed-resources-growth",
        "The same as above with more and more ManagedResources, each number on a fresh API server.",
        {
            f"{size:,}": {
                "writes each": life.applied.server.writes / size,
                "reads": life.applied.server.reads,
                "own CPU ms each": own[size],
                "": "█" * round(BAR * own[size] / most),
                "kube-apiserver CPU ms each": server[size],
                "applied and healthy, per second": size / life.applied.seconds,
            }
            for size, life in lives.items()
        },
        [
            exactly(
                "writes for each, whatever their number",
                max(round(life.applied.server.writes / size) for size, life in lives.items()),
                OBJECTS + 2,
            ),
            at_most(
                "own CPU for each of 4,000",
                own[SIZES[-1]] / own[SIZES[0]],
                1.25,
                "times that of 500",
            ),
        ],
        1,
    )

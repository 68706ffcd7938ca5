"""Small writes to an API server: what they are, and in which order they are made."""

import asyncio
from collections.abc import Awaitable, Callable

from bench import meter

CONNECTIONS = 100
IN_FLIGHT = 20
BODY = b"x" * 700
QUERY = (("force", "true"), ("fieldManager", "certwright"))
HEADERS = (
    ("accept", "application/json"),
    ("content-type", "application/apply-patch+yaml"),
    ("user-agent", "bench"),
)


def path(number: int) -> str:
    """Name one of many objects."""
    return f"/api/v1/namespaces/bench/configmaps/settings-{number}"


async def write_all(write: Callable[[int], Awaitable[None]], count: int) -> None:
    """Open all connections at once, then write many times with some of them."""
    await write(0)
    meter.start()
    await _some(write, CONNECTIONS, CONNECTIONS)
    meter.mark("connected", tidy=True)
    await _some(write, count, IN_FLIGHT)
    meter.mark("done", tidy=True)


async def _some(write: Callable[[int], Awaitable[None]], count: int, at_a_time: int) -> None:
    rest = iter(range(count))

    async def worker() -> None:
        for number in rest:
            await write(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_a_time):
            group.create_task(worker())

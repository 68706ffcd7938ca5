"""The loop of what reports: a step whenever something changed, or its time has come."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


async def repeat(
    step: Callable[[], Awaitable[float | None]], wake: asyncio.Event, gather_seconds: float
) -> None:
    """Take steps until cancelled: after *wake*, or after the seconds that the last one returned.

    What follows shortly on a change is gathered, so that one step sees it all. None stands for no
    time: then only changes count. What changes during a step is seen by the next one.
    """
    while True:
        wake.clear()
        wait = await step()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await wake.wait()
        await asyncio.sleep(gather_seconds)

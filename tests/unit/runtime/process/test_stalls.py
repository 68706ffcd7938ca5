import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from certwright.clock import SYSTEM
from certwright.runtime.process.eventloop import StallMonitor


def block(seconds: float) -> None:
    until = SYSTEM.monotonic() + seconds
    while SYSTEM.monotonic() < until:
        pass


@pytest.fixture
def stalls() -> list[Any]:
    return []


@pytest.fixture
def monitor(stalls: list[Any]) -> StallMonitor:
    return StallMonitor(lambda who, seconds: stalls.append((who, seconds)))


async def test_the_result_and_the_awaits_pass_through(
    monitor: StallMonitor, stalls: list[Any]
) -> None:
    async def body() -> str:
        await asyncio.sleep(0)
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "answer")
        value: str = await future
        return value

    assert await monitor.drive("body", body()) == "answer"
    assert stalls == []


async def test_exceptions_pass_through_in_both_directions(monitor: StallMonitor) -> None:
    async def body() -> None:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError as error:
            raise ValueError("too late") from error

    with pytest.raises(ValueError, match="too late"):
        await monitor.drive("body", body())


async def test_cancellation_reaches_the_body(monitor: StallMonitor) -> None:
    seen = []

    async def body() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def driven() -> None:
        await monitor.drive("body", body())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(driven())
        await asyncio.sleep(0)
        task.cancel()
    assert seen == ["cancelled"]


async def test_only_the_step_that_blocks_is_reported(
    monitor: StallMonitor, stalls: list[Any]
) -> None:
    async def body() -> None:
        await asyncio.sleep(0.15)
        block(0.12)
        await asyncio.sleep(0.15)

    await monitor.drive("slow one", body())
    ((who, seconds),) = stalls
    assert who == "slow one"
    assert 0.12 <= seconds < 0.28


async def test_a_step_that_does_not_end_is_seen_while_it_lasts(monitor: StallMonitor) -> None:
    with capture_logs() as logs, monitor:

        async def body() -> None:
            until = SYSTEM.monotonic() + 10
            while SYSTEM.monotonic() < until and not logs:
                pass

        await monitor.drive("endless one", body())
    assert logs[0]["by"] == "endless one"
    outermost = logs[0]["where"][0]
    assert outermost.startswith(f"{__file__}:"), "our own lines help nobody"
    assert outermost.endswith(" in body")

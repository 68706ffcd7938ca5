"""Visits that become due at a steady rate."""

import asyncio

import pytest
from tests.support.arrivals import Arrivals

from certwright.testkit.time.virtual import VirtualLoop


def offer(took: float, answer: str = "") -> Arrivals:
    """Offer ten a second for three seconds to something that takes so many seconds each."""

    async def visit() -> str:
        await asyncio.sleep(took)
        return answer

    async def scenario() -> Arrivals:
        arrivals = Arrivals(10.0, visit)
        async with asyncio.TaskGroup() as group:
            group.create_task(arrivals.run())
            await asyncio.sleep(3.05)
            assert arrivals.stop() >= 3.0
        return arrivals

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario())


@pytest.mark.parametrize("took", [0.0, 0.5, 60.0])
def test_as_many_come_however_long_each_takes(took: float) -> None:
    arrivals = offer(took)
    assert arrivals.done == arrivals.offered == 31
    assert arrivals.failures == []


def test_failures_are_kept() -> None:
    assert offer(0.1, "refused").failures == ["refused"] * 31

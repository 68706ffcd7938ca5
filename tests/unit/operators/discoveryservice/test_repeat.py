"""Steps whenever something changed, or their time has come."""

import asyncio

from certwright.operators.discoveryservice.repeat import repeat
from certwright.testkit.time.virtual import VirtualLoop


def play(*waits: float | None, changes: tuple[float, ...] = ()) -> list[float]:
    """Return when steps were taken, if each returns one of *waits*."""
    taken: list[float] = []

    async def scenario() -> None:
        loop, wake, left = asyncio.get_running_loop(), asyncio.Event(), list(waits)

        async def step() -> float | None:
            taken.append(loop.time())
            return left.pop(0) if left else None

        for at in changes:
            loop.call_at(at, wake.set)
        task = loop.create_task(repeat(step, wake, 1.0))
        await asyncio.sleep(100)
        task.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(scenario())
    return taken


def test_without_a_change_or_a_time_nothing_is_done() -> None:
    assert play(None) == [0.0]


def test_a_step_names_the_time_of_the_next() -> None:
    assert play(5.0, 10.0) == [0.0, 6.0, 17.0]


def test_changes_are_gathered() -> None:
    assert play(None, changes=(3.0, 3.5, 20.0)) == [0.0, 4.0, 21.0]


def test_a_change_comes_before_the_time() -> None:
    assert play(50.0, changes=(3.0,)) == [0.0, 4.0]

"""Time that costs nothing, order that a seed decides, and quiet that can be waited for."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.testkit.time.virtual import Deadlock, Spinning, VirtualLoop

T = TypeVar("T")


def run(main: Callable[[], Coroutine[Any, Any, T]], seed: int = 0, *, shuffle: bool = False) -> T:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed, shuffle=shuffle)) as runner:
        return runner.run(main())


def running() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def test_a_year_passes_at_once_and_the_clock_follows() -> None:
    async def main() -> tuple[timedelta, float]:
        loop = running()
        before = loop.clock.now()
        await asyncio.sleep(365 * 86400)
        return loop.clock.now() - before, loop.time()

    passed, seconds = run(main)
    assert abs(passed - timedelta(days=365)) < timedelta(milliseconds=1)
    assert seconds == 365 * 86400


@given(st.lists(st.floats(0, 1e6), max_size=30))
def test_timers_fire_in_order_at_their_time(delays: list[float]) -> None:
    async def main() -> list[tuple[float, float]]:
        loop = running()
        fired: list[tuple[float, float]] = []
        async with asyncio.TaskGroup() as group:
            for delay in delays:
                group.create_task(note(loop, delay, fired))
        return fired

    async def note(loop: VirtualLoop, delay: float, fired: list[tuple[float, float]]) -> None:
        await asyncio.sleep(delay)
        fired.append((delay, loop.time()))

    fired = run(main)
    assert [when for _, when in fired] == sorted(delays)
    assert all(delay == when for delay, when in fired)


def test_the_clock_starts_far_from_today_and_differently_per_seed() -> None:
    starts = {run(_now, seed) for seed in range(20)}
    assert len(starts) == 20
    assert all(start > datetime(2030, 1, 1, tzinfo=UTC) for start in starts)


async def _now() -> datetime:
    return running().clock.now()


def test_a_jump_moves_the_wall_clock_and_not_the_monotonic_one() -> None:
    async def main() -> tuple[timedelta, float]:
        clock = running().clock
        wall, steady = clock.now(), clock.monotonic()
        clock.jump(timedelta(hours=-1))
        return clock.now() - wall, clock.monotonic() - steady

    assert run(main) == (timedelta(hours=-1), 0)


def test_a_deadlock_names_who_waits() -> None:
    async def wait_for_nothing() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for_nothing(), name="the culprit")

    with pytest.raises(Deadlock, match=r"2 task\(s\) wait: .*the culprit at .*wait"):
        run(main)


def test_a_busy_loop_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certwright.testkit.time.virtual.SPIN_LIMIT", 1000)

    async def main() -> None:
        for _ in range(10_000):
            await asyncio.sleep(0)

    with pytest.raises(Spinning, match="no time passes"):
        run(main)


def test_executor_jobs_run_in_turn_and_take_no_time() -> None:
    def job(value: int) -> int:
        if value < 0:
            raise ValueError("negative")
        return value * 2

    async def main() -> float:
        loop = running()
        assert await asyncio.to_thread(job, 21) == 42
        with pytest.raises(ValueError, match="negative"):
            await loop.run_in_executor(None, job, -1)
        return loop.time()

    assert run(main) == 0


def test_sockets_are_refused_with_a_way_out() -> None:
    async def main() -> None:
        await asyncio.open_connection("localhost", 80)

    with pytest.raises(RuntimeError, match="in-memory transport"):
        run(main)


def test_idle_waits_for_ready_callbacks_and_not_for_later_timers() -> None:
    async def worker(done: list[str]) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        done.append("ready work")
        await asyncio.sleep(10)
        done.append("timer")

    async def main() -> None:
        loop = running()
        done: list[str] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(worker(done))
            await loop.idle()
            assert (done, loop.time()) == (["ready work"], 0)
            await loop.idle(within=9)
            assert (done, loop.time()) == (["ready work"], 0)
            await loop.idle(within=11)
            assert (done, loop.time()) == (["ready work", "timer"], 10)

    run(main)


def test_a_cancelled_wait_for_idle_is_forgotten() -> None:
    async def main() -> None:
        loop = running()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(loop.idle())
            await asyncio.sleep(0)
            waiting.cancel()
        await loop.idle()
        await asyncio.sleep(1)

    run(main)


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> int:
        for _ in range(5000):
            async with asyncio.timeout(3600):
                await asyncio.sleep(0.001)
        return len(running()._timers)

    assert run(main) < 1000


def interleaving(seed: int, *, shuffle: bool = True) -> tuple[str, str]:
    """Three workers that take turns; the order in which they did."""

    async def worker(name: str, log: list[str]) -> None:
        for _ in range(5):
            log.append(name)
            await asyncio.sleep(0)

    async def main() -> tuple[str, str]:
        log: list[str] = []
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(worker(name, log))
        return "".join(log), running().trace.digest()

    return run(main, seed, shuffle=shuffle)


def test_in_order_unless_shuffled() -> None:
    assert interleaving(1, shuffle=False)[0] == "abc" * 5
    assert interleaving(2, shuffle=False) == interleaving(1, shuffle=False)


def test_a_seed_decides_the_order_and_repeats_it() -> None:
    first = [interleaving(seed) for seed in range(20)]
    again = [interleaving(seed) for seed in range(20)]
    assert first == again
    assert len({order for order, _ in first}) > 10
    assert len({digest for _, digest in first}) == 20


@given(st.integers(0, 2**32))
def test_callbacks_of_one_future_and_plain_callbacks_keep_their_order(seed: int) -> None:
    async def main() -> list[tuple[str, int]]:
        loop = running()
        future = loop.create_future()
        log: list[tuple[str, int]] = []

        def note(entry: tuple[str, int], _done: object = None) -> None:
            log.append(entry)

        for number in range(5):
            future.add_done_callback(partial(note, ("future", number)))
            loop.call_soon(note, ("plain", number))
        future.set_result(None)
        await loop.idle()
        return log

    log = run(main, seed, shuffle=True)
    assert [n for kind, n in log if kind == "future"] == [0, 1, 2, 3, 4]
    assert [n for kind, n in log if kind == "plain"] == [0, 1, 2, 3, 4]


def test_tasks_are_cancelled_in_the_same_order_every_time() -> None:
    """Sets of tasks iterate by hash, and the default hash is a memory address."""

    def cancelled_order(shift: int) -> tuple[int, ...]:
        ballast = [object() for _ in range(shift * 37)]  # move the heap about

        async def worker(name: int, log: list[int]) -> None:
            try:
                await asyncio.sleep(1e9)
            except asyncio.CancelledError:
                log.append(name)
                raise

        async def main() -> tuple[int, ...]:
            log: list[int] = []
            with contextlib.suppress(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    for name in range(20):
                        group.create_task(worker(name, log))
                    await asyncio.sleep(1)
                    raise ValueError
            assert len(log) == 20
            assert len(ballast) == shift * 37
            return tuple(log)

        return run(main)

    assert len({cancelled_order(shift) for shift in range(10)}) == 1


def test_timers_of_one_time_run_in_the_order_they_were_set() -> None:
    async def main() -> list[int]:
        loop, seen = running(), list[int]()
        for number in range(20):
            loop.call_at(1.0, seen.append, number)
        await asyncio.sleep(2)
        return seen

    assert run(main) == [*range(20)]


def test_a_closed_loop_takes_nothing_more() -> None:
    loop = VirtualLoop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, print)

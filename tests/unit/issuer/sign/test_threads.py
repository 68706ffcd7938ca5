"""Calls that do not return in time hold a thread, are counted, and are too late."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from certwright.issuer.sign.sign import TimedOut, call
from certwright.issuer.sign.threads import NoThread, Threads

AT_ONCE = timedelta(milliseconds=20)


class Told(list[int]):
    """What the threads told of those that are held."""

    @property
    def last(self) -> int:
        return self[-1]


@pytest.fixture
def overdue() -> Told:
    return Told()


@pytest.fixture
def threads(overdue: Told) -> Iterator[Threads]:
    threads = Threads(2, overdue.append)
    yield threads
    threads.close()


async def until(condition: Callable[..., Any]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


class Slow:
    """A function of an author's that returns when it is told to."""

    def __init__(self) -> None:
        self.started, self.told, self.calls = threading.Event(), threading.Event(), 0

    def sign(self) -> str:
        self.calls += 1
        self.started.set()
        self.told.wait(10)
        return "too late"


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.told.set()


async def test_what_returns_in_time_is_nobodys_business(threads: Threads, overdue: Told) -> None:
    with capture_logs() as logs:
        assert await call(lambda: 7, limit=timedelta(seconds=5), threads=threads.run) == 7
        with pytest.raises(ZeroDivisionError):
            await call(lambda: 1 / 0, limit=timedelta(seconds=5), threads=threads.run)
    assert (overdue.last, logs) == (0, [])


async def test_a_late_call_is_counted_until_it_returns(
    threads: Threads, overdue: Told, slow: Slow
) -> None:
    with capture_logs() as logs:
        with pytest.raises(TimedOut, match="timed out"):
            await call(slow.sign, limit=AT_ONCE, threads=threads.run)
        assert overdue.last == 1
        slow.told.set()
        await until(lambda: overdue.last == 0)
    assert [(one["event"], one["function"]) for one in logs] == [
        ("a call continues in its thread after its time limit", "Slow.sign"),
        ("a call returned after its time limit, its result is dropped", "Slow.sign"),
    ]


async def test_others_are_refused_at_once_while_late_calls_hold_all_threads(
    threads: Threads, overdue: Told, slow: Slow
) -> None:
    for _ in range(2):
        with pytest.raises(TimedOut):
            await call(slow.sign, limit=AT_ONCE, threads=threads.run)
    assert overdue.last == 2
    with pytest.raises(NoThread, match="all 2 threads are held"):
        await call(slow.sign, limit=timedelta(seconds=5), threads=threads.run)
    assert slow.calls == 2, "nothing waits to be called"
    slow.told.set()
    await until(lambda: overdue.last == 0)
    assert await call(lambda: 7, limit=timedelta(seconds=5), threads=threads.run) == 7


async def test_a_call_that_never_got_a_thread_never_happens(overdue: Told, slow: Slow) -> None:
    threads, calls = Threads(1, overdue.append), []
    async with asyncio.TaskGroup() as group:
        first = group.create_task(call(slow.sign, limit=timedelta(5), threads=threads.run))
        await until(slow.started.is_set)
        with pytest.raises(TimedOut):
            await call(lambda: calls.append(1), limit=AT_ONCE, threads=threads.run)
        assert overdue.last == 0, "it holds no thread"
        slow.told.set()
    assert first.result() == "too late"
    assert await threads.run(lambda: calls) == []
    threads.close()

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from certwright.runtime.process.eventloop import CpuPool

current: ContextVar[str] = ContextVar("current", default="nobody")


@pytest.fixture
def pool() -> Iterator[CpuPool]:
    pool = CpuPool(2)
    yield pool
    pool.close()


async def test_work_leaves_the_loop_and_takes_its_context_along(pool: CpuPool) -> None:
    current.set("alice")

    def work(a: int, b: int) -> tuple[int, str, str]:
        return a + b, current.get(), threading.current_thread().name

    result, who, thread = await pool.run(work, 1, b=2)
    assert (result, who) == (3, "alice")
    assert thread != threading.current_thread().name


async def test_exceptions_come_back(pool: CpuPool) -> None:
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 / 0)


async def test_no_thread_before_the_first_job() -> None:
    before = threading.active_count()
    pool = CpuPool(2)
    assert threading.active_count() == before
    pool.close()

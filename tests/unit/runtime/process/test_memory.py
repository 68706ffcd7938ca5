"""Free memory goes back to the machine. Real memory, on Linux with glibc."""

import ctypes
import gc
import subprocess
import sys

import pytest

from certwright.runtime.process.memory import (
    CYCLES_AFTER,
    GROWN_BYTES,
    SURVIVORS_AFTER,
    release_memory,
    resident_bytes,
    trim_grown,
)

MIB = 2**20

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc gives memory back on request",
)


BURST = """
from certwright.runtime.process.memory import resident_bytes, trim_grown

MIB = 2**20
before = resident_bytes()
pieces = [bytes(8 * 1024) for _ in range(4 * 1024)]
last = pieces[-1]  # holds up the heap
del pieces
assert resident_bytes() > before + 24 * MIB, "the allocator keeps it"
assert trim_grown(before) < before + 8 * MIB
"""


def test_what_a_burst_left_behind_goes_back() -> None:
    """In a process of its own: one that has grown before may have room for the burst."""
    subprocess.run([sys.executable, "-c", BURST], check=True)


def test_a_process_that_has_hardly_grown_is_left_alone() -> None:
    now = resident_bytes()
    assert trim_grown(now) == now
    assert trim_grown(now - GROWN_BYTES + MIB) == now - GROWN_BYTES + MIB


def test_a_large_process_may_grow_by_more() -> None:
    ballast = b"x" * (200 * MIB)
    settled = resident_bytes() - 4 * MIB
    assert trim_grown(settled) == settled
    assert len(ballast) == 200 * MIB


def test_cycles_are_looked_for_less_often_than_python_does_and_never_more_often_than_told() -> None:
    told = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        release_memory()
        assert gc.get_threshold() == (CYCLES_AFTER, SURVIVORS_AFTER, 33)
        gc.set_threshold(50_000, 20, 20)
        release_memory()
        assert gc.get_threshold() == (50_000, 20, 20)
    finally:
        gc.unfreeze()
        gc.set_threshold(*told)


HOLES = """
import sys
from certwright.runtime.process.memory import resident_bytes, return_large_blocks
if "returned" in sys.argv:
    return_large_blocks()
b"x" * (16 * 2**20)  # glibc takes it for the new limit when it is freed
large, small = [], []
for number in range(64):
    large.append(b"x" * (512 * 1024 + number))
    small.append(b"x" * (96 * 1024 + number))
before = resident_bytes()
del large
print((before - resident_bytes()) // 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about the allocator of Linux")
@pytest.mark.parametrize(("arguments", "returned"), [([], False), (["returned"], True)])
def test_large_blocks_leave_no_holes(arguments: list[str], *, returned: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOLES, *arguments], capture_output=True, check=True, text=True
    )
    assert (int(done.stdout) > 24) == returned


SETTLES = """
import asyncio
from certwright.client import Client
from certwright.kube.kinds import Secret
from certwright.runtime import DONE, Controller, Manager, MemoryTrimmer, configure_logs
from certwright.runtime.process import memory
from certwright.apiserver import ApiServer

async def main():
    configure_logs(level="error")
    memory.PERIOD_SECONDS, memory.BUSY_PERIODS = 0.01, BUSY_PERIODS
    at_work, finish = asyncio.Event(), asyncio.Event()

    async def reconcile(ctx, key):
        at_work.set()
        await finish.wait()
        return DONE

    client = Client(ApiServer().transport())
    manager = Manager(client, [Controller(Secret, reconcile)])
    manager.add(MemoryTrimmer(manager))
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await asyncio.sleep(0.1)
        metadata = {"namespace": "default", "name": "work"}
        await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        await at_work.wait()
        before = memory.resident_bytes()
        last = [bytes(8 * 1024) for _ in range(4 * 1024)][-1]
        await asyncio.sleep(0.1)
        grown = memory.resident_bytes() - before
        finish.set()
        await asyncio.sleep(0.2)
        print(grown // 2**20, (memory.resident_bytes() - before) // 2**20)
        manager.stop()

asyncio.run(main())
"""


def grown_at_work_and_at_rest(busy_periods: int) -> tuple[int, int]:
    script = SETTLES.replace("BUSY_PERIODS\n", f"{busy_periods}\n")
    done = subprocess.run(  # what is frozen stays so: a process of its own
        [sys.executable, "-c", script], capture_output=True, check=False, text=True
    )
    at_work, at_rest = map(int, done.stdout.split() or pytest.fail(done.stderr))
    return at_work, at_rest


def test_a_process_gives_memory_back_when_it_rests() -> None:
    at_work, at_rest = grown_at_work_and_at_rest(busy_periods=100_000)
    assert at_work > 24
    assert at_rest < 8


def test_a_process_that_never_rests_gives_memory_back_now_and_then() -> None:
    at_work, _ = grown_at_work_and_at_rest(busy_periods=2)
    assert at_work < 8

"""Free memory goes back to the machine. Real memory of this process, on Linux with glibc."""

import ctypes
import gc
import sys

import pytest

from certwright.runtime.memory import (
    CYCLES_AFTER,
    GROWN_BYTES,
    resident_bytes,
    settle_memory,
    trim_grown,
)

MIB = 2**20

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc gives memory back on request",
)


def burst() -> bytes:
    """Allocate 32 MiB in small pieces and free all but the last, which holds up the heap."""
    pieces = [bytes(8 * 1024) for _ in range(4 * 1024)]
    return pieces[-1]


def test_what_a_burst_left_behind_goes_back():
    before = resident_bytes()
    last = burst()
    grown = resident_bytes()
    assert grown > before + 24 * MIB, "the allocator keeps it"
    assert trim_grown(before) < before + 8 * MIB
    assert len(last) == 8 * 1024


def test_a_process_that_has_hardly_grown_is_left_alone():
    now = resident_bytes()
    assert trim_grown(now) == now
    assert trim_grown(now - GROWN_BYTES + MIB) == now - GROWN_BYTES + MIB


def test_a_large_process_may_grow_by_more():
    ballast = b"x" * (200 * MIB)
    settled = resident_bytes() - 4 * MIB
    assert trim_grown(settled) == settled
    assert len(ballast) == 200 * MIB


def test_cycles_are_looked_for_less_often_than_python_does_and_never_more_often_than_told():
    told = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        settle_memory()
        assert gc.get_threshold() == (CYCLES_AFTER, 10, 10)
        gc.set_threshold(50_000, 20, 20)
        settle_memory()
        assert gc.get_threshold() == (50_000, 20, 20)
    finally:
        gc.unfreeze()
        gc.set_threshold(*told)

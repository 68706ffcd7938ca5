"""The error protocol as a table: how a reconcile ended, what happens next."""

import asyncio
from datetime import timedelta
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.client import ConnectFailed
from certwright.kube.errors import Conflict, Forbidden, NotFound, TooManyRequests
from certwright.runtime import (
    DONE,
    WAIT,
    BadObject,
    DeadlineExceeded,
    RequeueAfter,
    TerminalError,
    again,
)
from certwright.runtime.outcome import Fault, RequeueMode, settle

CASES = {
    "done": (DONE, "success", RequeueMode.NONE, 0, None),
    "waits for a change": (WAIT, "success", RequeueMode.NONE, 0, None),
    "again": (again(after=timedelta(seconds=7)), "requeue_after", RequeueMode.LATER, 7, None),
    "failed, as a condition tells": (WAIT.as_failure(), "error", RequeueMode.NONE, 0, None),
    "failed, and tried again": (again(7).as_failure(), "error", RequeueMode.LATER, 7, None),
    "pending": (RequeueAfter("x", after=3), "requeue_after", RequeueMode.LATER, 3, Fault.PENDING),
    "terminal": (TerminalError("x"), "error", RequeueMode.NONE, 0, Fault.TERMINAL),
    "wrong shape": (BadObject("x"), "error", RequeueMode.NONE, 0, Fault.TERMINAL),
    "conflict": (Conflict("x"), "requeue", RequeueMode.NOW, 0, Fault.CONFLICT),
    "refused": (Forbidden("x"), "error", RequeueMode.BACKOFF, 0, Fault.REFUSED),
    "unreachable": (ConnectFailed("x"), "error", RequeueMode.BACKOFF, 0, Fault.REFUSED),
    "sheds load": (
        TooManyRequests("x", retry_after=9), "error", RequeueMode.BACKOFF, 9, Fault.REFUSED,
    ),
    "too slow": (DeadlineExceeded("x"), "error", RequeueMode.BACKOFF, 0, Fault.DEADLINE),
    "a defect": (KeyError("x"), "error", RequeueMode.BACKOFF, 0, Fault.CRASH),
    "recursion": (RecursionError(), "error", RequeueMode.BACKOFF, 0, Fault.CRASH),
    "sys.exit": (SystemExit(1), "error", RequeueMode.BACKOFF, 0, Fault.CRASH),
    "cancels itself": (asyncio.CancelledError(), "error", RequeueMode.BACKOFF, 0, Fault.CRASH),
    "all terminal": (
        ExceptionGroup("x", [TerminalError("a"), ExceptionGroup("y", [BadObject("b")])]),
        "error", RequeueMode.NONE, 0, Fault.TERMINAL,
    ),
    "one of them not terminal": (
        ExceptionGroup("x", [TerminalError("a"), NotFound("b")]),
        "error", RequeueMode.BACKOFF, 0, Fault.REFUSED,
    ),
    "terminal and pending": (
        ExceptionGroup("x", [TerminalError("a"), RequeueAfter("b", after=5), RequeueAfter("c", after=2)]),
        "requeue_after", RequeueMode.LATER, 2, Fault.PENDING,
    ),
    "only conflicts": (
        ExceptionGroup("x", [Conflict("a"), Conflict("b")]),
        "requeue", RequeueMode.NOW, 0, Fault.CONFLICT,
    ),
    "the longest wait of several": (
        ExceptionGroup("x", [TooManyRequests("a", retry_after=1), NotFound("b", retry_after=4)]),
        "error", RequeueMode.BACKOFF, 4, Fault.REFUSED,
    ),
    "a base group with an exit inside": (
        BaseExceptionGroup("x", [SystemExit(), TerminalError("a")]),
        "error", RequeueMode.BACKOFF, 0, Fault.CRASH,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_happens_next(case: tuple[Any, str, StrEnum, int, Fault | None]) -> None:
    ended, result, following, after, fault = case
    settlement = settle(ended, 0)
    assert (settlement.result, settlement.requeue, settlement.after, settlement.fault) == (
        result,
        following,
        after,
        fault,
    )


def test_a_server_that_asks_for_a_year_gets_five_minutes() -> None:
    refusal = TooManyRequests("x", retry_after=31_536_000)
    assert settle(refusal, 0).after == 300


def test_conflicts_are_retried_at_once_only_a_few_times() -> None:
    nexts = [settle(Conflict("x"), failures).requeue for failures in range(5)]
    assert nexts == [
        RequeueMode.NOW,
        RequeueMode.NOW,
        RequeueMode.NOW,
        RequeueMode.BACKOFF,
        RequeueMode.BACKOFF,
    ]


def test_a_group_nested_deeper_than_the_stack_is_no_problem() -> None:
    error: Exception = TerminalError("x")
    for _ in range(100_000):
        error = ExceptionGroup("nested", [error])
    assert settle(error, 0).fault is Fault.TERMINAL
    while isinstance(error, ExceptionGroup):  # take it apart: destroying it whole recurses
        (error,) = error.exceptions


LEAVES = [
    TerminalError("t"),
    RequeueAfter("p", after=1),
    Conflict("c"),
    NotFound("n"),
    ValueError("v"),
]


@given(st.lists(st.sampled_from(LEAVES), min_size=1), st.integers(0, 10))
def test_a_group_rests_only_if_every_leaf_is_terminal(
    leaves: list[Exception], failures: int
) -> None:
    settlement = settle(ExceptionGroup("x", leaves), failures)
    assert (settlement.requeue is RequeueMode.NONE) == all(
        isinstance(e, TerminalError) for e in leaves
    )

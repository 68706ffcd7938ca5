"""The error protocol, decided in one place: how a reconcile ended → what happens next.

`settle` is pure. The workers ask it after every reconcile and do what it says.
"""

from collections.abc import Container, Iterator
from enum import IntEnum, StrEnum
from types import TracebackType

from msgspec import Struct

from certwright.client import TransportError
from certwright.kube import ApiError, Conflict
from certwright.runtime.errors import DeadlineExceeded, RequeueAfter, TerminalError
from certwright.runtime.outcome import Outcome
from certwright.runtime.queue.backoff import LONGEST_WAIT_SECONDS

IMMEDIATE_RETRIES = 3
"""Conflicts in a row that are retried at once; then the cache is late for another reason."""


class Requeue(StrEnum):
    """What happens to the key."""

    NONE = "none"
    """Nothing, until something watched changes. Earlier failures are forgotten."""
    LATER = "later"
    """It comes back after `Settlement.after`. Earlier failures are forgotten."""
    NOW = "now"
    """It comes back at once; the failure counts."""
    BACKOFF = "backoff"
    """It comes back after its back-off, but not before `Settlement.after`; the failure counts."""


class Fault(IntEnum):
    """What went wrong. Of several faults at once the highest decides."""

    TERMINAL = 1
    PENDING = 2
    CONFLICT = 3
    REFUSED = 4
    """The API server said no, or could not be reached."""
    DEADLINE = 5
    CRASH = 6
    """Nobody foresaw this exception: a defect in the reconcile function."""


class Settlement(Struct, frozen=True):
    """What happens next, and how it is counted."""

    result: str
    """The ``result`` label of controller_runtime_reconcile_total."""
    requeue: Requeue
    after: float = 0.0
    fault: Fault | None = None


_SUCCESS = Settlement("success", Requeue.NONE)


def settle(ended: Outcome | BaseException, failures: int) -> Settlement:
    """Decide what happens to a key whose reconcile *ended* like this.

    *failures* is how many attempts failed in a row before this one.
    """
    if isinstance(ended, Outcome):
        if ended.after is None:
            return _SUCCESS
        return Settlement("requeue_after", Requeue.LATER, ended.after)
    leaves = tuple(_leaves(ended))
    fault = max(map(_fault, leaves))
    match fault:
        case Fault.TERMINAL:
            return Settlement("error", Requeue.NONE, fault=fault)
        case Fault.PENDING:
            soonest = min(leaf.after for leaf in leaves if isinstance(leaf, RequeueAfter))
            return Settlement("requeue_after", Requeue.LATER, soonest, fault)
        case Fault.CONFLICT if failures < IMMEDIATE_RETRIES:
            return Settlement("requeue", Requeue.NOW, fault=fault)
        case _:
            return Settlement("error", Requeue.BACKOFF, _retry_after(leaves), fault)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions inside a group. Not recursive: how deep it nests is up to users."""
    rest = [error]
    while rest:
        part = rest.pop()
        if isinstance(part, BaseExceptionGroup):
            rest.extend(part.exceptions)
        else:
            yield part


def _fault(error: BaseException) -> Fault:
    match error:
        case TerminalError():
            return Fault.TERMINAL
        case RequeueAfter():
            return Fault.PENDING
        case Conflict():
            return Fault.CONFLICT
        case ApiError() | TransportError():
            return Fault.REFUSED
        case DeadlineExceeded():
            return Fault.DEADLINE
        case _:
            return Fault.CRASH


def _retry_after(leaves: tuple[BaseException, ...]) -> float:
    """Return how long the API server asked us to stay away, within reason."""
    waits = (leaf.retry_after for leaf in leaves if isinstance(leaf, ApiError))
    longest = max((wait for wait in waits if wait is not None), default=0.0)
    return min(longest, LONGEST_WAIT_SECONDS)


def foreign_traceback(
    error: BaseException, ours: Container[str]
) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """Return the traceback of an error for a logger, without the first frames in our own files."""
    lines = error.__traceback__
    while lines is not None and lines.tb_frame.f_code.co_filename in ours:
        lines = lines.tb_next
    return type(error), error, lines


def describe(error: BaseException) -> str:
    """Return an exception as one line; of a group, what is inside."""
    if isinstance(error, BaseExceptionGroup):
        return f"{error.message}: " + "; ".join(describe(part) for part in error.exceptions[:8])
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

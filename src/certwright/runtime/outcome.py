"""What a reconcile returns or raises, and what happens to its key then.

It returns `DONE` (as it should be), `WAIT` (something is missing that a watched change will
bring; scheduled like `DONE`, and safe only if that change really is watched) or
``again(after=…)``. Failures are raised, not returned, unless a condition of the object tells them
already: then ``WAIT.as_failure()`` has them counted, and nothing more::

    ReconcileError           base of what this package raises around a reconcile
    ├── TerminalError        wrong until the object changes: reported, not retried
    │   └── BadObject        an object in the cluster does not have the shape of its type
    ├── RequeueAfter         not an error: reconcile again after `after`
    └── DeadlineExceeded     the reconcile did not return in time: retried with back-off

Any other exception is retried with back-off. `Conflict` from the API server is retried at
once a few times, because the cause is usually a cache that is about to catch up. Raise an
`ExceptionGroup` to report several failures: it is terminal only if all of its leaves are.

`settle` decides this, here and nowhere else; it is pure. The workers act on its `Settlement`.
"""

from collections.abc import Container, Iterator
from datetime import timedelta
from enum import IntEnum, StrEnum
from types import TracebackType

from msgspec import Struct

from certwright.client import TransportError
from certwright.kube import ApiError, Conflict
from certwright.runtime.queue.backoff import LONGEST_WAIT_SECONDS

IMMEDIATE_RETRIES = 3
"""Conflicts in a row that are retried at once; then the cache is late for another reason."""


class Outcome(Struct, frozen=True):
    """How a reconcile ended. Use `DONE`, `WAIT` or `again`; there are no others."""

    name: str
    after: float | None = None
    """Seconds until the next look, or None."""
    failed: bool = False
    """Whether the reconcile failed, and its status says so."""

    def as_failure(self) -> "Outcome":
        """Return this outcome for a reconcile whose failure a condition tells: it counts as one."""
        return Outcome(self.name, self.after, failed=True)


DONE = Outcome("done")
WAIT = Outcome("wait")


def again(after: timedelta | float) -> Outcome:
    """Return the outcome that looks at the object again *after* a duration (or seconds)."""
    return Outcome("again", seconds(after))


def seconds(duration: timedelta | float) -> float:
    """Return a duration in seconds; `ValueError` if it is not positive: "at once" would spin."""
    value = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 < value < float("inf"):
        raise ValueError(f"a duration must be positive and finite, not {duration!r}")
    return value


class ReconcileError(Exception):
    """Base of the exceptions that mean something to the runtime."""


class TerminalError(ReconcileError):
    """Trying again cannot help: a human or another controller must change the object first.

    Counted, logged and put on the object as an event; the key is not retried until
    something watched changes.
    """


class BadObject(TerminalError):
    """An object in the cluster cannot be read as the type the controller declares for it."""


class RequeueAfter(ReconcileError):
    """Something outside is still in progress; reconcile again after *after*.

    The raising form of `again`, for code deep inside a reconcile. Logged as a fact, not
    as an error, and forgets earlier failures.
    """

    def __init__(self, message: str, *, after: timedelta | float) -> None:
        super().__init__(message)
        self.after = seconds(after)


class DeadlineExceeded(ReconcileError):
    """The reconcile was cancelled because it did not return within its deadline."""


class RequeueMode(StrEnum):
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
    """The API server refused a request, or could not be reached."""
    DEADLINE = 5
    CRASH = 6
    """An exception of no known kind: a defect in the reconcile function."""


class Settlement(Struct, frozen=True):
    """What happens next, and how it is counted."""

    result: str
    """The ``result`` label of controller_runtime_reconcile_total."""
    requeue: RequeueMode
    after: float = 0.0
    fault: Fault | None = None


_SUCCESS = Settlement("success", RequeueMode.NONE)
_FAILURE = Settlement("error", RequeueMode.NONE)


def settle(ended: Outcome | BaseException, failures: int) -> Settlement:
    """Decide what happens to a key whose reconcile *ended* so, after *failures* others in a row."""
    if isinstance(ended, Outcome):
        if ended.after is None:
            return _FAILURE if ended.failed else _SUCCESS
        result = "error" if ended.failed else "requeue_after"
        return Settlement(result, RequeueMode.LATER, ended.after)
    leaves = tuple(_leaves(ended))
    fault = max(map(_fault, leaves))
    match fault:
        case Fault.TERMINAL:
            return Settlement("error", RequeueMode.NONE, fault=fault)
        case Fault.PENDING:
            soonest = min(leaf.after for leaf in leaves if isinstance(leaf, RequeueAfter))
            return Settlement("requeue_after", RequeueMode.LATER, soonest, fault)
        case Fault.CONFLICT if failures < IMMEDIATE_RETRIES:
            return Settlement("requeue", RequeueMode.NOW, fault=fault)
        case _:
            return Settlement("error", RequeueMode.BACKOFF, _retry_after(leaves), fault)


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

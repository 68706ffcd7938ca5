"""What a reconcile raises, and what the runtime then does.

::

    ReconcileError           base of what this package raises around a reconcile
    ├── TerminalError        wrong until the object changes: reported, not retried
    │   └── BadObject        an object in the cluster does not have the shape of its type
    ├── RequeueAfter              not an error: look again after `after`
    └── DeadlineExceeded     the reconcile did not return in time: retried with back-off

Any other exception is retried with back-off. `Conflict` from the API server is retried at
once a few times, because the cause is usually a cache that is about to catch up. Raise an
`ExceptionGroup` to report several failures: it is terminal only if all of its leaves are.
`certwright.runtime.queue.settlement` implements this; nobody else interprets exceptions.
"""

from datetime import timedelta

from certwright.runtime.outcome import seconds


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
    """Something outside is still in progress; look again after *after*.

    The raising form of `again`, for code deep inside a reconcile. Logged as a fact, not
    as an error, and forgets earlier failures.
    """

    def __init__(self, message: str, *, after: timedelta | float) -> None:
        super().__init__(message)
        self.after = seconds(after)


class DeadlineExceeded(ReconcileError):
    """The reconcile was cancelled because it did not return within its deadline."""

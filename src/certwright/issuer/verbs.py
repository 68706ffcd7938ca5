"""What ``sign`` and ``check`` raise, and what the library then does: exceptions as verbs.

::

    SignOutcome
    ├── Permanent          it will never work: the request becomes Failed
    ├── Pending            it is under way: look again after a while, however long it takes
    ├── Retry              try again, but not before a while
    ├── IssuerUnavailable  not this request but its issuer is at fault: both wait until it is fit
    └── WithCondition      adds a condition of the author's own, then the cause decides

Any other exception is retried with growing delays until the retry window closes. The whole
chain of causes is looked at (``raise … from …``, exception groups), so verbs combine.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, get_args

import orjson

from certwright.kube import ConditionStatus

POLL = timedelta(seconds=1)
"""How soon a pending request is looked at again by default."""
STATE_LIMIT = 8192
"""Bytes of JSON; the API server keeps every request in memory, so this is no place for data."""


class SignOutcome(Exception):
    """Base of the exceptions that mean something to the library."""


class Permanent(SignOutcome):
    """Trying again cannot help.

    From ``sign``: the request becomes Failed, for good. From ``check``, or as the cause of
    `IssuerUnavailable`: the issuer is not looked at again until its spec changes.
    """


class Pending(SignOutcome):
    """Not an error: the certificate takes its time, look again *after* a while.

    Not limited by the retry window. *state* is a small mapping (an order's URL, a ticket's number;
    no secrets: all who can read the request can read it) that is kept on the request and comes back
    as ``request.state`` at the next attempt, also after a restart; None keeps what there is.
    """

    def __init__(
        self,
        message: str,
        *,
        after: timedelta | float = POLL,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe what is under way; `ValueError` if *state* is no JSON, or is too large."""
        super().__init__(message)
        if state is not None:
            try:
                size = len(orjson.dumps(dict(state)))
            except TypeError as error:
                raise ValueError(f"the state of Pending is not JSON: {error}") from error
            if size > STATE_LIMIT:
                raise ValueError(f"the state of Pending has {size} bytes, more than {STATE_LIMIT}")
        seconds = after.total_seconds() if isinstance(after, timedelta) else float(after)
        self.after = timedelta(seconds=seconds) if seconds > 0 else POLL
        self.state = None if state is None else dict(state)


class Retry(SignOutcome):
    """An ordinary error that asks for patience: tried again, but not before *after*."""

    def __init__(self, message: str, *, after: timedelta | float) -> None:
        super().__init__(message)
        self.after = after if isinstance(after, timedelta) else timedelta(seconds=after)


class IssuerUnavailable(SignOutcome):
    """The issuer cannot sign, whatever the request is: credentials refused, service down.

    The issuer stops being Ready, with the reason; the request waits, without a time limit, until
    a check succeeds again.
    """


class WithCondition(SignOutcome):
    """Sets a condition of the author's own on the request, then *cause* decides as usual.

    The condition's message is the cause's text; it stays until another one of the same type
    replaces it.

    Raises:
        ValueError: no API server takes such a condition.
    """

    def __init__(
        self,
        type: str,  # noqa: A002 - the API's word
        status: ConditionStatus,
        reason: str,
        cause: BaseException,
    ) -> None:
        super().__init__(str(cause))
        if status not in get_args(ConditionStatus):
            problem = f"the status {status!r}; it must be True, False or Unknown, as a text"
        elif not (type and reason):
            problem = f"the type {type!r} and the reason {reason!r}; neither may be empty"
        else:
            problem = ""
        if problem:
            raise ValueError(f"WithCondition got {problem} (cause: {cause})") from cause
        self.type = type
        self.status: ConditionStatus = status
        self.reason = reason
        self.cause = cause
        self.__cause__ = cause

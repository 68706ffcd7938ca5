"""Which failed requests may be sent again, and when: one pure decision.

Repeating is safe when the server says it did nothing, when nothing reached it, or when a
second execution changes nothing. Everything else is the caller's business: a controller
reconciles again from what is true by then.

A request that was refused with 429, or with 503 and Retry-After, was not executed and is repeated,
as is one that did not reach the server. After a lost connection, a timeout, 502, 503 or 504 only
those are repeated whose second execution changes nothing: reads, dry runs, applies, and deletes
with a uid precondition (where `NotFound` then means success). A second create would raise
`AlreadyExists` about our own object, a second update `Conflict` about our own write; other patches
may act twice on lists. For an eviction 429 means that a disruption budget forbids it: raised.
The table is in ``docs/reference/client.md``.

Never repeated: watches, whose reader knows best where to go on; every other refusal (409
included); TLS and credential failures; unusable responses; `NoConnectionFree`, because a
request that comes again queues behind all others.

Waiting: as long as the server asks for, otherwise exponentially; both with jitter on top, so
that a thousand clients do not return in the same instant. A server that asks for more than
`Policy.longest_wait` gets its error raised; `ApiError.retry_after` holds what it asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from zlib import crc32

import orjson

from certwright.client.errors import (
    ConnectFailed,
    ConnectionLost,
    NoConnectionFree,
    Timeout,
    TlsFailed,
    TransportError,
)
from certwright.client.transport import Request, Response
from certwright.kube.patches import APPLY_PATCH


@dataclass(frozen=True, slots=True)
class Policy:
    """How often and how long a client repeats."""

    attempts: int = 5
    """How often a request is sent at most."""
    first_wait: timedelta = timedelta(milliseconds=200)
    """The wait before the second attempt when the server names none; it doubles each time."""
    longest_wait: timedelta = timedelta(seconds=30)
    """No single wait is longer."""


PATIENT = Policy()
"""The default."""


def next_wait(
    request: Request,
    outcome: Response | TransportError,
    attempt: int,
    *,
    jitter: float,
    policy: Policy = PATIENT,
) -> timedelta | None:
    """Return how long to wait before sending *request* again, or None to give up.

    *attempt* counts from 1; *jitter* in [0, 1) lengthens the wait by up to a quarter.
    """
    if attempt >= policy.attempts:
        return None
    asked: timedelta | None = None
    if isinstance(outcome, Response):
        asked = retry_after(outcome)
        if not _may_repeat_after_response(request, outcome.status, asked=asked is not None):
            return None
    elif not _may_repeat_after_failure(request, outcome):
        return None
    if asked is not None and asked > policy.longest_wait:
        return None
    doublings = min(attempt - 1, _MOST_DOUBLINGS)
    wait = policy.first_wait * 2**doublings if asked is None else asked
    return min(wait, policy.longest_wait) * (1 + jitter / 4)


def is_repeatable(request: Request) -> bool:
    """Return whether executing the request twice has the same effect as once."""
    if request.method == "GET" or ("dryRun", "All") in request.query:
        return True
    if request.verb == "patch":
        return ("content-type", APPLY_PATCH) in request.headers
    return request.verb == "delete" and _has_uid(request.body)


def retry_after(response: Response) -> timedelta | None:
    """Return the wait that the server asks for, from the header or from the ``Status``."""
    header = response.headers.get("retry-after", "")
    if header.isascii() and header.isdigit():
        return timedelta(seconds=min(int(header), _LONGEST_SECONDS))
    if response.status < 400:
        return None
    try:
        status = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return None
    details = status.get("details") if isinstance(status, Mapping) else None
    seconds = details.get("retryAfterSeconds") if isinstance(details, Mapping) else None
    if isinstance(seconds, int) and seconds > 0:
        return timedelta(seconds=min(seconds, _LONGEST_SECONDS))
    return None


def spread(request: Request, attempt: int, instant: float) -> float:
    """Return a jitter in [0, 1) that differs between requests, attempts and instants.

    It is computed instead of drawn, so a simulation under virtual time replays exactly
    without having to thread a random generator through the client.
    """
    return crc32(f"{request.path} {attempt} {instant!r}".encode()) / 2**32


_LONGEST_SECONDS = 10**6
_MOST_DOUBLINGS = 20
"""More of them would only overflow what a timedelta can hold."""


def _may_repeat_after_response(request: Request, status: int, *, asked: bool) -> bool:
    match status:
        case 429:
            return request.subresource != "eviction"
        case 503 if asked:
            return True
        case 502 | 503 | 504:
            return is_repeatable(request)
        case _:
            return False


def _may_repeat_after_failure(request: Request, failure: TransportError) -> bool:
    match failure:
        case TlsFailed() | NoConnectionFree():
            return False
        case ConnectFailed():
            return True
        case ConnectionLost() | Timeout():
            return is_repeatable(request)
        case _:
            return False


def _has_uid(body: bytes | None) -> bool:
    if body is None:
        return False
    return "uid" in (orjson.loads(body).get("preconditions") or {})

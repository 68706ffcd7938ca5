"""Where a watch stands, and what follows from each way it can fail. Pure.

::

    INITIAL ──► STREAMING ──(end-of-list bookmark)──► WATCHING ◄─┐ renewed every 5 to 10 minutes,
       │            │ refused                            │   └───┘ from the last version
       └────────► PAGING ──(last page)───────────────────┘
                                        any failure │
       BACKING_OFF · MISSING (404) · FORBIDDEN (403) ◄  each waits, longer every time, and goes on:
                                        from the last version, or, when that is of no use
                                        any more (410, kind vanished), with a new list
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from certwright.client import ConnectFailed, TransportError
from certwright.kube.errors import ApiError, BadRequest, Forbidden, Gone, Invalid, NotFound
from certwright.kube.objects import Resource
from certwright.runtime.cache.decode import BrokenJson
from certwright.runtime.queue.backoff import LONGEST_WAIT_SECONDS

RELIST_AFTER = 3
"""Failures in a row of the same resumption, after which the version itself is in doubt."""

UNREACHABLE_AFTER = 3
"""Failures in a row, after which a store is not expected to become complete soon."""

HEALTHY_SECONDS = 10.0
"""A connection that was alive this long ends the count of failures: its end is no trouble."""


class WatchState(StrEnum):
    """Where a watch stands; what probes, metrics and the dump show."""

    INITIAL = "initial"
    """Nothing was asked yet."""
    STREAMING = "streaming"
    """A streaming list arrives."""
    PAGING = "paging"
    """A list arrives page by page."""
    WATCHING = "watching"
    """The store is complete and events arrive."""
    BACKING_OFF = "backing-off"
    """The server or the way to it fails; tried again soon."""
    MISSING = "missing"
    """The server does not serve the kind: its CRD is not installed."""
    FORBIDDEN = "forbidden"
    """This user may not list and watch the kind."""
    STOPPED = "stopped"
    """The last share in the store was released."""


class WatchStatus(NamedTuple):
    """What is known about a watch at one moment."""

    state: WatchState
    synced: bool
    objects: int
    resource_version: str
    silent_seconds: float | None
    """How long ago the server last sent anything; None before it ever did."""
    last_error: str
    failures: int
    lists: int
    restores: int
    """How often the server's history went backwards."""
    skipped: int
    """How many states of objects could not be read, or not even be named."""
    listener_errors: int
    """How many calls of listeners raised."""


class Stalled(Exception):
    """The connection is open and silent for longer than any server would be."""


class ListCutShort(Exception):
    """A streaming list ended without its end-of-list bookmark."""


class NotStreamed(Exception):
    """The server ignored the request to stream the list and just watches."""


class WatchCrashed(Exception):
    """Something unforeseen was raised: a defect of ours, which must not end other watches."""


WatchFailure: TypeAlias = (
    ApiError | TransportError | BrokenJson | Stalled | ListCutShort | NotStreamed | WatchCrashed
)
"""Everything that can go wrong between a server and a store."""

FAILURES = (ApiError, TransportError, BrokenJson, Stalled, ListCutShort, NotStreamed)


class Remedy(NamedTuple):
    """What a watch does about a failure."""

    state: WatchState
    message: str
    relist: bool = False
    """The version is of no use: list anew."""
    use_pages: bool = False
    """This server does not stream lists: never ask again."""
    verify: bool = False
    """Ask how far the server is before going on from the version."""
    wait_seconds: float = 0.0
    """What the server asked for; the back-off applies besides."""


def remedy_for(
    error: WatchFailure, resource: Resource, *, streaming: bool, failures: int
) -> Remedy:
    """Decide what follows from a failure.

    *streaming* means that a streaming list was under way, *failures* is how many attempts
    in a row have failed, this one included.
    """
    message = str(error) or type(error).__name__
    doubtful = failures >= RELIST_AFTER
    match error:
        case NotFound():
            text = f"the server does not serve {resource.qualified} in {resource.api_version}"
            hint = "install its CustomResourceDefinition; watched as soon as it appears"
            return Remedy(WatchState.MISSING, f"{text}; {hint}", relist=True)
        case Forbidden():
            hint = f"grant this user list and watch on {resource.qualified}"
            return Remedy(WatchState.FORBIDDEN, f"{message}; {hint}")
        case Gone():
            return Remedy(WatchState.BACKING_OFF, message, relist=True)
        case BadRequest() | Invalid():
            return Remedy(WatchState.BACKING_OFF, message, relist=True, use_pages=streaming)
        case NotStreamed():
            return Remedy(WatchState.BACKING_OFF, message, use_pages=True)
        case WatchCrashed():
            return Remedy(WatchState.BACKING_OFF, message, relist=True)
        case Stalled() if not streaming:
            # Either the connection is dead, or the server was restored to before our version:
            # it neither refuses such a watch nor sends anything until it gets there.
            return Remedy(WatchState.BACKING_OFF, message, verify=True)
        case Stalled() | ListCutShort():
            return Remedy(WatchState.BACKING_OFF, message, use_pages=streaming and doubtful)
        case ApiError() if is_too_large(error):
            # A replica that lags catches up; if none does, history was restored to before.
            return Remedy(WatchState.BACKING_OFF, message, relist=doubtful)
        case ApiError():
            wait = min(error.retry_after or 0.0, LONGEST_WAIT_SECONDS)
            return Remedy(WatchState.BACKING_OFF, message, wait_seconds=wait)
        case _:
            return Remedy(
                WatchState.BACKING_OFF, message, relist=isinstance(error, BrokenJson) and doubtful
            )


def obstacle(
    state: WatchState, resource: Resource, last_error: str, failures: int
) -> ApiError | TransportError | None:
    """Return why a store that is not complete will not become so soon, None if it may."""
    match state:
        case WatchState.MISSING:
            return NotFound(last_error)
        case WatchState.FORBIDDEN:
            return Forbidden(last_error)
        case WatchState.STOPPED:
            return NotFound(f"{resource} is not watched any more: its definition was deleted")
        case WatchState.BACKING_OFF if failures >= UNREACHABLE_AFTER:
            return ConnectFailed(f"{resource} cannot be watched: {last_error}")
        case _:
            return None


def is_too_large(error: ApiError) -> bool:
    """Return whether a server refused a version because it has not reached it yet."""
    return any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)


def was_healthy(
    since: float | None, heard: float | None, now: float, failure: WatchFailure | None
) -> bool:
    """Return whether a connection that just ended had watched for a while, *since* when.

    How long the list before it took does not count: a list that is outdated as soon as
    it is complete must not be repeated without pause. An idle connection was well until
    it was cut; one that fell silent, until its last byte was *heard*.
    """
    if since is None:
        return False
    ended = heard if isinstance(failure, Stalled) and heard is not None else now
    return ended - since >= HEALTHY_SECONDS

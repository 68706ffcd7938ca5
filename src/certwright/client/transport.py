"""The seam: how a request reaches an API server and a response comes back.

`Request` and `Response` are plain values built and read by pure functions; a `Transport`
carries them: over HTTP (`certwright.client.httptransport`) or in memory, to the embedded API
server. Tests and fault injection wrap a transport; nothing else is replaceable.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from certwright.kube import Resource


@dataclass(frozen=True, slots=True)
class Request:
    """One call to the API server. Its repr leaves out the body, which may hold secrets."""

    verb: str
    """What RBAC and metrics call it: get, list, watch, create, update, patch, delete…"""
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    resource: Resource | None = None
    """The kind concerned, for counting and limiting; None for discovery and raw paths."""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response. Header names are lower-case; the repr leaves out the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Stream(Protocol):
    """A response without an end: the body of a watch, in chunks as they arrive."""

    @property
    def status(self) -> int:
        """The HTTP status; anything but 200 means the chunks hold a ``Status`` object."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive; boundaries mean nothing. Ends when the server ends it."""
        ...


class Transport(Protocol):
    """Carries requests to one API server, as one user.

    Raises `TransportError` when there is no response; a refusal is a `Response` like any other.
    """

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole response."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send a request whose response is read as it arrives; leaving the context ends it."""
        ...

    async def close(self) -> None:
        """Close every connection. The transport cannot be used afterwards."""
        ...


class RefusedStream:
    """A stream that never started: one complete response in its place."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._body = response.body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the whole body."""
        yield self._body

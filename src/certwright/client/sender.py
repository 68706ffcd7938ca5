"""The way of every request: bounded concurrency, retries, observers, warnings."""

import asyncio
import copy
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Protocol, Self

from certwright.client import responses, retry
from certwright.client.errors import TransportError
from certwright.client.transport import Request, Response, Stream, Transport
from certwright.clock import Clock
from certwright.kube.kinds import Lease

_log = logging.getLogger("certwright.client")

_ERROR_BODY_LIMIT = 2**20
_FREE: AbstractAsyncContextManager[None] = nullcontext()
_REMEMBERED_WARNINGS = 1000
"""A server can invent warnings without end; further ones are dropped."""


def log_warning(text: str) -> None:
    """Log a server's warning, as clients do by default."""
    _log.warning("the API server warns: %s", text)


class Observer(Protocol):
    """Sees every attempt to reach the server, retries included.

    Called on the event loop between two awaits: count and return, never block or raise.
    """

    def on_request(self, request: Request, outcome: int | TransportError, seconds: float) -> None:
        """Note one attempt: the HTTP status of the response, or why there was none.

        *seconds* is the time to the complete response, for a watch to its first byte.
        """
        ...


class Sender:
    """Sends requests through a transport, at most *max_in_flight* at a time.

    Leases need no slot: a leader that renews too late has to stop working, and its own work
    may hold all slots.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        max_in_flight: int,
        policy: retry.Policy,
        observers: Sequence[Observer],
        on_warning: Callable[[str], None],
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._slots = asyncio.Semaphore(max_in_flight)
        self._policy = policy
        self._observers = tuple(observers)
        self._on_warning = on_warning
        self._warned: set[str] = set()
        self._headers: tuple[tuple[str, str], ...] = ()

    def with_headers(self, *headers: tuple[str, str]) -> Self:
        """Return a sender that adds headers to every request; limits and slots are shared."""
        other = copy.copy(self)
        other._headers = headers  # noqa: SLF001 - of the same class
        return other

    async def send(self, request: Request) -> Response:
        """Return the response of a request that succeeded, repeated if need be.

        Raises:
            ApiError: the server refused, and repeating is unsafe or did not help.
            TransportError: there was no usable response, likewise.
        """
        if self._headers:
            request = replace(request, headers=(*request.headers, *self._headers))
        attempt = 1
        while True:
            outcome = await self._attempt(request)
            if isinstance(outcome, Response) and outcome.status < 300:
                return responses.shallow(request, outcome)
            jitter = retry.spread(request, attempt, self._clock.monotonic())
            wait = retry.next_wait(request, outcome, attempt, jitter=jitter, policy=self._policy)
            if wait is None:
                if isinstance(outcome, Response):
                    raise responses.to_error(outcome, request)
                raise outcome
            await asyncio.sleep(wait.total_seconds())
            attempt += 1

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Open a watch; never retried, since only its reader knows where to continue.

        Streams do not count against the bound on requests in flight.
        """
        if self._headers:
            request = replace(request, headers=(*request.headers, *self._headers))
        started: float | None = self._clock.monotonic()
        try:
            async with self._transport.stream(request) as stream:
                self._observe(request, stream.status, started)
                started = None
                self._warn(stream, request)
                if stream.status != 200:
                    raise responses.to_error(await _read_all(stream))
                yield stream
        except TransportError as error:
            self._observe(request, error, started)
            raise

    async def _attempt(self, request: Request) -> Response | TransportError:
        """Send once. The slot is free again before the wait for the next attempt."""
        async with _FREE if request.resource == Lease else self._slots:
            started = self._clock.monotonic()
            try:
                response = await self._transport.send(request)
            except TransportError as error:
                self._observe(request, error, started)
                return error
            self._observe(request, response.status, started)
            self._warn(response, request)
            return response

    def _observe(
        self, request: Request, outcome: int | TransportError, started: float | None
    ) -> None:
        """Call the observers, unless this attempt was observed already (*started* is None)."""
        if self._observers and started is not None:
            seconds = self._clock.monotonic() - started
            for observer in self._observers:
                observer.on_request(request, outcome, seconds)

    def _warn(self, response: Response | Stream, request: Request) -> None:
        if "warning" not in response.headers:
            return
        for warning in responses.warnings(response.headers):
            text = responses.without_values(warning, request)
            if text not in self._warned and len(self._warned) < _REMEMBERED_WARNINGS:
                self._warned.add(text)
                self._on_warning(text)


async def _read_all(stream: Stream) -> Response:
    """Read the refusal of a watch, which is short unless the server is broken."""
    body = bytearray()
    async for chunk in stream.chunks():
        body += chunk
        if len(body) > _ERROR_BODY_LIMIT:
            break
    return Response(stream.status, stream.headers, bytes(body[:_ERROR_BODY_LIMIT]))

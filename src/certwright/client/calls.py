"""The way every call takes: bounded concurrency, retries, observers, warnings.

`Calls` sits between the verbs of the client and the transport. It knows nothing of objects
and kinds; it returns successful answers and raises everything else.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from certwright.client import responses as answers
from certwright.client import retry
from certwright.client.errors import TransportError
from certwright.client.observe import Observer
from certwright.client.transport import Request, Response, Stream, Transport
from certwright.clock import Clock
from certwright.kube.kinds import Lease

_log = logging.getLogger("certwright.client")

_ERROR_BODY_LIMIT = 2**20
_FREE: AbstractAsyncContextManager[None] = nullcontext()
_REMEMBERED_WARNINGS = 1000
"""Servers can invent warnings for ever; beyond this many the client stops repeating them."""


def log_warning(text: str) -> None:
    """Pass a server's warning on to the log: what clients do unless told otherwise."""
    _log.warning("the API server warns: %s", text)


class Calls:
    """Sends requests through a transport, at most *max_in_flight* at a time.

    Leases wait for nobody: whoever renews one too late has to stop working, and what holds
    the slots may be the very work.
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

    async def send(self, request: Request) -> Response:
        """Return the answer of a request that succeeded, sooner or later.

        Raises:
            ApiError: the server refused, and repeating was unsafe or did not help.
            TransportError: there was no usable answer, likewise.
        """
        attempt = 1
        while True:
            outcome = await self._attempt(request)
            if isinstance(outcome, Response) and outcome.status < 300:
                return outcome
            jitter = retry.spread(request, attempt, self._clock.monotonic())
            wait = retry.next_wait(request, outcome, attempt, jitter=jitter, policy=self._policy)
            if wait is None:
                raise outcome if isinstance(outcome, TransportError) else answers.to_error(outcome)
            await asyncio.sleep(wait.total_seconds())
            attempt += 1

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Open an answer that goes on; never retried, whoever reads it knows what it has seen.

        Streams do not count against the bound on requests in flight.
        """
        started: float | None = self._clock.monotonic()
        try:
            async with self._transport.stream(request) as stream:
                self._observe(request, stream.status, started)
                started = None
                self._warn(stream)
                if stream.status != 200:
                    raise answers.to_error(await _whole(stream))
                yield stream
        except TransportError as error:
            self._observe(request, error, started)
            raise

    async def _attempt(self, request: Request) -> Response | TransportError:
        """Send once. The slot is not held while waiting to send again."""
        async with _FREE if request.resource == Lease else self._slots:
            started = self._clock.monotonic()
            try:
                response = await self._transport.send(request)
            except TransportError as error:
                self._observe(request, error, started)
                return error
            self._observe(request, response.status, started)
            self._warn(response)
            return response

    def _observe(
        self, request: Request, outcome: int | TransportError, started: float | None
    ) -> None:
        """Tell the observers, unless the attempt was told already (*started* is None)."""
        if self._observers and started is not None:
            seconds = self._clock.monotonic() - started
            for observer in self._observers:
                observer.on_request(request, outcome, seconds)

    def _warn(self, answer: Response | Stream) -> None:
        if "warning" not in answer.headers:
            return
        for text in answers.warnings(answer.headers):
            if text not in self._warned and len(self._warned) < _REMEMBERED_WARNINGS:
                self._warned.add(text)
                self._on_warning(text)


async def _whole(stream: Stream) -> Response:
    """Read the refusal of a watch, which is short unless the server is broken."""
    body = bytearray()
    async for chunk in stream.chunks():
        body += chunk
        if len(body) > _ERROR_BODY_LIMIT:
            break
    return Response(stream.status, stream.headers, bytes(body[:_ERROR_BODY_LIMIT]))

"""The HTTP transport: one API server over HTTP/1.1 connections of our own.

Requests and watches have separate connection pools, so that a hundred watches cannot starve a
write. Redirects are never followed and the credentials go to the configured server only.
Nothing is decompressed: bodies are asked for as they are.
"""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import orjson

from certwright import __version__
from certwright.client.config.config import Config, Impersonation
from certwright.client.config.credentials import Login
from certwright.client.config.stored import credentials_for
from certwright.client.errors import BodyTooLarge, NotAnApiServer
from certwright.client.http import failures
from certwright.client.http.connection import Answer, Connection, TooLarge
from certwright.client.http.dialer import Dialer
from certwright.client.http.message import RequestWriter
from certwright.client.http.pool import Pool
from certwright.client.http.tls import TlsContexts
from certwright.client.transport import RefusedStream, Request, Response, Stream
from certwright.clock import SYSTEM, Clock
from certwright.kube import Unauthorized


@dataclass(frozen=True, slots=True)
class Limits:
    """What the transport allows before it gives up."""

    connections: int = 32
    """For requests; watches have as many as they need. Idle ones are closed."""
    body: int = 256 * 2**20
    """Bytes of one answer; a page of 500 objects rarely exceeds a tenth of this."""
    connect: timedelta = timedelta(seconds=10)
    """Name service, TCP, proxy and TLS handshake."""
    answer: timedelta = timedelta(seconds=60)
    """From wanting a connection to the last byte; for a watch to the headers."""


LIMITS = Limits()
"""What a controller wants."""

_FOR_LEASES = 2
"""Connections beyond those that ordinary requests can hold."""


class HttpTransport:
    """Carries requests to the server of a configuration, as its user.

    Credentials are looked at before every request; on a 401 they are renewed and the request,
    which the server did not execute, is sent once more.
    """

    def __init__(
        self,
        config: Config,
        *,
        limits: Limits = LIMITS,
        clock: Clock = SYSTEM,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._config = config
        self._limits = limits
        self._base = config.server.rstrip("/")
        self._peer = failures.Peer.of(config, limits.answer)
        self._credentials = credentials_for(config, clock, environ)
        self._tls = TlsContexts(config, clock)
        self._writer = RequestWriter(
            config,
            ("accept-encoding", "identity"),
            ("user-agent", f"certwright/{__version__}"),
            *impersonation_headers(config.impersonate),
        )
        dialer = Dialer(config, limits.connect, self._peer)
        self._requests = Pool(dialer.dial, limits.connections + _FOR_LEASES, self._peer)
        self._watches = Pool(dialer.dial, sys.maxsize, self._peer)
        self._needs_tls = dialer.needs_tls
        self._seconds = limits.answer.total_seconds()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"HttpTransport({self._base!r}, {self._config.source!r})"

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        login = await self._credentials.current()
        response = await self._exchange(request, login)
        if response.status == 401:
            if await self._credentials.renew(login):
                response = await self._exchange(request, await self._credentials.current())
            if response.status == 401:
                return self._explained(response.headers)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send a request whose answer is read as it arrives; leaving the context ends it."""
        login = await self._credentials.current()
        connection, answer = await self._open(request, login)
        try:
            if answer.status == 401 and await self._credentials.renew(login):
                login = await self._credentials.current()
                self._watches.release(connection)
                connection, answer = await self._open(request, login)
            self._check(request, answer)
            if answer.status == 401:
                yield RefusedStream(self._explained(answer.headers))
            else:
                yield HttpStream(answer, self._peer)
        finally:
            self._watches.release(connection)

    async def close(self) -> None:
        """Give up every connection."""
        self._is_closed = True
        self._requests.close()
        self._watches.close()
        await asyncio.sleep(0)  # event loops close sockets a moment later

    async def _exchange(self, request: Request, login: Login) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        connection = await self._requests.acquire(self._context(login), deadline)
        timer = loop.call_at(deadline, connection.expire)
        try:
            answer = connection.ask(*self._writer.write(request, login))
            await answer.head()
            self._check(request, answer)
            body = await answer.whole(self._limits.body)
            return Response(answer.status, answer.headers, body)
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        except TooLarge:
            failure = BodyTooLarge(
                f"{self._base}{request.path}: the answer exceeds {self._limits.body} bytes and "
                "was dropped; ask for less (smaller pages, a selector), or raise the limit on "
                "bodies"
            )
        finally:
            timer.cancel()
            self._requests.release(connection)
        raise failure  # out here, so that nothing is chained to it whose frames hold our headers

    async def _open(self, request: Request, login: Login) -> tuple[Connection, Answer]:
        """Start a watch, on a connection of its own that must be released."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        connection = await self._watches.acquire(self._context(login), deadline)
        timer = loop.call_at(deadline, connection.expire)
        try:
            answer = connection.ask(*self._writer.write(request, login))
            await answer.head()
            return connection, answer
        except BaseException as error:
            self._watches.release(connection)
            if not isinstance(error, failures.CAUGHT):
                raise
            failure = failures.explain(error, self._peer)
        finally:
            timer.cancel()
        raise failure

    def _context(self, login: Login) -> ssl.SSLContext | None:
        if self._is_closed:
            raise RuntimeError(f"the transport to {self._base} is closed")
        return self._tls.context(login) if self._needs_tls else None

    def _check(self, request: Request, answer: Answer) -> None:
        """Refuse answers no API server gives. Web pages with a 5xx come from proxies: retried."""
        if 300 <= answer.status < 400:
            target = answer.headers.get("location", "nowhere").partition("?")[0]
            raise NotAnApiServer(
                f"{self._base}{request.path} redirects to {target}; redirects are not followed, "
                f"so that credentials stay here: correct the server of {self._config.source}"
            )
        if answer.status < 500 and answer.headers.get("content-type", "").startswith("text/html"):
            raise NotAnApiServer(
                f"{self._base}{request.path} answered {answer.status} with a web page, not as a "
                "Kubernetes API server; correct host and port of the server of "
                f"{self._config.source}"
            )

    def _explained(self, headers: Mapping[str, str]) -> Response:
        """Make of a bare "Unauthorized" a message that says whose credentials and what to do."""
        status = Unauthorized(
            f"{self._base} does not accept the credentials of {self._config.source}: "
            "they are wrong, expired or revoked; log in again or replace them"
        ).to_status()
        return Response(401, headers, orjson.dumps(status))


class HttpStream:
    """The answer of a watch, as it arrives."""

    def __init__(self, answer: Answer, peer: failures.Peer) -> None:
        self._answer = answer
        self._peer = peer
        self.status = answer.status
        self.headers = answer.headers

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._answer.read()
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        else:
            if chunk:
                return chunk
            raise StopAsyncIteration
        raise failure


def impersonation_headers(impersonate: Impersonation) -> Iterator[tuple[str, str]]:
    """Return the headers that ask the server to treat us as somebody else."""
    if impersonate.user:
        yield "impersonate-user", impersonate.user
    if impersonate.uid:
        yield "impersonate-uid", impersonate.uid
    for group in impersonate.groups:
        yield "impersonate-group", group
    for key, values in impersonate.extra:
        for value in values:
            yield f"impersonate-extra-{quote(key, safe='')}", value

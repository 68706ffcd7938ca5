"""The HTTP transport: requests to one API server, as the user of a configuration.

Requests and watches have separate connection pools, so that a hundred watches cannot starve a
write. Redirects are never followed, and credentials go to the configured server only. Bodies
are requested without compression.
"""

import asyncio
import logging
import os
import ssl
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

import orjson

from certwright import __version__
from certwright.client import failures
from certwright.client.config.config import Config, Impersonation
from certwright.client.config.credentials import (
    Credentials,
    CredentialSource,
    StoredCredentials,
    TlsContexts,
)
from certwright.client.config.execplugin import ExecCredentials
from certwright.client.errors import (
    BodyTooLarge,
    CredentialError,
    NotAnApiServer,
    TransportError,
)
from certwright.client.http.connection import Connection, ResponseReader
from certwright.client.http.dialer import Dialer
from certwright.client.http.errors import ResponseTooLarge
from certwright.client.http.message import RequestWriter
from certwright.client.http.pool import Pool
from certwright.client.transport import RefusedStream, Request, Response, Stream
from certwright.clock import SYSTEM, Clock
from certwright.kube import Unauthorized

_log = logging.getLogger("certwright.client")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much and how long the transport waits for."""

    connections: int = 32
    """For requests; watches have their own, as many as they need. Idle ones are closed."""
    body: int = 256 * 2**20
    """Bytes of one response; a page of 500 objects rarely exceeds a tenth of this."""
    connect: timedelta = timedelta(seconds=10)
    """Name service, TCP, proxy and TLS handshake."""
    response: timedelta = timedelta(seconds=60)
    """From the wait for a connection to the last byte; for a watch, to the headers."""


LIMITS = Limits()
"""The limits for a controller."""

_FOR_LEASES = 2
"""Connections beyond those that ordinary requests can hold."""


class HttpTransport:
    """Carries requests to the server of a configuration, as its user.

    Credentials are checked before every request. After a 401 they are renewed and the request,
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
        self._peer = failures.Peer.of(config, limits.response)
        self._credentials = _credential_source(config, clock, environ)
        self._tls = TlsContexts(config, clock)
        self._writer = RequestWriter(
            config.server,
            config.proxy_url,
            ("accept-encoding", "identity"),
            ("user-agent", f"certwright/{__version__}"),
            *impersonation_headers(config.impersonate),
        )
        dialer = Dialer(
            config.server,
            proxy=config.proxy_url,
            server_name=config.tls_server_name,
            timeout=limits.connect,
        )
        self._requests = Pool(dialer.dial, limits.connections + _FOR_LEASES)
        self._watches = Pool(dialer.dial, sys.maxsize)
        self._needs_tls = dialer.needs_tls
        self._exposes = is_exposed(config.server)
        self._impersonates = bool(config.impersonate.user)
        self._seconds = limits.response.total_seconds()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"HttpTransport({self._base!r}, {self._config.source!r})"

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole response."""
        if self._impersonates:
            self._check_user(request)
        credentials = await self._credentials.current()
        response = await self._exchange(request, credentials)
        if response.status == 401:
            if await self._credentials.renew(credentials):
                response = await self._exchange(request, await self._credentials.current())
            if response.status == 401:
                return self._unauthorized(response.headers)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send a request whose response is read as it arrives; leaving the context ends it."""
        if self._impersonates:
            self._check_user(request)
        credentials = await self._credentials.current()
        connection, response = await self._open(request, credentials)
        try:
            if response.status == 401 and await self._credentials.renew(credentials):
                credentials = await self._credentials.current()
                self._watches.release(connection)
                connection, response = await self._open(request, credentials)
            self._check(request, response)
            if response.status == 401:
                yield RefusedStream(self._unauthorized(response.headers))
            else:
                yield HttpStream(response, self._peer)
        finally:
            self._watches.release(connection)

    async def close(self) -> None:
        """Close every connection."""
        self._is_closed = True
        self._requests.close()
        self._watches.close()
        await asyncio.sleep(0)  # event loops close sockets a moment later

    async def _exchange(self, request: Request, credentials: Credentials) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        failure: TransportError
        connection: Connection | None = None
        try:
            connection = await self._requests.acquire(self._context(credentials), deadline)
            timer = loop.call_at(deadline, connection.expire)
            try:
                response = connection.request(*self._write(request, credentials))
                await response.head()
                self._check(request, response)
                body = await response.read_all(self._limits.body)
                return Response(response.status, response.headers, body)
            finally:
                timer.cancel()
        except ResponseTooLarge:
            failure = BodyTooLarge(
                f"{self._base}{request.path}: the response exceeds {self._limits.body} bytes and "
                "was dropped; request less (smaller pages, a selector), or raise Limits.body"
            )
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        finally:
            if connection is not None:
                self._requests.release(connection)
        raise failure  # outside of except: a chained exception's frames would hold our headers

    async def _open(
        self, request: Request, credentials: Credentials
    ) -> tuple[Connection, ResponseReader]:
        """Start a watch, on a connection of its own that must be released."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        connection: Connection | None = None
        try:
            connection = await self._watches.acquire(self._context(credentials), deadline)
            timer = loop.call_at(deadline, connection.expire)
            try:
                response = connection.request(*self._write(request, credentials))
                await response.head()
                return connection, response
            finally:
                timer.cancel()
        except BaseException as error:
            if connection is not None:
                self._watches.release(connection)
            if not isinstance(error, failures.CAUGHT):
                raise
            failure = failures.explain(error, self._peer)
        raise failure

    def _write(self, request: Request, credentials: Credentials) -> tuple[bytes, bytes]:
        if self._exposes and credentials.authorization:
            self._exposes = False  # once is enough
            _log.warning(
                "credentials of %s go to %s unencrypted, and everyone on the way can use them; "
                "use https",
                self._config.source,
                self._base,
            )
        return self._writer.write(
            request.method,
            request.path,
            request.query,
            request.headers,
            request.body or b"",
            credentials.authorization,
        )

    def _context(self, credentials: Credentials) -> ssl.SSLContext | None:
        if self._is_closed:
            raise RuntimeError(f"the transport to {self._base} is closed")
        return self._tls.context(credentials) if self._needs_tls else None

    def _check(self, request: Request, response: ResponseReader) -> None:
        """Refuse what no API server sends. Web pages with a 5xx come from proxies: retried."""
        if 300 <= response.status < 400:
            target = response.headers.get("location", "nowhere").partition("?")[0]
            raise NotAnApiServer(
                f"{self._base}{request.path} redirects to {target}; redirects are not followed, "
                "so that credentials go to one server only: correct the server of "
                f"{self._config.source}"
            )
        media_type = response.headers.get("content-type", "")
        if response.status < 500 and media_type.startswith("text/html"):
            raise NotAnApiServer(
                f"{self._base}{request.path} answered {response.status} with a web page, not as "
                "a Kubernetes API server; correct host and port of the server of "
                f"{self._config.source}"
            )

    def _check_user(self, request: Request) -> None:
        """Refuse to act as two users: servers take the first one, and the groups of both."""
        if any(name.startswith("impersonate-") for name, _ in request.headers):
            raise CredentialError(
                f"{self._config.source} acts as {self._config.impersonate.user!r} already, and a "
                "server does not let that user act as another; remove 'as' there"
            )

    def _unauthorized(self, headers: Mapping[str, str]) -> Response:
        """Return a 401 whose message names the credentials and the way out."""
        status = Unauthorized(
            f"{self._base} does not accept the credentials of {self._config.source}: "
            "they are wrong, expired or revoked; log in again or replace them"
        ).to_status()
        return Response(401, headers, orjson.dumps(status))


def is_exposed(server: str) -> bool:
    """Return whether what is sent to a server can be read on the way; not if it is this host."""
    url = urlsplit(server)
    host = url.hostname or ""
    try:
        local = ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    return url.scheme == "http" and not local


class HttpStream:
    """The response to a watch, as it arrives."""

    def __init__(self, response: ResponseReader, peer: failures.Peer) -> None:
        self._response = response
        self._peer = peer
        self.status = response.status
        self.headers = response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.read()
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        else:
            if chunk:
                return chunk
            raise StopAsyncIteration
        raise failure


def impersonation_headers(impersonate: Impersonation) -> Iterator[tuple[str, str]]:
    """Yield the headers that ask the server to treat us as another user."""
    if impersonate.user:
        yield "impersonate-user", impersonate.user
    if impersonate.uid:
        yield "impersonate-uid", impersonate.uid
    for group in impersonate.groups:
        yield "impersonate-group", group
    for key, values in impersonate.extra:
        for value in values:
            yield f"impersonate-extra-{quote(key, safe='')}", value


def _credential_source(
    config: Config, clock: Clock, environ: Mapping[str, str]
) -> CredentialSource:
    """Return the source that a configuration asks for; an exec plugin comes last, as in kubectl."""
    user = config.user
    if user.exec is not None and not (user.token or user.token_file or user.username):
        return ExecCredentials(user.exec, config.source, clock, environ)
    return StoredCredentials(config, clock)

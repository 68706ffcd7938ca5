"""The HTTP transport: one API server over aiohttp.

Requests and watches have separate connection pools, so that a hundred watches cannot starve a
write. Redirects are never followed and the credentials go to the configured server only.
Nothing is decompressed: bodies are asked for as they are.
"""

import asyncio
import io
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import aiohttp
import orjson

from certwright import __version__
from certwright.client import failures
from certwright.client.auth import credentials_for
from certwright.client.config import Config, Impersonation
from certwright.client.errors import BodyTooLarge, NotAnApiServer
from certwright.client.login import Login
from certwright.client.tls import TlsContexts
from certwright.client.transport import Request, Response, Stream
from certwright.clock import SYSTEM, Clock
from certwright.kube import Unauthorized


@dataclass(frozen=True, slots=True)
class Limits:
    """What the transport allows before it gives up."""

    connections: int = 32
    """For requests; watches have as many as they need. Each costs a quarter of a MiB for TLS."""
    body: int = 256 * 2**20
    """Bytes of one answer; a page of 500 objects rarely exceeds a tenth of this."""
    connect: timedelta = timedelta(seconds=10)
    """TCP and TLS handshake."""
    answer: timedelta = timedelta(seconds=60)
    """From sending to the last byte; for a watch to the headers."""


_is_plain = re.compile(r"[A-Za-z0-9._~-]*").fullmatch

LIMITS = Limits()
"""What a controller wants."""

_LARGE_BODY = 2**20
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
        self._is_tls = config.server.startswith("https:")
        self._peer = failures.Peer.of(config, limits.answer)
        self._credentials = credentials_for(config, clock, environ)
        self._tls = TlsContexts(config, clock)
        self._headers = (
            ("accept-encoding", "identity"),
            ("user-agent", f"certwright/{__version__}"),
            *impersonation_headers(config.impersonate),
        )
        connect, answer = limits.connect.total_seconds(), limits.answer.total_seconds()
        self._request_timeout = aiohttp.ClientTimeout(total=answer, sock_connect=connect)
        self._watch_timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect)
        self._sessions: tuple[aiohttp.ClientSession, aiohttp.ClientSession] | None = None
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
        answer = await self._open(request, login)
        try:
            if answer.status == 401 and await self._credentials.renew(login):
                _hang_up(answer)
                answer = await self._open(request, await self._credentials.current())
            self._check(request, answer)
            if answer.status == 401:
                yield Refusal(self._explained(_headers(answer)))
            else:
                yield HttpStream(answer, self._peer)
        finally:
            _hang_up(answer)

    async def close(self) -> None:
        """Give up every connection."""
        self._is_closed = True
        sessions, self._sessions = self._sessions, None
        for session in sessions or ():
            await session.close()

    async def _exchange(self, request: Request, login: Login) -> Response:
        try:
            session, _ = self._open_sessions()
            answer = await self._start(session, request, login, self._request_timeout)
            async with answer:
                self._check(request, answer)
                body = await self._body(request, answer)
            return Response(answer.status, _headers(answer), body)
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        raise failure  # out here, so that what aiohttp raised is not chained: it holds our headers

    async def _open(self, request: Request, login: Login) -> aiohttp.ClientResponse:
        try:
            _, session = self._open_sessions()
            async with asyncio.timeout(self._limits.answer.total_seconds()):
                return await self._start(session, request, login, self._watch_timeout)
        except failures.CAUGHT as error:
            failure = failures.explain(error, self._peer)
        raise failure

    async def _start(
        self,
        session: aiohttp.ClientSession,
        request: Request,
        login: Login,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own, covers the body too
    ) -> aiohttp.ClientResponse:
        headers = [*self._headers, *request.headers]
        if login.authorization:
            headers.append(("authorization", login.authorization))
        return await session.request(
            request.method,
            self._url(request),
            data=_payload(request.body),
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            ssl=self._tls.context(login) if self._is_tls else True,
            server_hostname=self._config.tls_server_name or None,
            proxy=self._config.proxy_url or None,
        )

    def _url(self, request: Request) -> str:
        if not request.query:
            return f"{self._base}{request.path}"
        query = "&".join(
            # Most values need no quoting, and finding that out is ten times cheaper.
            [
                f"{name}={value if _is_plain(value) else quote(value)}"
                for name, value in request.query
            ]
        )
        return f"{self._base}{request.path}?{query}"

    def _open_sessions(self) -> tuple[aiohttp.ClientSession, aiohttp.ClientSession]:
        """Return the two pools; opened late because that needs a running event loop."""
        if self._is_closed:
            raise RuntimeError(f"the transport to {self._base} is closed")
        if self._sessions is None:
            self._sessions = _session(self._limits.connections + _FOR_LEASES), _session(0)
        return self._sessions

    async def _body(self, request: Request, answer: aiohttp.ClientResponse) -> bytes:
        limit = self._limits.body
        parts: list[bytes] = []
        size = answer.content_length or 0
        if size <= limit:
            size = 0
            async for chunk in answer.content.iter_any():
                size += len(chunk)
                if size > limit:
                    break
                parts.append(chunk)
        if size > limit:
            _hang_up(answer)  # the rest must not be read to make the connection reusable
            raise BodyTooLarge(
                f"{self._base}{request.path}: the answer exceeds {limit} bytes and was dropped; "
                "ask for less (smaller pages, a selector), or raise the limit on bodies"
            )
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _check(self, request: Request, answer: aiohttp.ClientResponse) -> None:
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


class Refusal:
    """A stream that never started: a complete answer in the place of one."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._body = response.body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the one chunk there is."""
        yield self._body


class HttpStream:
    """The answer of a watch, as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse, peer: failures.Peer) -> None:
        self._answer = answer
        self._peer = peer
        self.status = answer.status
        self.headers: Mapping[str, str] = _headers(answer)

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._answer.content.readany()
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


def _session(connections: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        middlewares=(failures.send_once,),
    )


def _headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the headers with lower-case names, repeated ones joined as HTTP allows."""
    received = answer.headers
    headers = {name.lower(): value for name, value in received.items()}
    if len(headers) < len(received):
        headers = {name: ", ".join(received.getall(name)) for name in headers}
    return headers


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """Return a body as aiohttp wants it: of large ones it warns unless they are files."""
    return io.BytesIO(body) if body and len(body) > _LARGE_BODY else body


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """End an answer that is still being sent.

    At once: a polite end of TLS waits for the server's, and a loop that ends first leaves the
    socket open.
    """
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
    answer.close()

"""The web server: bounds what comes in, finds the endpoint, counts what goes out.

Who may ask is decided before a body is read: with a client authority, those whose certificate it
signed, and of these the ones with an accepted name. Probes need no certificate.
"""

import asyncio
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any

import orjson
import structlog
from aiohttp import web

from certwright.clock import SYSTEM, Clock
from certwright.kube import (
    ApiError,
    BadRequest,
    MethodNotAllowed,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
)
from certwright.kube.durations import parse_duration
from certwright.kube.errors import UnsupportedMediaType
from certwright.listener import Listener
from certwright.runtime import ListenAddress
from certwright.runtime.serve.health import Check
from certwright.runtime.serve.probeserver import probe_response
from certwright.tls.server import HandshakeProfile, ServingCertificate
from certwright.webhook.endpoints import Answer, ReviewEndpoint
from certwright.webhook.metrics import PathMetrics, WebhookMetrics
from certwright.webhook.response import ReviewResponse

IDLE_SECONDS = 180.0
"""How long a connection may stay open unused. Longer than API servers keep theirs (90 s): if the
server were first, a review could be sent on a connection that is just being closed."""
HANDSHAKE_SECONDS = 10.0
_HEADER_BYTES = 8192
_LINGER_SECONDS = 1.0
_LAST_HANDSHAKES_SECONDS = 1.0
"""For those under way when the server ends: a review is about to follow."""
_LEAST_SECONDS = 0.1
"""For connections to be closed when no time is left: for aiohttp, none would be without end."""
_JSON = "application/json"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ReviewLimits:
    """What one server accepts. API servers send objects of up to 3 MiB, of an update two."""

    body_bytes: int = 7 * 1024 * 1024
    in_flight: int = 500
    """Reviews at a time; more are refused with 429, and the API server tries again."""
    connect: timedelta = timedelta(seconds=10)
    """From the end of a handshake to the first request; such connections are closed."""
    review: timedelta = timedelta(seconds=10)
    """For one review, from its first byte on; less if the API server waits for less."""
    shutdown: timedelta = timedelta(seconds=20)
    """For reviews under way when the server ends, after the delay; then they are cut off."""
    shutdown_delay: timedelta = timedelta()
    """For how long a server that is to end goes on: Services send reviews to a pod until all know
    that it ends. A few seconds, where several pods serve."""


def webhook_profile(client_authority: bool = False) -> HandshakeProfile:  # noqa: FBT001, FBT002 - of one
    """Return how a webhook shakes hands: API servers speak TLS 1.3.

    With a client authority, what clients without a certificate may do is for the server to decide.
    """
    clients = ssl.CERT_OPTIONAL if client_authority else ssl.CERT_NONE
    return HandshakeProfile("webhook", "http/1.1", clients)


class _Server(web.Server):
    """Closes connections that never carry a request: any pod can open them."""

    def __init__(
        self, handler: Any, *, patience: float, metrics: WebhookMetrics, **options: Any
    ) -> None:
        super().__init__(handler, **options)
        self._patience = patience
        self._metrics = metrics
        self._unused: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._metrics.connections.inc()
        loop = asyncio.get_running_loop()
        self._unused[handler] = loop.call_later(self._patience, transport.close)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        self.used(handler)
        super().connection_lost(handler, exc)

    def used(self, handler: web.RequestHandler) -> None:
        """Note that a request came, or that none will."""
        timer = self._unused.pop(handler, None)
        if timer is not None:
            timer.cancel()


class WebhookServer:
    """Serves reviews until cancelled, then finishes those under way.

    With *authenticated*, reviews are accepted only from clients with a certificate that the client
    authority signed, and if *clients* are given, with one of these names (CN).
    """

    def __init__(
        self,
        endpoints: Sequence[ReviewEndpoint],
        certificate: ServingCertificate,
        metrics: WebhookMetrics,
        address: ListenAddress,
        *,
        clock: Clock = SYSTEM,
        limits: ReviewLimits | None = None,
        authenticated: bool = False,
        clients: Collection[str] = (),
    ) -> None:
        self._endpoints = {one.path: (one, PathMetrics(metrics, one.path)) for one in endpoints}
        self._certificate = certificate
        self._metrics = metrics
        self._address = address
        self._clock = clock
        self._limits = limits or ReviewLimits()
        self._seconds = self._limits.review.total_seconds()
        self._authenticated = authenticated
        self._clients = frozenset(clients)
        self._running = 0
        self._server: _Server | None = None
        self._listening = asyncio.Event()
        self._ending = False
        self._finished = asyncio.Event()
        self.checks: list[Callable[[], Iterator[Check]]] = [self.readiness]
        """What ``/readyz`` shows."""
        self.port = address.port
        """The port in use, also when any free one was asked for."""

    # Life

    async def run(self) -> None:
        """Listen until cancelled; then accept nothing more and finish what is under way."""
        server = _Server(
            self._serve,
            patience=self._limits.connect.total_seconds(),
            metrics=self._metrics,
            request_factory=partial(_request, limit=self._limits.body_bytes),
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=_LINGER_SECONDS,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            auto_decompress=False,
        )
        self._server = server
        listener = await Listener.open(
            server,
            self._address.host,
            self._address.port,
            context=self._certificate.front,
            handshake_seconds=HANDSHAKE_SECONDS,
        )
        try:
            self.port = listener.port
            _log.info("webhook listens", host=self._address.host, port=self.port)
            self._listening.set()
            await asyncio.Event().wait()
        finally:
            self._ending = True  # each connection is closed after its next answer
            try:
                await asyncio.sleep(self._limits.shutdown_delay.total_seconds())
            finally:
                loop = asyncio.get_running_loop()
                deadline = loop.time() + self._limits.shutdown.total_seconds()
                await listener.close(_LAST_HANDSHAKES_SECONDS)
                await self._finish(deadline)
                server.pre_shutdown()
                # aiohttp waits twice: for what is under way, and once more after cancelling it.
                await server.shutdown(max(deadline - loop.time(), _LEAST_SECONDS) / 2)
                await listener.end()

    async def _finish(self, deadline: float) -> None:
        """Wait for reviews under way.

        Before aiohttp is told: it ignores the rest of a body on a connection that is to be closed,
        and the API server would wait for an answer in vain.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while self._running:
                    self._finished.clear()
                    await self._finished.wait()

    async def listening(self) -> int:
        """Return the port as soon as connections are accepted."""
        await self._listening.wait()
        return self.port

    def readiness(self) -> Iterator[Check]:
        """Yield whether reviews can be served, and with which certificate."""
        problem = "" if self._listening.is_set() else "not listening yet"
        if self._ending:
            problem = "shutting down"
        yield Check("webhook server", problem, f"port {self.port}, {self._running} under way")
        pair, latest = self._certificate.pair, self._certificate.problem
        if pair is None:
            yield Check("webhook certificate", latest, "none in use")
            return
        detail = f"{pair.fingerprint[:16]}, expires {pair.validity.not_after.isoformat()}"
        if latest:
            detail += f"; a newer one is not used: {latest}"
        problem = "expired" if self._certificate.expired() else ""
        yield Check("webhook certificate", problem, detail)

    # One request

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._server is not None:
            self._server.used(request.protocol)
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport else None
        path, _, query = request.raw_path.partition("?")
        found = self._endpoints.get(path)
        if found is None:
            response: web.StreamResponse = self._other(request, path, query)
        else:
            response = await self._review(request, connection, *found, query)
        if self._ending or not self._certificate.is_current(connection):
            response.force_close()  # so the next review comes under the certificate of now
        return response

    async def _review(
        self,
        request: web.BaseRequest,
        connection: ssl.SSLObject | None,
        endpoint: ReviewEndpoint,
        metrics: PathMetrics,
        query: str,
    ) -> web.StreamResponse:
        started = self._clock.monotonic()
        self._running += 1
        metrics.in_flight += 1
        result = "failed"
        try:
            self._admit(request)
            answer = await self._answer(request, connection, endpoint, query)
            result = answer.result
            return ReviewResponse(answer.body, self._clock.now().timestamp())
        except ApiError as error:
            if error.status_code < 500:
                result = "refused"
                _log.warning("review refused", path=endpoint.path, error=error.message)
            return _refusal(error)
        finally:
            self._running -= 1
            if self._ending:
                self._finished.set()
            metrics.in_flight -= 1
            metrics.results[result].inc()
            metrics.seconds.observe(self._clock.monotonic() - started)

    def _admit(self, request: web.BaseRequest) -> None:
        """Raise `ApiError` if a request is not to be read."""
        if self._authenticated:
            transport = request.transport
            shown = transport.get_extra_info("peercert") if transport else None
            check_client(shown, self._clients)
        if self._running > self._limits.in_flight:
            raise TooManyRequests(
                f"{self._limits.in_flight} reviews are under way, more are not accepted",
                retry_after=1,
            )
        check_headers(request.method, request.headers)
        length = request.content_length
        if length is not None and length > self._limits.body_bytes:
            raise self._too_large()

    async def _answer(
        self,
        request: web.BaseRequest,
        connection: ssl.SSLObject | None,
        endpoint: ReviewEndpoint,
        query: str,
    ) -> Answer:
        seconds = min(self._seconds, asked_seconds(query)) if query else self._seconds
        certificate = self._certificate.fingerprint_of(connection)
        try:
            if request.content.is_eof():  # as nearly always: all of it has come
                answer = endpoint.answer(self._whole(request), certificate)
                if isinstance(answer, Answer):
                    return answer
                async with asyncio.timeout(seconds):
                    return await answer
            async with asyncio.timeout(seconds):
                answer = endpoint.answer(await request.read(), certificate)
                return answer if isinstance(answer, Answer) else await answer
        except web.HTTPRequestEntityTooLarge:
            raise self._too_large() from None
        except (web.RequestPayloadError, ConnectionError):
            raise BadRequest("the body broke off") from None
        except TimeoutError:
            _log.error("review took too long", path=endpoint.path, seconds=seconds)
            raise ServerTimeout(f"{endpoint.path}: no decision within {seconds:g} s") from None

    def _whole(self, request: web.BaseRequest) -> bytes:
        """Return a body of which nothing is still to come."""
        body = request.content.read_nowait()
        if len(body) > self._limits.body_bytes:  # in chunks, so that no header said so
            raise self._too_large()
        return body

    def _too_large(self) -> RequestTooLarge:
        return RequestTooLarge(f"the body is larger than {self._limits.body_bytes} bytes")

    def _other(self, request: web.BaseRequest, path: str, query: str) -> web.Response:
        """Answer what is no review."""
        match path:
            case "/livez" | "/healthz":
                return web.Response(text="ok")
            case "/readyz":
                checks = (check for part in self.checks for check in part())
                return probe_response("readyz", checks, verbose="verbose" in query)
        self._metrics.not_found.inc()
        return _refusal(NotFound(f"no webhook is served under {request.path[:200]!r}"))


def check_client(certificate: Mapping[str, Any] | None, names: Collection[str]) -> None:
    """Raise `Unauthorized` unless a client showed a certificate, with one of these names if any.

    *certificate* is what the ssl module makes of one that it verified.
    """
    if not certificate:
        raise Unauthorized("a client certificate is required")
    if names:
        subject = certificate.get("subject", ())
        shown = {value for part in subject for name, value in part if name == "commonName"}
        if not shown & set(names):
            raise Unauthorized(f"the client {', '.join(sorted(shown))!r} is not accepted here")


def check_headers(method: str, headers: Mapping[str, str]) -> None:
    """Raise `ApiError` if a request is none that carries a review."""
    if method != "POST":
        raise MethodNotAllowed(f"reviews are sent by POST, not by {method[:20]}")
    content = headers.get("Content-Type", "")
    if content != _JSON and (content := content.partition(";")[0].strip().lower()) != _JSON:
        raise UnsupportedMediaType(f"the body is {content[:100]!r}; reviews are {_JSON}")
    if headers.get("Content-Encoding", "identity") != "identity":
        raise UnsupportedMediaType("compressed bodies are not accepted")


@lru_cache(maxsize=64)
def asked_seconds(query: str) -> float:
    """Return for how long the API server waits, as it says in ``timeout``; infinite if it does not.

    What is not a duration is ignored: the own limit holds anyway.
    """
    for part in query[:1000].split("&"):
        name, _, value = part.partition("=")
        if name == "timeout":
            try:
                seconds = parse_duration(value).total_seconds()
            except ValueError:
                return float("inf")
            return seconds if seconds > 0 else float("inf")
    return float("inf")


def _request(
    message: Any, payload: Any, protocol: Any, writer: Any, task: Any, *, limit: int
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=limit)


def _refusal(error: ApiError) -> web.Response:
    response = web.Response(
        status=error.status_code, body=orjson.dumps(error.to_status()), content_type=_JSON
    )
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(int(error.retry_after))
    return response

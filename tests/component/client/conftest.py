"""Small servers on 127.0.0.1 that behave as badly as a test wants, and clients for them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiohttp import web

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import Client, Config, HttpTransport, Limits
from certwright.client.retry import Policy
from certwright.listener import serve_streams, serve_web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]] | None:
    if "any_loop" in getattr(item, "fixturenames", ()):
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return None


@pytest.fixture
def any_loop() -> None:
    """Run a test on both event loops: their sockets differ in what they call, and when."""


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack: AsyncExitStack) -> Callable[..., Awaitable[Any]]:
    """Start a server whose every answer comes from one handler; gives its URL."""

    async def start(handler: Handler, tls: ssl.SSLContext | None = None) -> str:
        app = web.Application(client_max_size=2**30)

        async def answer(request: web.Request) -> web.StreamResponse:
            return await handler(request)

        app.router.add_route("*", "/{path:.*}", answer)
        # No patience with open handlers at the end: tests that hang them up mean it.
        runner = web.AppRunner(app, shutdown_timeout=0.01, access_log=None)
        served = serve_web(runner, "127.0.0.1", context=tls)
        port = await stack.enter_async_context(served)
        scheme = "http" if tls is None else "https"
        return f"{scheme}://127.0.0.1:{port}"

    return start


@pytest.fixture
def serve_bytes(stack: AsyncExitStack) -> Callable[..., Awaitable[Any]]:
    """Start a server that reads one request head and then does what it is told with the socket."""

    async def start(behave: Behaviour) -> str:
        async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                await behave(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass  # the client hung up, which is what some tests are about
            finally:
                writer.close()

        served = serve_streams(on_connection, "127.0.0.1")
        return f"http://127.0.0.1:{await stack.enter_async_context(served)}"

    return start


@pytest.fixture
def client_of(stack: AsyncExitStack) -> Callable[..., Any]:
    """Make a client that does not retry, unless the test is about retries."""

    def make(
        config: Config | str,
        *,
        limits: Limits | None = None,
        environ: Any = None,
        clock: "SteppedClock | None" = None,
        **options: Any,
    ) -> Client:
        config = Config(config) if isinstance(config, str) else config
        around = {"limits": limits, "environ": environ, "clock": clock}
        given = {name: value for name, value in around.items() if value is not None}
        options.setdefault("retries", Policy(attempts=1))
        client = Client(HttpTransport(config, **given), **options)
        stack.push_async_callback(client.close)
        return client

    return make


class SteppedClock:
    """A clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture(scope="session")
def authority() -> TestAuthority:
    return TestAuthority("test authority", datetime.now(UTC))


@pytest.fixture(scope="session")
def other_authority() -> TestAuthority:
    return TestAuthority("another authority", datetime.now(UTC))


@pytest.fixture
def server_tls(authority: TestAuthority, tmp_path: Path) -> Callable[..., Any]:
    """Make the server's side of TLS, with or without asking clients for certificates."""

    def make(*hosts: str, clients: TestAuthority | None = None) -> ssl.SSLContext:
        pair = authority.serving(*(hosts or ("127.0.0.1",)))
        file = tmp_path / "serving.pem"
        file.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=clients.certificate.decode())
        return context

    return make


class Gate:
    """A server that lets in whoever sends one of the accepted tokens."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = set(accepted)
        self.seen: list[Any] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.accepted:
            return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=401)
        if "watch" in request.query:
            return web.Response(text='{"type":"ADDED"}\n')
        return web.json_response({"metadata": {"name": "web"}})


@pytest.fixture
def gate_for() -> type[Gate]:
    return Gate


@pytest.fixture
def mutual(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    other_authority: TestAuthority,
) -> Callable[..., Awaitable[Any]]:
    """A server that asks for client certificates and says whom it sees."""

    async def start() -> str:
        async def answer(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            certificate = request.transport.get_extra_info("peercert")
            subject = {name: value for rdn in certificate["subject"] for name, value in rdn}
            return web.json_response({"metadata": {"name": subject["commonName"]}})

        value: str = await serve(answer, server_tls(clients=other_authority))
        return value

    return start

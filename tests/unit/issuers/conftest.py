"""HTTPS servers in this process, for what no real server can be made to say."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from certwright import pki
from certwright.listener import serve_web


@pytest.fixture(scope="session")
def server_identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """A server's TLS context, and the PEM that its clients trust."""
    folder = tmp_path_factory.mktemp("tls")
    now, day = datetime.now(UTC), timedelta(days=1)
    root = pki.create_root(
        pki.parse_name("CN=test servers"), pki.generate_key(pki.KeySpec()), day, now
    )
    key = pki.generate_key(pki.KeySpec())
    names = pki.AlternativeNames.of_hosts("localhost", "127.0.0.1")
    template = pki.server_template(pki.parse_name("CN=localhost"), key.public_key(), day, names)
    (folder / "tls.crt").write_bytes(root.write_chain(root.issue(template, now)))
    (folder / "tls.key").write_bytes(pki.write_key(key))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context, pki.write_certificates(root.certificate).decode()


@pytest.fixture
def trusted(server_identity: tuple[ssl.SSLContext, str]) -> str:
    return server_identity[1]


@pytest.fixture
async def serve(
    server_identity: tuple[ssl.SSLContext, str],
) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """``await serve(handler)``: answer every request with it; returns the URL."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(handler: Callable[..., Awaitable[Any]]) -> str:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handler)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            served = serve_web(runner, "127.0.0.1", context=server_identity[0])
            return f"https://localhost:{await stack.enter_async_context(served)}"

        yield start

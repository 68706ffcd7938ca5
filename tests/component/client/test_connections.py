"""TLS, proxies, pools and cancellation, on real sockets."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.component.client.conftest import SteppedClock

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import (
    Config,
    ConnectFailed,
    CredentialError,
    Limits,
    Material,
    TlsFailed,
    User,
)
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.listener import serve_streams

KEY = Key("shop", "web")


async def hello(_: web.Request) -> web.StreamResponse:
    return web.json_response({"metadata": {"name": "web"}})


async def test_a_trusted_server(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
) -> None:
    config = Config(await serve(hello, server_tls()), ca=Material(authority.certificate))
    assert (await client_of(config).get(ConfigMap, KEY))["metadata"]["name"] == "web"


async def test_a_server_that_another_authority_vouches_for(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    other_authority: TestAuthority,
) -> None:
    url = await serve(hello, server_tls())
    config = Config(url, ca=Material(other_authority.certificate), source="context 'dev' of x")
    with pytest.raises(TlsFailed) as caught:
        await client_of(config).get(ConfigMap, KEY)
    assert str(caught.value) == (
        f"{url}: its certificate is not trusted (unable to get local issuer certificate); "
        "correct certificate-authority or tls-server-name of context 'dev' of x"
    )


async def test_without_an_authority_the_systems_own_are_asked(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
) -> None:
    with pytest.raises(TlsFailed, match="its certificate is not trusted"):
        await client_of(await serve(hello, server_tls())).get(ConfigMap, KEY)


async def test_a_server_under_another_name(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
) -> None:
    url = await serve(hello, server_tls("api.internal"))
    ca = Material(authority.certificate)
    with pytest.raises(TlsFailed, match="IP address mismatch"):
        await client_of(Config(url, ca=ca)).get(ConfigMap, KEY)
    await client_of(Config(url, ca=ca, tls_server_name="api.internal")).get(ConfigMap, KEY)


async def test_trusting_anybody_if_told_to(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
) -> None:
    url = await serve(hello, server_tls("api.internal"))
    await client_of(Config(url, insecure_skip_tls_verify=True)).get(ConfigMap, KEY)


async def test_a_rotated_authority_is_used_a_moment_later(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
    tmp_path: Path,
    clock: SteppedClock,
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(other_authority.certificate)
    config = Config(await serve(hello, server_tls()), ca=Material(path=str(file)))
    client = client_of(config, clock=clock)
    with pytest.raises(TlsFailed):
        await client.get(ConfigMap, KEY)
    clock.time += timedelta(seconds=1)
    file.write_bytes(authority.certificate + other_authority.certificate)
    await client.get(ConfigMap, KEY)


@pytest.mark.parametrize("content", [b"not PEM", b"\xff\xfe"])
async def test_an_authority_that_is_no_certificate(
    client_of: Callable[..., Any], tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(content)
    client = client_of(Config("https://127.0.0.1:1", ca=Material(path=str(file))))
    with pytest.raises(CredentialError, match=f"{file}: the certificate authority is not PEM"):
        await client.get(ConfigMap, KEY)


async def test_https_to_a_plain_server(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    url = (await serve(hello)).replace("http:", "https:")
    with pytest.raises(TlsFailed, match="is this the right port"):
        await client_of(url).get(ConfigMap, KEY)


async def test_the_address_that_worked_is_tried_first(
    client_of: Callable[..., Any], stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host has two addresses; one was away for a while and is not asked first any more."""
    seen = []

    async def listen(address: str, port: int) -> int:
        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            seen.append(address)
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n{}")
            writer.close()

        return await stack.enter_async_context(serve_streams(converse, address, port))

    async def resolve(
        _host: str, port: int, **_: Any
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    port = await listen("127.0.0.1", 0)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    client = client_of(f"http://api.internal:{port}")
    await client.get(ConfigMap, KEY)
    await listen("127.0.0.2", port)
    await client.get(ConfigMap, KEY)
    assert seen == ["127.0.0.1", "127.0.0.1"]


class Relay:
    """One address of a server; it may be down, or take connections and hang up."""

    def __init__(self, address: str, port: int, stack: AsyncExitStack) -> None:
        self._address = address
        self._port = port
        self._served = AsyncExitStack()
        stack.push_async_callback(self.stop)
        self.count = 0
        self.is_sick = False

    async def start(self) -> None:
        served = serve_streams(self._relay, self._address, self._port)
        await self._served.enter_async_context(served)

    async def stop(self) -> None:
        await self._served.aclose()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        if not self.is_sick:
            await relay(reader, writer, self._port)
        writer.close()


async def test_what_happened_last_at_an_address_counts(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    stack: AsyncExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.json_response({})
        response.force_close()
        return response

    async def resolve(
        _host: str, port: int, **_: Any
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.3")]

    url = await serve(answer, server_tls("api.internal"))
    port = int(url.rpartition(":")[2])
    one, two = (Relay(address, port, stack) for address in ("127.0.0.2", "127.0.0.3"))
    for relay in (one, two):
        await relay.start()
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    ca = Material(authority.certificate)
    client = client_of(Config(f"https://api.internal:{port}", ca=ca))
    await client.get(ConfigMap, KEY)
    one.is_sick = True
    with pytest.raises(ConnectFailed, match="closes the connection when TLS begins"):
        await client.get(ConfigMap, KEY)
    await client.get(ConfigMap, KEY)
    assert (one.count, two.count) == (2, 1), "whoever hung up is not asked again"
    one.is_sick = False
    await two.stop()
    await client.get(ConfigMap, KEY)
    await two.start()
    await client.get(ConfigMap, KEY)
    assert (one.count, two.count) == (4, 1), "until it works again"


async def test_the_connection_is_reused_and_bodies_are_asked_for_as_they_are(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    seen = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((id(request.transport), request.headers["Accept-Encoding"]))
        return web.json_response({})

    client = client_of(await serve(answer))
    for _ in range(3):
        await client.get(ConfigMap, KEY)
    assert len(set(seen)) == 1
    assert seen[0][1] == "identity"


async def test_repeated_headers_are_all_heard(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def warn(_: web.Request) -> web.StreamResponse:
        response = web.json_response({})
        response.headers.add("Warning", '299 - "one"')
        response.headers.add("Warning", '299 - "two"')
        return response

    heard: list[Any] = []
    client = client_of(await serve(warn), on_warning=heard.append)
    await client.get(ConfigMap, KEY)
    assert heard == ["one", "two"]


class Proxy:
    """A proxy that tunnels CONNECT to one place, whatever host was asked for."""

    def __init__(self, port: int, status: int = 200) -> None:
        self.port = port
        self.status = status
        self.heads: list[Any] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"HTTP/1.1 {self.status} x\r\n\r\n".encode())
        if self.status == 200:
            await relay(reader, writer, self.port)
        writer.close()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, far_writer))
            group.create_task(pump(far_reader, writer))
    finally:
        far_writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@pytest.fixture
def proxy_to(stack: AsyncExitStack) -> Callable[..., Awaitable[Any]]:
    async def start(port: int, status: int = 200) -> Any:
        proxy: Any = Proxy(port, status)
        port = await stack.enter_async_context(serve_streams(proxy, "127.0.0.1"))
        proxy.url = f"http://joe:canary@127.0.0.1:{port}"
        return proxy

    return start


async def test_through_a_proxy(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    proxy_to: Callable[..., Awaitable[Any]],
) -> None:
    """The tunnel leads to the server; the proxy sees its own password and never the token."""
    url = await serve(hello, server_tls("api.internal"))
    proxy = await proxy_to(int(url.rpartition(":")[2]))
    config = Config(
        "https://api.internal:6443",
        ca=Material(authority.certificate),
        proxy_url=proxy.url,
        user=User(token="bearer-canary"),
    )
    client = client_of(config)
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "web"
    await client.close()
    (head,) = proxy.heads
    assert head.startswith("CONNECT api.internal:6443 HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic" in head
    assert "bearer-canary" not in head


async def test_a_server_name_through_a_proxy(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    proxy_to: Callable[..., Awaitable[Any]],
) -> None:
    url = await serve(hello, server_tls("api.internal"))
    proxy = await proxy_to(int(url.rpartition(":")[2]))
    config = Config(
        "https://10.0.0.1",
        ca=Material(authority.certificate),
        proxy_url=proxy.url,
        tls_server_name="api.internal",
    )
    client = client_of(config)
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "web"
    await client.close()


async def test_a_proxy_that_refuses(
    client_of: Callable[..., Any], proxy_to: Callable[..., Awaitable[Any]], authority: TestAuthority
) -> None:
    proxy = await proxy_to(0, status=407)
    config = Config("https://api.internal", ca=Material(authority.certificate), proxy_url=proxy.url)
    with pytest.raises(ConnectFailed) as caught:
        await client_of(config).get(ConfigMap, KEY)
    address = proxy.url.rpartition("@")[2]
    assert f"https://api.internal: its proxy {address} refuses the connection with 407" in str(
        caught.value
    )
    assert "canary" not in str(caught.value)


async def test_a_proxy_that_is_not_there(client_of: Callable[..., Any]) -> None:
    config = Config("https://api.internal", proxy_url="http://joe:canary@127.0.0.1:1")
    with pytest.raises(ConnectFailed, match=r"its proxy 127\.0\.0\.1:1 cannot be reached"):
        await client_of(config).get(ConfigMap, KEY)


async def test_watches_do_not_starve_requests(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any], stack: AsyncExitStack
) -> None:
    """Many more watches than connections for requests are open, and a request still gets through."""
    end = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"name": "web"}})
        response = web.StreamResponse()
        await response.prepare(request)
        await end.wait()
        return response

    client = client_of(await serve(answer), limits=Limits(connections=2), max_in_flight=2)
    for _ in range(10):
        await stack.enter_async_context(client.watch(ConfigMap))
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "web"
    end.set()


async def test_a_cancelled_request_ends_at_once_and_hangs_up(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    arrived, hung_up = asyncio.Event(), asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        arrived.set()
        assert await reader.read() == b""
        hung_up.set()

    client = client_of(await serve_bytes(never_answer))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.get(ConfigMap, KEY))
        await arrived.wait()
        task.cancel()
    assert task.cancelled()
    await hung_up.wait()


async def test_a_cancelled_watch_hangs_up(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    opened, hung_up = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert await reader.read() == b""
        hung_up.set()

    client = client_of(await serve_bytes(say_nothing))

    async def watch() -> None:
        async with client.watch(ConfigMap) as lines:
            opened.set()
            async for _ in lines:
                pytest.fail("the watch says nothing")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch())
        await opened.wait()
        task.cancel()
    assert task.cancelled()
    await hung_up.wait()


async def test_a_closed_client_opens_no_connection_again(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    client = client_of(await serve(hello))
    await client.get(ConfigMap, KEY)
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await client.get(ConfigMap, KEY)

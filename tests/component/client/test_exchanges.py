"""Requests and answers on real sockets and both event loops: large, slow, late and cut."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from ssl import SSLContext
from typing import Any

import pytest
from aiohttp import web

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import (
    Config,
    ConnectFailed,
    ConnectionLost,
    HttpTransport,
    Limits,
    Material,
    NoConnectionFree,
    Request,
    Timeout,
    TransportError,
)
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.listener import serve_streams

pytestmark = pytest.mark.usefixtures("any_loop")

KEY = Key("shop", "web")
GET = Request("get", "GET", "/api")
MEBIBYTE = 2**20


def named(name: bytes) -> bytes:
    body = b'{"metadata":{"name":"%s"}}' % name
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Connections:
    """A server that numbers its connections and lets a function talk on each."""

    def __init__(self, talk: Callable[..., Awaitable[Any]]) -> None:
        self._talk = talk
        self.count = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        try:
            await self._talk(self.count, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client hung up
        finally:
            writer.close()


@pytest.fixture
def serve_talk(stack: AsyncExitStack) -> Callable[..., Awaitable[Any]]:
    async def start(talk: Callable[..., Awaitable[Any]], tls: SSLContext | None = None) -> Any:
        connections: Any = Connections(talk)
        served = serve_streams(connections, "127.0.0.1", context=tls)
        connections.port = await stack.enter_async_context(served)
        connections.url = f"{'https' if tls else 'http'}://127.0.0.1:{connections.port}"
        return connections

    return start


@pytest.fixture
def transport_of(stack: AsyncExitStack) -> Callable[..., Any]:
    def make(url: str | Config, **options: Any) -> HttpTransport:
        config = url if isinstance(url, Config) else Config(url)
        transport = HttpTransport(config, **options)
        stack.push_async_callback(transport.close)
        return transport

    return make


@pytest.mark.parametrize("chunked", [False, True])
async def test_large_bodies_both_ways(
    serve: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    authority: TestAuthority,
    transport_of: Callable[..., Any],
    *,
    chunked: bool,
) -> None:
    connections = set()

    async def echo(request: web.Request) -> web.StreamResponse:
        connections.add(request.transport)
        body = await request.read()
        if not chunked:
            return web.Response(body=body)
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(body), 100_000):
            await response.write(body[start : start + 100_000])
        return response

    config = Config(await serve(echo, server_tls()), ca=Material(authority.certificate))
    transport = transport_of(config)
    body = bytes(range(256)) * 4096 * 8
    for size in (0, 1, 70_000, len(body)):
        response = await transport.send(Request("create", "POST", "/a", body=body[:size]))
        assert response.body == body[:size]
    assert len(connections) == 1, "each went by the book"


async def test_a_watch_that_is_read_slowly_makes_the_server_wait(
    serve_talk: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    authority: TestAuthority,
    client_of: Callable[..., Any],
) -> None:
    sent, total = 0, 200
    line = b"x" * (MEBIBYTE // 10 - 1) + b"\n"

    async def flood(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(total):
            writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    server = await serve_talk(flood, server_tls())
    client = client_of(Config(server.url, ca=Material(authority.certificate)))
    async with client.watch(ConfigMap) as lines:
        stalled = -1
        while stalled < sent or not sent:  # until the server gets no further
            stalled = sent
            await asyncio.sleep(0.1)
        assert stalled < total, "everything was taken, though nobody reads"
        assert sum([len(batch) async for batch in lines]) == total


async def test_a_late_answer_is_not_taken_for_that_of_the_next_request(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    late = asyncio.Event()

    async def talk(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if number == 1:
            await late.wait()
        writer.write(named(b"%d" % number))
        await reader.read()

    server = await serve_talk(talk)
    transport = transport_of(server.url, limits=Limits(response=timedelta(milliseconds=50)))
    with pytest.raises(Timeout):
        await transport.send(GET)
    late.set()
    assert b'"2"' in (await transport.send(GET)).body


async def test_nor_that_of_a_cancelled_request(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    arrived, late = asyncio.Event(), asyncio.Event()

    async def talk(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        if number == 1:
            await late.wait()
        writer.write(named(b"%d" % number))
        await reader.read()

    server = await serve_talk(talk)
    transport = transport_of(server.url)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(transport.send(GET))
        await arrived.wait()
        task.cancel()
    late.set()
    assert b'"2"' in (await transport.send(GET)).body


@pytest.mark.parametrize("answer", [b"HTTP/1.0 200 OK\r\n\r\n{}", named(b"web")])
async def test_a_server_that_hangs_up_after_each_answer(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any], answer: bytes
) -> None:
    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    server = await serve_talk(talk)
    transport = transport_of(server.url)
    for count in range(1, 4):
        assert (await transport.send(GET)).status == 200
        await asyncio.sleep(0.05)  # long enough for the end of the connection to arrive
        assert server.count == count


async def test_a_server_that_hangs_up_instead_of_a_second_answer(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    """It may have executed the second request: whoever sent it decides whether to repeat it."""
    heard = []

    async def talk(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((number, await reader.readuntil(b"\r\n\r\n")))
        writer.write(named(b"web"))
        heard.append((number, await reader.readuntil(b"\r\n\r\n")))

    server = await serve_talk(talk)
    transport = transport_of(server.url)
    await transport.send(GET)
    with pytest.raises(ConnectionLost, match="whether the request took effect is unknown"):
        await transport.send(Request("create", "POST", "/api"))
    assert [number for number, _ in heard] == [1, 1]
    await transport.send(GET)
    assert [number for number, _ in heard] == [1, 1, 2]


async def test_interim_answers_are_passed_over(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" + named(b"web"))
        await reader.read()

    assert b"web" in (await transport_of((await serve_talk(talk)).url).send(GET)).body


async def test_a_server_that_accepts_and_does_not_speak_tls(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def silence(
        _number: int, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        await reader.read()

    server = await serve_talk(silence)
    limits = Limits(connect=timedelta(milliseconds=50))
    transport = transport_of(server.url.replace("http:", "https:"), limits=limits)
    with pytest.raises(ConnectFailed, match="no connection in time"):
        await transport.send(GET)


async def test_a_server_that_hangs_up_when_tls_is_to_begin(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def hang_up(
        _number: int, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        await reader.read(1)

    server = await serve_talk(hang_up)
    transport = transport_of(server.url.replace("http:", "https:"))
    with pytest.raises(ConnectFailed, match="closes the connection when TLS begins"):
        await transport.send(GET)


async def test_a_host_of_which_not_every_address_answers(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(named(b"web"))
        await reader.read()

    port = (await serve_talk(talk)).port  # on 127.0.0.1, while localhost may be ::1 first
    assert (await transport_of(f"http://localhost:{port}").send(GET)).status == 200


async def test_a_host_whose_first_address_swallows_everything(
    serve_talk: Callable[..., Awaitable[Any]],
    transport_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(named(b"web"))
        await reader.read()

    async def resolve(
        _host: str, port: int, **_: Any
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    loop = asyncio.get_running_loop()
    port = (await serve_talk(talk)).port
    with socket.socket() as full, socket.socket() as only:
        full.bind(("127.0.0.2", port))
        full.listen(0)
        only.connect(("127.0.0.2", port))  # beyond this one the system drops what arrives
        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        transport = transport_of(f"http://api.internal:{port}")
        started = loop.time()
        assert (await transport.send(GET)).status == 200
        assert 0.2 < loop.time() - started < 5


async def test_requests_that_find_all_connections_busy(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    """They end before those they wait for, and nothing of them is sent."""

    async def silence(
        _number: int, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        await reader.read()

    async def ask() -> None:
        with pytest.raises(TransportError) as caught:
            await transport.send(GET)
        ended.append(caught.value)

    ended: list[Any] = []
    server = await serve_talk(silence)
    limits = Limits(connections=1, response=timedelta(milliseconds=300))
    transport = transport_of(server.url, limits=limits)
    async with asyncio.TaskGroup() as group:
        for _ in range(5):  # two more than there are connections, those for leases included
            group.create_task(ask())
    assert [type(error) for error in ended] == [NoConnectionFree] * 2 + [Timeout] * 3
    assert "all 3 connections for requests were busy for 0.15 s" in str(ended[0])
    assert server.count == 3


async def test_watches_wait_for_no_connection(
    serve_talk: Callable[..., Awaitable[Any]],
    transport_of: Callable[..., Any],
    stack: AsyncExitStack,
) -> None:
    async def watch(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await reader.read()

    server = await serve_talk(watch)
    transport = transport_of(server.url, limits=Limits(connections=1))
    for _ in range(10):
        await stack.enter_async_context(transport.stream(GET))
    assert server.count == 10


async def test_the_end_of_the_transport_is_the_end_of_its_connections(
    serve_talk: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    authority: TestAuthority,
    transport_of: Callable[..., Any],
) -> None:
    heard = []

    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(named(b"web"))
        heard.append(await reader.read())

    server = await serve_talk(talk, server_tls())
    transport = transport_of(Config(server.url, ca=Material(authority.certificate)))
    await transport.send(GET)
    await transport.close()
    async with asyncio.timeout(5):
        while not heard:
            await asyncio.sleep(0.01)
    assert heard == [b""]


async def test_closing_fails_what_is_on_its_way(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    arrived = asyncio.Event()

    async def talk(
        _number: int, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        arrived.set()
        await reader.read()

    transport = transport_of((await serve_talk(talk)).url)

    async def close() -> None:
        await arrived.wait()
        await transport.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(close())
        with pytest.raises(ConnectionLost, match="closed on this side"):
            await transport.send(GET)


async def test_through_a_proxy_that_is_encrypted_itself(
    serve_talk: Callable[..., Awaitable[Any]],
    server_tls: Callable[..., Any],
    authority: TestAuthority,
    transport_of: Callable[..., Any],
) -> None:
    async def talk(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(named(b"web" * 100_000))
        await reader.read()

    async def proxy(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", server.port)
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, far_writer))
            group.create_task(pump(far_reader, writer))

    heads: list[Any] = []
    server = await serve_talk(talk, server_tls("api.internal", "127.0.0.1"))
    front = await serve_talk(proxy, server_tls("api.internal", "127.0.0.1"))
    config = Config("https://api.internal", ca=Material(authority.certificate), proxy_url=front.url)
    transport = transport_of(config)
    assert len((await transport.send(GET)).body) > 300_000
    assert heads == [b"CONNECT api.internal:443 HTTP/1.1\r\nHost: api.internal:443\r\n\r\n"]
    await transport.close()


async def test_a_proxy_that_speaks_before_it_is_spoken_to(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def proxy(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0")
        await reader.read()

    front = await serve_talk(proxy)
    transport = transport_of(Config("https://api.internal", proxy_url=front.url))
    with pytest.raises(ConnectFailed, match="it is not an HTTP proxy"):
        await transport.send(GET)


async def test_a_plain_server_behind_a_proxy(
    serve_talk: Callable[..., Awaitable[Any]], transport_of: Callable[..., Any]
) -> None:
    async def proxy(
        _number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(named(b"web"))
        await reader.read()

    heads: list[Any] = []
    front = await serve_talk(proxy)
    url = front.url.replace("//", "//joe:canary@")
    transport = transport_of(Config("http://api.internal:8001", proxy_url=url))
    assert (await transport.send(GET)).status == 200
    (head,) = heads
    assert head.startswith(b"GET http://api.internal:8001/api HTTP/1.1\r\nhost: api.internal:8001")
    assert b"Proxy-Authorization: Basic am9lOmNhbmFyeQ==\r\n" in head


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()

"""Servers that end leave no connection behind, whatever state it is in."""

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import uvloop
from aiohttp import web
from tests.support import webhook
from tests.support.xds import client as xds

from certwright.apiserver import ApiServer
from certwright.apiserver.http.certs import TestAuthority
from certwright.clock import SYSTEM
from certwright.listener import Listener, serve_streams, serve_web

AUTHORITY = TestAuthority("of listeners", SYSTEM.now())
TURNS = range(5)
"""Turns of the event loop in which a connection is accepted, wrapped and handed over."""


@pytest.fixture(name="context")
def _context() -> ssl.SSLContext:
    return server_context()


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = AUTHORITY.serving("127.0.0.1")
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)
    return context


class Peers:
    """Clients that connect, and do nothing of their own accord: they never close."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def connect(self, port: int) -> None:
        self._sockets.append(socket.create_connection(("127.0.0.1", port), timeout=10))

    async def shake_hands(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        secured = await asyncio.to_thread(context.wrap_socket, self._sockets[-1])
        self._sockets[-1] = secured

    def send(self, data: bytes) -> None:
        for one in self._sockets:
            one.sendall(data)

    async def receive(self) -> bytes:
        return await asyncio.to_thread(self._sockets[-1].recv, 65536)

    def are_cut_off(self) -> bool:
        return all(_is_cut_off(one) for one in self._sockets)

    def close(self) -> None:
        for one in self._sockets:
            one.close()


@pytest.fixture
def peers() -> Iterator[Peers]:
    peers = Peers()
    yield peers
    peers.close()


def _is_cut_off(one: socket.socket) -> bool:
    """Return whether the other side is closed, which on one machine is known at once."""
    one.setblocking(False)
    try:
        while socket.socket.recv(one, 65536):  # below TLS, which would want to answer
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@asynccontextmanager
async def listening(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    listener = await Listener.open(asyncio.Protocol, "127.0.0.1", 0, context=context)
    yield listener.port
    await listener.close()
    await listener.end(0.05)


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("count", TURNS)
async def test_connections_that_are_being_accepted(
    peers: Peers, context: ssl.SSLContext, count: int, *, secured: bool
) -> None:
    async with listening(context if secured else None) as port:
        peers.connect(port)
        peers.connect(port)
        await turns(count)
    assert peers.are_cut_off()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_connections_that_are_not_closed_by_the_other_side(
    peers: Peers, context: ssl.SSLContext, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def serve() -> None:
        async with listening(context) as port:
            for _ in range(2):
                peers.connect(port)
                await peers.shake_hands()
        assert peers.are_cut_off()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve())


async def test_handshakes_may_have_time_to_complete(peers: Peers, context: ssl.SSLContext) -> None:
    listener = await Listener.open(asyncio.Protocol, "127.0.0.1", 0, context=context)
    peers.connect(listener.port)
    await turns(max(TURNS))
    shaken = asyncio.create_task(peers.shake_hands())
    await listener.close(30)
    await shaken
    assert not peers.are_cut_off()
    await listener.end(0)
    assert peers.are_cut_off()


class Talker(asyncio.Protocol):
    """Sends at once what is more than sockets hold."""

    size = 16 * 2**20

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(bytes(self.size))


async def test_what_was_written_arrives_before_the_end() -> None:
    listener = await Listener.open(Talker, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    reading = asyncio.create_task(reader.read(-1))
    await listener.close()
    await listener.end(50)
    assert len(await reading) == Talker.size
    writer.close()


async def test_functions_that_serve_connections_are_cancelled(peers: Peers) -> None:
    ended = []

    async def talk(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
        finally:
            ended.append(reader)

    async with serve_streams(talk, "127.0.0.1") as port:
        peers.connect(port)
        await turns(max(TURNS))
        peers.connect(port)
    assert len(ended) == 1
    assert peers.are_cut_off()


async def test_a_port_in_use_is_an_error(context: ssl.SSLContext) -> None:
    runner = web.AppRunner(web.Application(), access_log=None)
    async with serve_web(runner, "127.0.0.1", context=context) as port:
        other = web.AppRunner(web.Application(), access_log=None)
        with pytest.raises(OSError, match="in use"):
            async with serve_web(other, "127.0.0.1", port):
                pass
        assert other.server is None


@asynccontextmanager
async def web_application() -> AsyncIterator[int]:
    runner = web.AppRunner(web.Application(), access_log=None, shutdown_timeout=0.1)
    async with serve_web(runner, "127.0.0.1", context=server_context()) as port:
        yield port


@asynccontextmanager
async def webhook_server() -> AsyncIterator[int]:
    served = webhook.Served([])
    async with served.running():
        yield served.server.port


@asynccontextmanager
async def api_server() -> AsyncIterator[int]:
    async with ApiServer().serve() as endpoint:
        yield int(endpoint.url.rpartition(":")[2])


@pytest.mark.parametrize("server", [web_application, webhook_server, api_server])
async def test_servers_do_not_wait_for_ever_for_close_notify(
    peers: Peers, server: Callable[[], AbstractAsyncContextManager[int]]
) -> None:
    async with server() as port:
        peers.connect(port)
        await peers.shake_hands()
    assert peers.are_cut_off()


async def test_a_connection_that_is_closed_twice_is_cut_off_too(peers: Peers) -> None:
    """By aiohttp: after its last response, and again when the server ends."""
    async with web_application() as port:
        peers.connect(port)
        await peers.shake_hands()
        peers.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b" 404 " in await peers.receive()
        assert not peers.are_cut_off()
    assert peers.are_cut_off()


@pytest.mark.parametrize("count", TURNS)
async def test_discovery_servers_know_what_they_accepted(peers: Peers, count: int) -> None:
    served = xds.Served()
    async with served.running():
        peers.connect(served.server.port)
        await turns(count)
    assert peers.are_cut_off()

"""Listening sockets that leave no connection behind when they are closed.

asyncio's own stop to accept, and no more. A connection that was accepted a moment before appears
later; one whose TLS handshake is under way is known to no protocol yet; and one that its protocol
has closed stays open until the other side answers with close_notify, for half a minute if that is
busy. An event loop that ends meanwhile leaves the socket open. Here all connections are known, and
what the other side does not close in time is cut off.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol, cast

CLOSE_SECONDS: Final = 1.0
"""How long the other side gets to close as well."""

StreamHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


class Listener:
    """Accepts connections until it is closed; `end` closes those that are left."""

    def __init__(self, factory: Callable[[], asyncio.Protocol]) -> None:
        self._factory = factory
        self._server: asyncio.Server
        self._arriving: set[asyncio.Task[Any]] = set()
        self._connections: set[_Connection] = set()
        self._empty = asyncio.Event()
        self.port = 0

    @classmethod
    async def open(
        cls,
        factory: Callable[[], asyncio.Protocol],
        host: str,
        port: int,
        *,
        context: ssl.SSLContext | None = None,
        handshake_seconds: float | None = None,
        backlog: int = 128,
    ) -> "Listener":
        """Listen, with TLS if there is a context; port 0 takes a free one.

        Each connection gets a protocol of the factory, which must not be a BufferedProtocol.
        """
        listener = cls(factory)
        server = await asyncio.get_running_loop().create_server(
            listener._accept,
            host,
            port,
            ssl=context,
            ssl_handshake_timeout=handshake_seconds,
            backlog=backlog,
        )
        listener._server = server
        listener.port = server.sockets[0].getsockname()[1]
        return listener

    async def close(self, handshake_seconds: float = 0) -> None:
        """Accept nothing more, and return when all that was accepted is known to its protocol.

        Handshakes under way have some time to complete; then they are cut off.
        """
        # What was accepted in this turn of the loop is handed over in the next one, and asyncio
        # drops what it would hand over to a server that is closed. So stop to accept before.
        for one in self._server.sockets:
            asyncio.get_running_loop().remove_reader(one.fileno())
        await asyncio.sleep(0)
        self._server.close()
        if self._arriving:
            _, late = await asyncio.wait(self._arriving, timeout=handshake_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def end(self, seconds: float = CLOSE_SECONDS) -> None:
        """Close all connections, and return when they are: properly in this time, or cut off."""
        for connection in list(self._connections):
            connection.close()
        try:
            await self._wait_empty(seconds)
        finally:
            for connection in list(self._connections):
                connection.cut_off()
        await self._wait_empty(seconds)

    async def _wait_empty(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._connections:
                    self._empty.clear()
                    await self._empty.wait()

    def _accept(self) -> asyncio.Protocol:
        # asyncio accepts each connection in a task, which ends after the handshake. It is the only
        # one who knows the connection until then, and closes it when cancelled. uvloop has none.
        task = asyncio.current_task()
        if task is not None:
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)
        return _Connection(self._factory(), self._connections, self._empty)


class _Connection(asyncio.Protocol):
    """Passes on what the event loop says of a connection, and knows from it whether it is open."""

    __slots__ = ("_connections", "_empty", "_protocol", "_socket", "_transport")

    def __init__(
        self, protocol: asyncio.Protocol, connections: "set[_Connection]", empty: asyncio.Event
    ) -> None:
        self._protocol = protocol
        self._connections = connections
        self._empty = empty
        self._transport: asyncio.Transport
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Close once all that was written is sent."""
        if not self._transport.is_closing():
            self._transport.close()

    def cut_off(self) -> None:
        """Close without waiting for the other side."""
        # A TLS transport of asyncio that was closed twice, as by aiohttp, is not aborted any more:
        # it does nothing, or raises AttributeError with the Python of Debian 12.
        with suppress(AttributeError):
            self._transport.abort()
        with suppress(OSError, TypeError):  # closed already; not supported by uvloop, nor needed
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._socket = transport.get_extra_info("socket")
        self._connections.add(self)
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            self._protocol.connection_lost(exc)
        finally:
            self._connections.discard(self)
            if not self._connections:
                self._empty.set()

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


class WebRunner(Protocol):
    """What is needed of an aiohttp runner."""

    @property
    def server(self) -> Callable[[], asyncio.Protocol] | None:
        """The factory of protocols, after `setup`."""
        ...

    async def setup(self) -> None:
        """Make ready to serve."""
        ...

    async def cleanup(self) -> None:
        """Finish requests under way, and close."""
        ...


@asynccontextmanager
async def serve_web(
    runner: WebRunner, host: str, port: int = 0, *, context: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve a web application while the context is open; yields the port.

    This takes the place of aiohttp's sites, which close the socket alone.
    """
    await runner.setup()
    try:
        assert runner.server is not None
        listener = await Listener.open(runner.server, host, port, context=context)
    except BaseException:
        await runner.cleanup()
        raise
    try:
        yield listener.port
    finally:
        await listener.close()
        await runner.cleanup()
        await listener.end()


@asynccontextmanager
async def serve_streams(
    handler: StreamHandler,
    host: str,
    port: int = 0,
    *,
    context: ssl.SSLContext | None = None,
    limit: int = 2**16,
) -> AsyncIterator[int]:
    """Have a function serve each connection while the context is open; yields the port.

    It is cancelled for connections that are open at the end.
    """
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        finally:
            tasks.discard(task)

    def protocol() -> asyncio.Protocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(limit=limit), serve)

    listener = await Listener.open(protocol, host, port, context=context)
    try:
        yield listener.port
    finally:
        await listener.close()
        await asyncio.sleep(0)  # so that each connection has its task
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await listener.end()

"""One connection to one server: one request at a time, and the response as it arrives."""

import asyncio
import io
import ssl
from collections.abc import Callable, Mapping
from typing import cast

from certwright.client.http.errors import (
    ClientCertificateRefused,
    ProtocolError,
    ResponseTimeout,
    ResponseTooLarge,
    Truncated,
)
from certwright.client.http.message import ResponseParser
from certwright.client.http.tls import TlsPipe, refuses_certificate

_SMALL = 64 * 1024
"""Bodies up to this are sent along with the head; larger ones as the socket takes them."""
_LARGE = 32 * 2**20
"""Bodies beyond this grow in one buffer instead of being joined from parts at the end."""
_AHEAD = 256 * 1024
"""Bytes received before they are read; beyond this the server has to wait."""


class ResponseReader:
    """The response to one request: the connection feeds it, the caller reads it."""

    __slots__ = ("_connection", "_error", "_parser", "_parts", "_size", "_waiter")

    def __init__(self, connection: "Connection", *, tunnel: bool = False) -> None:
        self._connection = connection
        self._parser = ResponseParser(tunnel=tunnel)
        self._parts: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    @property
    def status(self) -> int:
        """The status, zero until the head has arrived."""
        return self._parser.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        return self._parser.headers

    @property
    def is_complete(self) -> bool:
        """Whether all of it has arrived, read or not."""
        return self._parser.is_complete

    @property
    def has_excess(self) -> bool:
        """Whether bytes follow the end of the response."""
        return self._parser.has_excess

    @property
    def allows_reuse(self) -> bool:
        """Whether the connection can carry another request afterwards."""
        parser = self._parser
        return parser.is_complete and parser.keeps_alive and not parser.has_excess

    async def head(self) -> None:
        """Send the rest of the request, then wait for status and headers."""
        if not self._connection.is_sent:
            await self._connection.upload(self)
        while not self._parser.status:
            await self._more()

    async def read(self) -> bytes:
        """Return what has arrived of the body; empty at its end."""
        while not self._parts:
            if self._parser.is_complete:
                return b""
            await self._more()
        return self._taken()

    async def read_all(self, limit: int) -> bytes:
        """Return the whole body; `ResponseTooLarge`, with the rest unread, if over the limit."""
        if (self._parser.length or 0) > limit:
            raise ResponseTooLarge
        if self._parser.is_complete and self._size <= limit:  # as small responses are at once
            return self._taken()
        parts: list[bytes] = []
        size, large = 0, None
        while part := await self.read():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise ResponseTooLarge
            if size > _LARGE:
                # Grows in place and hands over its buffer, so the body is never in memory twice.
                large = large or io.BytesIO()
                large.writelines(parts)
                parts.clear()
        if large is not None:
            return large.getvalue()
        return b"".join(parts)

    def feed(self, data: bytes) -> bool:
        """Take bytes that arrived; return whether more may come before these are read."""
        body = self._parser.feed(data)
        if body:
            self._parts.append(body)
            self._size += len(body)
        if body or self._parser.status:
            _resolve(self._waiter)
        return self._size < _AHEAD

    def finish(self, error: Exception | None) -> None:
        """Note that nothing more comes; *error* is None if the server ended it properly."""
        if self._parser.is_complete or self._error is not None:
            return
        try:
            if error is None:
                self._parser.finish()
        except Truncated as truncated:
            error = truncated
        self._error = error
        _resolve(self._waiter)

    def _taken(self) -> bytes:
        """Return what has arrived and let the server send more."""
        body = b"".join(self._parts)  # no copy if there is one part
        self._parts.clear()
        self._size = 0
        self._connection.resume()
        return body

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None


class Connection(asyncio.Protocol):
    """Speaks HTTP/1.1 over TCP, through any number of layers of TLS.

    It can be used again only if the last exchange was complete on both sides. Failures are
    raised where the response is read: ``OSError`` (``ssl.SSLError`` too), `Truncated`,
    `ProtocolError` or `ResponseTimeout`.
    """

    def __init__(self) -> None:
        self.context: ssl.SSLContext | None = None
        """The context of the innermost TLS layer."""
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._write: Callable[[bytes], None] = _discard
        self._pipes: list[TlsPipe] = []
        self._response: ResponseReader | None = None
        self._handshake: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._is_full = False
        self._unsent: memoryview | bytes = b""
        self._is_listening = True
        self._has_heard = False
        """Whether the server ever sent anything but TLS."""
        self._error: Exception | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent: the last exchange is complete on both sides."""
        return (
            self._error is None
            and not self._unsent
            and self._is_listening
            and self._transport is not None
            and not self._transport.get_write_buffer_size()
            and (self._response is None or self._response.allows_reuse)
        )

    async def secure(self, context: ssl.SSLContext, server_name: str) -> None:
        """Add a layer of TLS; return when the handshake is complete."""
        if self._error is not None:
            raise self._error
        handshake = self._handshake = asyncio.get_running_loop().create_future()
        pipe = TlsPipe(context, server_name, self._write)
        self._pipes.append(pipe)
        self._write = pipe.send
        self.context = context
        try:
            pipe.handshake()
            await handshake
        finally:
            self._handshake = None
        if self._error is not None:
            raise self._error

    async def tunnel(self, head: bytes) -> int:
        """Send a CONNECT request to a proxy; return the status of its response."""
        response = self._response = ResponseReader(self, tunnel=True)
        self._send(head)
        await response.head()
        self._response = None
        if response.has_excess:
            raise ProtocolError("bytes follow the response to CONNECT")
        return response.status

    def request(self, head: bytes, body: bytes) -> ResponseReader:
        """Start a request; a large body is sent while the response is awaited."""
        response = self._response = ResponseReader(self)
        if self._error is not None:
            response.finish(self._error)
        elif len(body) <= _SMALL:
            self._send(head + body)
        else:
            self._send(head)
            self._unsent = memoryview(body)
        return response

    @property
    def is_sent(self) -> bool:
        """Whether the whole request was handed to the socket."""
        return not self._unsent

    async def upload(self, response: ResponseReader) -> None:
        """Send the rest of a request as fast as the server takes it.

        Stops at an early response: the server does not want the rest.
        """
        while self._unsent and self._error is None and not response.status:
            if self._is_full:
                self._room = asyncio.get_running_loop().create_future()
                try:
                    await self._room
                finally:
                    self._room = None
            else:
                self._send(bytes(self._unsent[:_SMALL]))
                self._unsent = self._unsent[_SMALL:]

    def resume(self) -> None:
        """Read from the socket again, if too much had arrived."""
        if not self._is_listening and self._transport is not None:
            self._is_listening = True
            self._transport.resume_reading()

    def expire(self) -> None:
        """End the connection because the response took too long."""
        self._fail(ResponseTimeout())

    def abort(self) -> None:
        """End the connection at once; a response that is awaited fails.

        Nothing is sent: with TLS that would mean to wait for the server's close_notify.
        """
        self._fail(Truncated("closed on this side"))

    def close(self) -> None:
        """End an unused connection properly, with close_notify."""
        if self._error is None and self._transport is not None:
            for pipe in reversed(self._pipes):
                pipe.close()
            self._transport.close()
            self._stop(Truncated("closed on this side"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket; called by the event loop."""
        self._transport = cast(asyncio.Transport, transport)
        self._write = self._transport.write

    def data_received(self, data: bytes) -> None:
        """Take bytes from the socket; called by the event loop."""
        is_over = False
        try:
            for pipe in self._pipes:
                data = pipe.receive(data)
                is_over = is_over or pipe.is_closed
            if self._handshake is not None and self._pipes[-1].is_ready:
                _resolve(self._handshake)
            if data:
                self._has_heard = True
                self._take(data)
        except (OSError, ProtocolError) as error:
            early = not self._has_heard and self._handshake is None
            if early and isinstance(error, ssl.SSLError) and refuses_certificate(error):
                self._fail(ClientCertificateRefused(error.reason))
            else:
                self._fail(error)
        if is_over:
            self._stop(None)
            self._drop()

    def eof_received(self) -> None:
        """Note the end of input; the event loop closes the connection then."""
        # Within TLS only close_notify ends a connection: anything else can be forged.
        self._stop(Truncated("without close_notify") if self._pipes else None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the connection; called by the event loop."""
        self._stop(exc or Truncated("before a response"))
        # These refer to each other; cleared, their memory is freed at once.
        self._transport, self._response, self._write = None, None, _discard
        self._pipes.clear()

    def pause_writing(self) -> None:
        """Stop sending, because the socket takes no more for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Send again."""
        self._is_full = False
        _resolve(self._room)

    def _take(self, data: bytes) -> None:
        response = self._response
        if response is None or response.is_complete:
            self._fail(Truncated("after unexpected bytes"))
            return
        has_room = response.feed(data)
        if self._room is not None and response.status:
            _resolve(self._room)  # after an early response the rest is not sent
        if not has_room and self._is_listening and self._transport is not None:
            self._is_listening = False
            self._transport.pause_reading()

    def _send(self, data: bytes) -> None:
        try:
            self._write(data)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._stop(error)
        self._drop()

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _stop(self, error: Exception | None) -> None:
        """Note that nothing more comes, and wake everything that waits."""
        if self._error is None:
            self._error = error or Truncated("before a response")
        if self._response is not None:
            self._response.finish(error)
        _resolve(self._handshake)
        _resolve(self._room)


def _resolve(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _discard(_data: bytes) -> None:
    """Write to a connection that is gone; its response has failed already."""

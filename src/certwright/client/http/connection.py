"""One connection to one server: one request at a time, and the answer as it arrives."""

import asyncio
import io
import ssl
from collections.abc import Callable, Mapping
from typing import cast

from certwright.client.http.parser import AnswerParser, Cut, Garbage
from certwright.client.http.tlspipe import TlsPipe

_SMALL = 64 * 1024
"""Bodies up to this are sent along with the head; larger ones as the socket takes them."""
_LARGE = 32 * 2**20
"""Bodies beyond this are not put together from their parts in the end."""
_AHEAD = 256 * 1024
"""Bytes received before anybody wants them; then the server has to wait."""


class Overdue(Exception):
    """The answer takes too long."""


class TooLarge(Exception):
    """The body exceeds the bound."""


class Answer:
    """What comes back for one request. Somebody reads it, while the connection feeds it."""

    __slots__ = ("_connection", "_error", "_parser", "_parts", "_size", "_waiter")

    def __init__(self, connection: "Connection", *, tunnel: bool = False) -> None:
        self._connection = connection
        self._parser = AnswerParser(tunnel=tunnel)
        self._parts: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    @property
    def status(self) -> int:
        """The status, zero until the head is there."""
        return self._parser.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        return self._parser.headers

    @property
    def is_complete(self) -> bool:
        """Whether it has arrived as a whole, read or not."""
        return self._parser.is_complete

    @property
    def has_excess(self) -> bool:
        """Whether more has arrived than the answer."""
        return self._parser.has_excess

    @property
    def allows_another(self) -> bool:
        """Whether the connection is as good as new after it."""
        parser = self._parser
        return parser.is_complete and parser.keeps_alive and not parser.has_excess

    async def head(self) -> None:
        """Send the request to its end, then wait until status and headers are there."""
        if not self._connection.is_sent:
            await self._connection.upload(self)
        while not self._parser.status:
            await self._more()

    async def read(self) -> bytes:
        """Return what has arrived of the body; nothing at its end."""
        while not self._parts:
            if self._parser.is_complete:
                return b""
            await self._more()
        return self._taken()

    async def whole(self, limit: int) -> bytes:
        """Return the body.

        Raises:
            TooLarge: it exceeds the limit; the rest was not read.
        """
        if (self._parser.length or 0) > limit:
            raise TooLarge
        if self._parser.is_complete and self._size <= limit:  # as small answers are at once
            return self._taken()
        parts: list[bytes] = []
        size, large = 0, None
        while part := await self.read():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise TooLarge
            if size > _LARGE:
                # Grows in place, and gives its buffer away: never is all of it there twice.
                large = large or io.BytesIO()
                large.writelines(parts)
                parts.clear()
        if large is not None:
            return large.getvalue()
        return b"".join(parts)

    def feed(self, data: bytes) -> bool:
        """Take what arrived; say whether there can be more before somebody reads it."""
        body = self._parser.feed(data)
        if body:
            self._parts.append(body)
            self._size += len(body)
        if body or self._parser.status:
            _resolve(self._waiter)
        return self._size < _AHEAD

    def finish(self, error: Exception | None) -> None:
        """Say that nothing more comes, and why if it was not the server's will."""
        if self._parser.is_complete or self._error is not None:
            return
        try:
            if error is None:
                self._parser.finish()
        except Cut as cut:
            error = cut
        self._error = error
        _resolve(self._waiter)

    def _taken(self) -> bytes:
        """Hand over what has arrived, which makes room for more."""
        body = b"".join(self._parts)  # of one part that is no copy
        self._parts.clear()
        self._size = 0
        self._connection.listen()
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

    It can be used again only when everything went by the book. What goes wrong is raised
    where the answer is read: ``OSError`` (of TLS, too), `Cut`, `Garbage` or `Overdue`.
    """

    def __init__(self) -> None:
        self.context: ssl.SSLContext | None = None
        """What the server was authenticated with, and we to it."""
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._write: Callable[[bytes], None] = _write_nowhere
        self._pipes: list[TlsPipe] = []
        self._answer: Answer | None = None
        self._shaking: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._is_full = False
        self._unsent: memoryview | bytes = b""
        self._is_listening = True
        self._error: Exception | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent: the last one is over, on both sides."""
        return (
            self._error is None
            and not self._unsent
            and self._is_listening
            and self._transport is not None
            and not self._transport.get_write_buffer_size()
            and (self._answer is None or self._answer.allows_another)
        )

    async def secure(self, context: ssl.SSLContext, server_name: str) -> None:
        """Add a layer of TLS; return when both sides trust each other."""
        if self._error is not None:
            raise self._error
        shaking = self._shaking = asyncio.get_running_loop().create_future()
        pipe = TlsPipe(context, server_name, self._write)
        self._pipes.append(pipe)
        self._write = pipe.send
        self.context = context
        try:
            pipe.shake()
            await shaking
        finally:
            self._shaking = None
        if self._error is not None:
            raise self._error

    async def tunnel(self, head: bytes) -> int:
        """Ask a proxy for a tunnel; return the status of its answer."""
        answer = self._answer = Answer(self, tunnel=True)
        self._send(head)
        await answer.head()
        self._answer = None
        if answer.has_excess:
            raise Garbage("it speaks before it is spoken to")
        return answer.status

    def ask(self, head: bytes, body: bytes) -> Answer:
        """Send a request; what of it is large is sent by whoever waits for the answer."""
        answer = self._answer = Answer(self)
        if self._error is not None:
            answer.finish(self._error)
        elif len(body) <= _SMALL:
            self._send(head + body)
        else:
            self._send(head)
            self._unsent = memoryview(body)
        return answer

    @property
    def is_sent(self) -> bool:
        """Whether the server was given the whole request."""
        return not self._unsent

    async def upload(self, answer: Answer) -> None:
        """Send the rest of a request as fast as the server takes it.

        Ends early with the answer, if that comes early: the server does not want the rest.
        """
        while self._unsent and self._error is None and not answer.status:
            if self._is_full:
                self._room = asyncio.get_running_loop().create_future()
                try:
                    await self._room
                finally:
                    self._room = None
            else:
                self._send(bytes(self._unsent[:_SMALL]))
                self._unsent = self._unsent[_SMALL:]

    def listen(self) -> None:
        """Go on reading, if there was too much to read."""
        if not self._is_listening and self._transport is not None:
            self._is_listening = True
            self._transport.resume_reading()

    def expire(self) -> None:
        """End the connection because it took too long."""
        self._give_up(Overdue())

    def abort(self) -> None:
        """End the connection at once, for whoever waits for an answer, too.

        Without a goodbye: with TLS that would mean to wait for the server's.
        """
        self._give_up(Cut("closed on this side"))

    def close(self) -> None:
        """End a connection that nobody uses, telling the server."""
        if self._error is None and self._transport is not None:
            for pipe in reversed(self._pipes):
                pipe.close()
            self._transport.close()
            self._stop(Cut("closed on this side"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast(asyncio.Transport, transport)
        self._write = self._transport.write

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        is_over = False
        try:
            for pipe in self._pipes:
                data = pipe.receive(data)
                is_over = is_over or pipe.is_closed
            if self._shaking is not None and self._pipes[-1].is_ready:
                _resolve(self._shaking)
            if data:
                self._take(data)
        except (OSError, Garbage) as error:
            self._give_up(error)
        if is_over:
            self._stop(None)
            self._hang_up()

    def eof_received(self) -> None:
        """Called by the event loop, which closes the connection then."""
        # Behind TLS only an end that was signed is one: others can be forged.
        self._stop(Cut("without a goodbye") if self._pipes else None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        self._stop(exc or Cut("without a goodbye"))
        # These hold each other; let go, their memory goes back at once.
        self._transport, self._answer, self._write = None, None, _write_nowhere
        self._pipes.clear()

    def pause_writing(self) -> None:
        """Called by the event loop: the server takes no more for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Called by the event loop."""
        self._is_full = False
        _resolve(self._room)

    def _take(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.is_complete:
            self._give_up(Cut("after bytes that nobody asked for"))
            return
        may_go_on = answer.feed(data)
        if self._room is not None and answer.status:
            _resolve(self._room)  # whoever answers early need not hear the rest
        if not may_go_on and self._is_listening and self._transport is not None:
            self._is_listening = False
            self._transport.pause_reading()

    def _send(self, data: bytes) -> None:
        try:
            self._write(data)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._stop(error)
        self._hang_up()

    def _hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _stop(self, error: Exception | None) -> None:
        """Note that nothing more comes, and tell whoever waits for something."""
        if self._error is None:
            self._error = error or Cut("without a goodbye")
        if self._answer is not None:
            self._answer.finish(error)
        _resolve(self._shaking)
        _resolve(self._room)


def _resolve(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _write_nowhere(_data: bytes) -> None:
    """Stand for a connection that is gone; whoever waits for an answer was told."""

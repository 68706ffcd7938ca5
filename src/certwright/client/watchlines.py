"""The lines of a watch, in batches as they arrive, uninterpreted."""

from collections.abc import AsyncIterator

from certwright.client.errors import ConnectionLost, LineTooLong
from certwright.client.transport import Stream

LINE_LIMIT = 64 * 2**20
"""An object has at most a few megabytes; a longer line means a broken or hostile server."""


class LineSplitter:
    """Cuts a stream of bytes into lines and holds at most one unfinished line.

    Raises `LineTooLong` as soon as a line exceeds the limit, finished or not.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk finishes, without line ends or empty lines."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines:
            if self._parts:
                self._check(self._size + len(lines[0]))
                lines[0] = b"".join((*self._parts, lines[0]))
                self._parts.clear()
                self._size = 0
            if len(chunk) > self._limit:
                self._check(max(map(len, lines)))
        if tail:
            self._size += len(tail)
            self._check(self._size)
            self._parts.append(tail)
        return [line for line in lines if line]

    @property
    def unfinished(self) -> int:
        """How many bytes of an unfinished line have arrived."""
        return self._size

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise LineTooLong(
                f"a line of the watch exceeds {self._limit} bytes without an end; "
                "the server or a proxy in front of it is broken, or the limit is too low"
            )


class WatchLines:
    """Iterates over batches of whole lines: one JSON event each, as the server wrote it.

    A batch is what one read from the connection completed, so a consumer yields to the event
    loop once per batch and not once per event. Ends when the server ends the watch.

    Raises:
        ConnectionLost: the connection ended, possibly in the middle of an event.
        LineTooLong: an event exceeds the limit; the watch cannot continue.
    """

    def __init__(self, stream: Stream, splitter: LineSplitter) -> None:
        self._chunks = stream.chunks()
        self._splitter = splitter

    def __aiter__(self) -> AsyncIterator[list[bytes]]:
        return self

    async def __anext__(self) -> list[bytes]:
        async for chunk in self._chunks:
            if lines := self._splitter.feed(chunk):
                return lines
        if self._splitter.unfinished:
            raise ConnectionLost(
                f"the watch ended in the middle of an event, after {self._splitter.unfinished} "
                "bytes of it; start it again from the last event seen"
            )
        raise StopAsyncIteration

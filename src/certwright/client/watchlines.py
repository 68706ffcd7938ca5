"""The lines of a watch, in batches as they arrive, uninterpreted."""

from collections.abc import AsyncIterator

from certwright.client.errors import ConnectionLost
from certwright.client.http.lines import LineSplitter
from certwright.client.transport import Stream


class WatchLines:
    """Iterates over batches of whole lines: one JSON event each, as the server wrote it.

    A batch is what one read from the connection completed, so whoever consumes it yields to
    the event loop once per batch and not once per event. Ends when the server ends the watch.

    Raises:
        ConnectionLost: the watch was cut, possibly in the middle of an event.
        LineTooLong: an event exceeds the limit; the watch is of no use any more.
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

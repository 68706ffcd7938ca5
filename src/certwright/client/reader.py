"""The reading half of the client: get, list, pages, watch."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from certwright.client import request as requests
from certwright.client import responses
from certwright.client.errors import ConnectionLost, LineTooLong
from certwright.client.request import EVERYWHERE, WATCH, Selection, WatchOptions
from certwright.client.responses import Decoders, Page
from certwright.client.sender import Sender
from certwright.client.transport import Stream
from certwright.kube import Gone, JsonObject, Key, Object, Resource, resource_of

T = TypeVar("T", bound=Object)
Item = TypeVar("Item")

PAGE_SIZE = 500
"""Items per page of a list: enough to amortise a request, little enough to bound memory."""
LINE_LIMIT = 64 * 2**20
"""An object has at most a few megabytes; a longer line means a broken or hostile server."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """The objects of a kind at one resourceVersion, from which a watch can go on."""

    items: list[Item]
    resource_version: str


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


class Reader:
    """Reads objects from one API server, straight from the server and never from a cache."""

    def __init__(self, sender: Sender, decoders: Decoders, line_limit: int) -> None:
        self._sender = sender
        self._decoders = decoders
        self._line_limit = line_limit

    @overload
    async def get(self, kind: type[T], key: Key, *, subresource: str = "") -> T: ...
    @overload
    async def get(self, kind: Resource, key: Key, *, subresource: str = "") -> JsonObject: ...
    async def get(
        self, kind: type[T] | Resource, key: Key, *, subresource: str = ""
    ) -> T | JsonObject:
        """Read one object; `NotFound` if there is none."""
        request = requests.get(resource_of(kind), key, subresource)
        return self._decoders.read(kind, request, (await self._sender.send(request)).body)

    @overload
    async def list(
        self, kind: type[T], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listing[T]: ...
    @overload
    async def list(
        self, kind: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listing[JsonObject]: ...
    async def list(
        self, kind: type[T] | Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listing[Any]:
        """Read all objects of a kind, page by page, as of one resourceVersion.

        Starts over once when the server forgets that version between two pages.
        """
        selection = Selection(namespace, labels, fields)
        try:
            return await self._list(kind, selection)
        except Gone:
            return await self._list(kind, selection)

    async def pages(
        self,
        kind: type[Object] | Resource,
        selection: Selection = EVERYWHERE,
        *,
        limit: int = PAGE_SIZE,
        resource_version: str = "",
        match: str = "",
        metadata_only: bool = False,
    ) -> AsyncGenerator[Page, None]:
        """Yield a collection page by page, items as bytes.

        Raises:
            Gone: the server forgot the version of the first page before the last was read.
        """
        token = ""
        while True:
            request = requests.list_page(
                resource_of(kind),
                selection,
                limit=limit,
                continue_token=token,
                resource_version=resource_version,
                match=match,
                metadata_only=metadata_only,
            )
            page = responses.to_page(request, (await self._sender.send(request)).body)
            yield page
            token = page.metadata.continue_token
            if not token:
                return

    @asynccontextmanager
    async def watch(
        self,
        kind: type[Object] | Resource,
        selection: Selection = EVERYWHERE,
        options: WatchOptions = WATCH,
    ) -> AsyncIterator[WatchLines]:
        """Open a watch and give its lines in batches, unparsed; leaving the context ends it.

        Nothing is retried and nothing is interpreted here: ``ERROR`` events and bookmarks are
        lines like others. `certwright.runtime` makes of this something to rely on.
        """
        request = requests.watch(resource_of(kind), selection, options)
        async with self._sender.stream(request) as stream:
            yield WatchLines(stream, LineSplitter(self._line_limit))

    async def _list(self, kind: type[Object] | Resource, selection: Selection) -> Listing[Any]:
        request = requests.list_page(resource_of(kind), selection)
        items: list[Any] = []
        version = ""
        async for page in self.pages(kind, selection):
            for item in page.items:
                raw = responses.shallow_item(request, item)
                items.append(self._decoders.read(kind, request, raw))
            version = page.metadata.resource_version
        return Listing(items, version)

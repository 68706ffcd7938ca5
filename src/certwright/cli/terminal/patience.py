"""A word to who waits for a server that does not answer."""

import asyncio
import sys
from contextlib import AbstractAsyncContextManager
from typing import Final, TextIO

from certwright.client import Request, Response, Stream, Transport

PATIENCE_SECONDS: Final = 2.0
"""How long somebody looks at nothing before wondering."""
CLEAR_LINE: Final = "\r\x1b[K"


class TellingTransport:
    """A transport that says so, once, when an answer takes long."""

    def __init__(self, inner: Transport, server: str, stream: TextIO | None = None) -> None:
        self._inner = inner
        self._server = server
        self._stream = stream or sys.stderr
        self._told = False

    async def send(self, request: Request) -> Response:
        """Pass a request on."""
        timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._tell)
        try:
            return await self._inner.send(request)
        finally:
            timer.cancel()

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Pass a request on."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport beneath."""
        await self._inner.close()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            clear = CLEAR_LINE if self._stream.isatty() else ""
            text = f"{clear}waiting for {self._server} to answer; Ctrl-C ends it"
            print(text, file=self._stream, flush=True)

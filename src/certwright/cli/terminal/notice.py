"""A notice on standard error when a server takes long to answer, or refuses connections."""

import asyncio
import sys
from contextlib import AbstractAsyncContextManager
from typing import Final, TextIO

from certwright.client import Request, Response, Stream, Transport
from certwright.client.errors import ConnectFailed, NoConnectionFree, TlsFailed

QUIET_SECONDS: Final = 2.0
"""How long a command may be silent before it reports what it is doing."""
CLEAR_LINE: Final = "\r\x1b[K"


class NoticeTransport:
    """A transport that prints a notice, once, when no answer or no connection comes."""

    def __init__(self, inner: Transport, server: str, stream: TextIO | None = None) -> None:
        self._inner = inner
        self._server = server
        self._stream = stream or sys.stderr
        self._noticed = False

    async def send(self, request: Request) -> Response:
        """Pass a request on."""
        waiting = f"waiting for {self._server} to answer; press Ctrl-C to give up"
        timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._notice, waiting)
        try:
            return await self._inner.send(request)
        except ConnectFailed as failure:
            if not isinstance(failure, NoConnectionFree | TlsFailed):  # these are not tried again
                self._notice(f"no connection to {self._server} yet, trying again")
            raise
        finally:
            timer.cancel()

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Pass a request on."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport beneath."""
        await self._inner.close()

    def _notice(self, text: str) -> None:
        if not self._noticed:
            self._noticed = True
            clear = CLEAR_LINE if self._stream.isatty() else ""
            print(f"{clear}{text}", file=self._stream, flush=True)

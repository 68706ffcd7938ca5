"""The client's transport, without a network: requests go straight to the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from certwright.apiserver.access.users import User
from certwright.client.transport import Request, Response, Stream


class Server(Protocol):
    """What a transport needs of a server."""

    def handle(self, request: Request, user: User) -> Response:
        """Answer a request."""
        ...

    def watch(self, request: Request, user: User) -> Stream:
        """Open a watch."""
        ...


class MemoryTransport:
    """Carries requests to a server in this process, as one user."""

    def __init__(self, server: Server, user: User) -> None:
        self._server = server
        self._user = user

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer.

        It takes a turn of the loop, as any request does: code that believes nothing can
        happen meanwhile is to be found out.
        """
        await asyncio.sleep(0)
        return self._server.handle(request, self._user)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send a request whose answer is read as it arrives."""
        return self._open(request)

    async def close(self) -> None:
        """Nothing to give up."""

    @asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[Stream]:
        yield self._server.watch(request, self._user)

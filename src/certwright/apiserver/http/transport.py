"""The client's transport, without a network: requests go straight to the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from certwright.apiserver.access.users import UserInfo
from certwright.client.transport import Request, Response, Stream


class RequestHandler(Protocol):
    """What a transport and a listener need of a server."""

    async def respond(self, request: Request, user: UserInfo) -> Response:
        """Answer a request."""
        ...

    async def open(self, request: Request, user: UserInfo) -> Stream:
        """Open a watch."""
        ...


class MemoryTransport:
    """Carries requests to a server in this process, as one user."""

    def __init__(self, server: RequestHandler, user: UserInfo) -> None:
        self._server = server
        self._user = user

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer.

        It takes a turn of the loop, as any request does: code that believes nothing can
        happen meanwhile is to be found out.
        """
        await asyncio.sleep(0)
        return await self._server.respond(request, self._user)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send a request whose answer is read as it arrives."""
        return self._open(request)

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    @asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[Stream]:
        yield await self._server.open(request, self._user)

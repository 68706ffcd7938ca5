"""Connections kept for the next request: a bounded number, for a bounded time."""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable

from certwright.client.http.connection import Connection
from certwright.client.http.errors import PoolExhausted

IDLE_SECONDS = 30.0
"""How long an idle connection is kept: bursts are over by then, and servers keep theirs for
at least a minute, so that we rarely use one that the server has just closed."""

Dial = Callable[[ssl.SSLContext | None, float], Awaitable[Connection]]


class Pool:
    """Lends connections, at most *limit* at a time, in the order of the requests.

    The connection used last is lent first, so that the others grow old and are closed.
    """

    def __init__(self, dial: Dial, limit: int) -> None:
        self._dial = dial
        self._limit = limit
        self._free = limit
        """How many more can be lent; zero while requests wait."""
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._lent: set[Connection] = set()
        self._idle: list[Connection] = []
        """The longest unused first."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def acquire(self, context: ssl.SSLContext | None, deadline: float) -> Connection:
        """Return an unused connection that was made with this context.

        Raises:
            PoolExhausted: all were in use for half of the time that is left until *deadline*,
                a time of the event loop.
            ConnectError: no connection could be made until then.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(deadline)
        try:
            connection = self._take(context)
            if connection is None:
                self._check_open()
                connection = await self._dial(context, deadline)
        except BaseException:
            self._make_room()
            raise
        self._lent.add(connection)
        if self._is_closed:
            self.release(connection)
            self._check_open()
        return connection

    def release(self, connection: Connection) -> None:
        """Take a connection back; one in the middle of an exchange is aborted.

        To release it twice is harmless.
        """
        if connection not in self._lent:
            return
        self._lent.discard(connection)
        self._make_room()
        if self._is_closed or not connection.is_reusable:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._timer is None:
            self._timer = loop.call_later(IDLE_SECONDS, self._close_idle)

    def close(self) -> None:
        """End every connection, in use or not."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        for connection in self._lent:
            connection.abort()

    async def _wait(self, deadline: float) -> None:
        """Wait half of the time that is left; the other half is for the request itself.

        Otherwise many requests would be sent with no time left for the response, and it would
        be unknown whether they took effect.
        """
        loop = asyncio.get_running_loop()
        seconds = (deadline - loop.time()) / 2
        waiter = loop.create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
            return
        except BaseException as error:
            if not waiter.cancelled():  # it was given a connection in the same moment
                self._make_room()
            if not isinstance(error, TimeoutError):
                raise
        raise PoolExhausted(self._limit, len(self._lent), seconds)

    def _make_room(self) -> None:
        """Wake the first request that still waits, or count one more as free."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the connections were closed before the request was sent")

    def _take(self, context: ssl.SSLContext | None) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable and connection.context is context:
                return connection
            connection.close()
        return None

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        latest = loop.time() - IDLE_SECONDS
        old = 0
        for connection in self._idle:
            if connection.idle_since > latest:
                break
            connection.close()
            old += 1
        del self._idle[:old]
        self._timer = None
        if self._idle:
            self._timer = loop.call_at(self._idle[0].idle_since + IDLE_SECONDS, self._close_idle)

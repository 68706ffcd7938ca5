"""Connections kept for the next request, few enough and not for too long."""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable

from certwright.client.http import failures
from certwright.client.http.connection import Connection

IDLE_SECONDS = 30.0
"""How long a connection is kept for nothing: bursts are over by then, and servers keep theirs
for at least a minute, so that ours is rarely the one that finds the door closed."""

Dial = Callable[[ssl.SSLContext | None, float], Awaitable[Connection]]


class Pool:
    """Lends connections, at most *limit* at a time; who comes first is served first.

    The connection used last is lent first, so that the others grow old and are closed.
    """

    def __init__(self, dial: Dial, limit: int, peer: failures.Peer) -> None:
        self._dial = dial
        self._limit = limit
        self._peer = peer
        self._free = limit
        """How many more can be lent; none as long as anybody waits."""
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._lent: set[Connection] = set()
        self._idle: list[Connection] = []
        """The longest unused first."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def acquire(self, context: ssl.SSLContext | None, deadline: float) -> Connection:
        """Return a connection that was made with this context and that nobody uses.

        Raises:
            NoConnectionFree: others used all of them for half of the time that is left until
                *deadline*, a time of the event loop.
            ConnectFailed: there was none, and none could be made until then.
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
        """Take a connection back; one that is in the middle of something is closed.

        To give it back twice is harmless.
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
        """Give up every connection, whatever it is used for."""
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

        Otherwise many would be sent with no time left, and nobody knew whether they took effect.
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
            if not waiter.cancelled():  # the turn came in the very moment
                self._make_room()
            if not isinstance(error, TimeoutError):
                raise
        raise failures.none_free(self._limit, len(self._lent), seconds, self._peer)

    def _make_room(self) -> None:
        """Let the first who still waits have what somebody no longer needs."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the transport was closed before the request was sent")

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

"""Connections to a server, directly or through a proxy, over TCP and TLS.

A host with several addresses is connected to at the first one that accepts (RFC 8305).
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from ipaddress import ip_address
from itertools import zip_longest
from urllib.parse import SplitResult, urlsplit

from certwright.client.http.connection import Connection
from certwright.client.http.errors import (
    ConnectTimeout,
    HandshakeFailed,
    HostUnreachable,
    InvalidServerName,
    ProtocolError,
    ProxyFailed,
    Truncated,
    UnknownHost,
)
from certwright.client.http.message import proxy_authorization

STAGGER = 0.25
"""Seconds an address has for itself before the next one is tried as well (RFC 8305)."""

Connect = Callable[[str], Awaitable[Connection]]

_PORTS = {"http": 80, "https": 443}


class Dialer:
    """Makes connections to one server.

    *server_name* is looked for in its certificate, by default the host of its URL.
    """

    def __init__(
        self, server: str, *, proxy: str = "", server_name: str = "", timeout: timedelta
    ) -> None:
        self._server = urlsplit(server)
        self._proxy = urlsplit(proxy) if proxy else None
        self._name = server_name or _host(self._server)
        self._seconds = timeout.total_seconds()
        self._is_tls = self._server.scheme == "https"
        self._worked = ""
        """The address that worked last; it is tried first."""
        self._failed = ""
        """The address that accepted a connection and then failed; it is tried last."""

    @property
    def needs_tls(self) -> bool:
        """Whether server or proxy is reached over TLS."""
        return self._is_tls or (self._proxy is not None and self._proxy.scheme == "https")

    async def dial(self, context: ssl.SSLContext | None, deadline: float) -> Connection:
        """Return a connection over which requests can be sent.

        Raises:
            ConnectError: no connection until *deadline*, a time of the event loop, or within
                the timeout.
        """
        deadline = min(deadline, asyncio.get_running_loop().time() + self._seconds)
        address, connection = await self._reach(self._proxy or self._server, deadline)
        try:
            async with asyncio.timeout_at(deadline):
                await self._prepare(connection, context)
            self._worked = address
            if self._failed == address:
                self._failed = ""
            return connection
        except BaseException as error:
            self._failed = address
            connection.abort()
            if not isinstance(error, TimeoutError):
                raise
        raise ConnectTimeout

    async def _prepare(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        proxy = self._proxy
        if proxy is not None and proxy.scheme == "https":
            await self._secure(connection, context, _host(proxy))
        if proxy is not None and self._is_tls:
            await self._tunnel(connection, proxy)
        if self._is_tls:
            await self._secure(connection, context, self._name)

    async def _reach(self, url: SplitResult, deadline: float) -> tuple[str, Connection]:
        """Connect to the address of a host that accepts first."""
        port = url.port or _PORTS[url.scheme]
        loop = asyncio.get_running_loop()

        async def connect(address: str) -> Connection:
            return (await loop.create_connection(Connection, address, port))[1]

        try:
            async with asyncio.timeout_at(deadline):
                found = await resolve(url.hostname or "", port)
        except OSError as error:
            failure = UnknownHost(isinstance(error, TimeoutError))
        else:
            return await connect_first(self._in_order(found), connect, deadline)
        raise failure

    def _in_order(self, addresses: list[str]) -> list[str]:
        addresses = in_turns(sorted(addresses, key=self._worked.__ne__))
        return sorted(addresses, key=self._failed.__eq__)

    async def _secure(
        self, connection: Connection, context: ssl.SSLContext | None, name: str
    ) -> None:
        assert context is not None, "TLS needs a context"
        try:
            await connection.secure(context, name)
            return
        except (OSError, Truncated) as error:
            failure: HandshakeFailed | InvalidServerName = HandshakeFailed(error)
        except ValueError:
            failure = InvalidServerName(name)
        raise failure

    async def _tunnel(self, connection: Connection, proxy: SplitResult) -> None:
        host, port = self._server.hostname or "", self._server.port or _PORTS["https"]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
        status: int | None
        try:
            status = await connection.tunnel(f"{head}{proxy_authorization(proxy)}\r\n".encode())
        except (OSError, Truncated, ProtocolError):
            status = None
        if status is None or status >= 300:
            raise ProxyFailed(status)


def _host(url: SplitResult) -> str:
    """Return the name to look for in a certificate, without a final dot."""
    return (url.hostname or "").rstrip(".")


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order of preference; `OSError` if there are none."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # of two dots in a row, for instance
        raise socket.gaierror(socket.EAI_NONAME, "no host name") from None
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def in_turns(addresses: Iterable[str]) -> list[str]:
    """Let IPv4 and IPv6 take turns, so that a broken family costs one address only."""
    families: dict[bool, list[str]] = {}
    for address in addresses:
        families.setdefault(":" in address, []).append(address)
    return [address for turn in zip_longest(*families.values()) for address in turn if address]


async def connect_first(
    addresses: list[str], connect: Connect, deadline: float
) -> tuple[str, Connection]:
    """Return the address that accepts a connection first, and the connection.

    Addresses are tried in the given order, concurrently if one takes long. Connections that come
    too late are closed, and no attempt outlives the call. Raises `HostUnreachable` if there is no
    connection until *deadline*, a time of the event loop.
    """
    race = _Race(connect)
    try:
        if len(addresses) == 1:  # the usual case: no reason for a task
            async with asyncio.timeout_at(deadline):
                await race.enter(addresses[0])
        else:
            await race.run(addresses, deadline)
    except TimeoutError:
        pass
    except BaseException:
        _abort(race.arrived)
        raise
    if race.arrived:
        winner, *late = race.arrived
        _abort(late)
        return winner
    raise HostUnreachable(
        {address: race.failed.get(address, TimeoutError()) for address in addresses}
    )


class _Race:
    """Concurrent attempts to connect."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self.arrived: list[tuple[str, Connection]] = []
        self.failed: dict[str, OSError] = {}

    async def enter(self, address: str) -> None:
        """Try one address to its end."""
        try:
            connection = await self._connect(address)
        except OSError as error:
            self.failed[address] = error
        else:
            self.arrived.append((address, connection))

    async def run(self, addresses: list[str], deadline: float) -> None:
        """Try all, until one accepts or time is up."""
        loop = asyncio.get_running_loop()
        # However little time is left, each address gets its share.
        stagger = min(STAGGER, (deadline - loop.time()) / len(addresses))
        waiting = addresses[::-1]
        running: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            while not self.arrived and (waiting or running):
                patience = deadline - loop.time()
                if patience <= 0:
                    break
                if waiting:
                    running.add(group.create_task(self.enter(waiting.pop())))
                    patience = min(patience, stagger) if waiting else patience
                _, running = await asyncio.wait(
                    running, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
            for task in running:
                task.cancel()


def _abort(late: list[tuple[str, Connection]]) -> None:
    for _, connection in late:
        connection.abort()

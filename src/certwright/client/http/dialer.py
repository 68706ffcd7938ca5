"""Ways to a server: directly or through a proxy, by TCP and TLS."""

import asyncio
import base64
import ssl
from datetime import timedelta
from urllib.parse import SplitResult, unquote, urlsplit

from certwright.client.config.config import Config
from certwright.client.http import failures
from certwright.client.http.addresses import NoAnswer, first_to_answer, in_turns, resolve
from certwright.client.http.connection import Connection
from certwright.client.http.parser import Cut, Garbage

_PORTS = {"http": 80, "https": 443}


class Dialer:
    """Makes connections to the server of a configuration."""

    def __init__(self, config: Config, patience: timedelta, peer: failures.Peer) -> None:
        self._server = urlsplit(config.server)
        self._proxy = urlsplit(config.proxy_url) if config.proxy_url else None
        self._name = config.tls_server_name or _host(self._server)
        self._seconds = patience.total_seconds()
        self._peer = peer
        self._is_tls = self._server.scheme == "https"
        self._worked = ""
        """The address that served us last; it is tried first."""
        self._failed = ""
        """The one that took a connection and made nothing of it; it is tried last."""

    @property
    def needs_tls(self) -> bool:
        """Whether anything on the way is encrypted."""
        return self._is_tls or (self._proxy is not None and self._proxy.scheme == "https")

    async def dial(self, context: ssl.SSLContext | None, deadline: float) -> Connection:
        """Return a connection over which requests can be sent.

        Raises:
            ConnectFailed: there is none to be had until *deadline*, a time of the event loop,
                or until our patience ends; nothing was sent.
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
        raise failures.no_connection_in_time(self._peer)

    async def _prepare(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        proxy = self._proxy
        if proxy is not None and proxy.scheme == "https":
            await self._secure(connection, context, _host(proxy))
        if proxy is not None and self._is_tls:
            await self._tunnel(connection, proxy)
        if self._is_tls:
            await self._secure(connection, context, self._name)

    async def _reach(self, url: SplitResult, deadline: float) -> tuple[str, Connection]:
        """Connect to the address of a host that answers first."""
        port = url.port or _PORTS[url.scheme]
        loop = asyncio.get_running_loop()

        async def connect(address: str) -> Connection:
            return (await loop.create_connection(Connection, address, port))[1]

        try:
            async with asyncio.timeout_at(deadline):
                found = await resolve(url.hostname or "", port)
            return await first_to_answer(self._in_order(found), connect, deadline)
        except OSError as error:
            failure = failures.no_address(error, self._peer)
        except NoAnswer as error:
            failure = failures.unreachable(error.reasons, self._peer)
        raise failure

    def _in_order(self, addresses: list[str]) -> list[str]:
        addresses = in_turns(sorted(addresses, key=self._worked.__ne__))
        return sorted(addresses, key=self._failed.__eq__)

    async def _secure(
        self, connection: Connection, context: ssl.SSLContext | None, name: str
    ) -> None:
        assert context is not None, "whoever needs TLS says how"
        try:
            await connection.secure(context, name)
            return
        except (OSError, Cut) as error:
            failure = failures.no_handshake(error, self._peer)
        except ValueError:
            failure = failures.no_server_name(name, self._peer)
        raise failure

    async def _tunnel(self, connection: Connection, proxy: SplitResult) -> None:
        host, port = self._server.hostname or "", self._server.port or _PORTS["https"]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            status = await connection.tunnel(
                f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization(proxy)}\r\n".encode()
            )
        except (OSError, Cut, Garbage):
            failure = failures.no_proxy("it is no HTTP proxy", self._peer)
        else:
            if status < 300:
                return
            failure = failures.refused_by_proxy(status, self._peer)
        raise failure


def authorization(proxy: SplitResult) -> str:
    """Return the header line a proxy knows us by; nothing if its URL names nobody."""
    if not proxy.username:
        return ""
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}\r\n"


def _host(url: SplitResult) -> str:
    """Return the name to look for in a certificate: a final dot is no part of it."""
    return (url.hostname or "").rstrip(".")

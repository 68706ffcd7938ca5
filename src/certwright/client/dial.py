"""Ways to a server: directly or through a proxy, by TCP and TLS."""

import asyncio
import base64
import socket
import ssl
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from certwright.client import failures
from certwright.client.answerparser import Cut, Garbage
from certwright.client.config import Config
from certwright.client.connection import Connection

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
        """The address that answered last; it is tried first."""

    @property
    def needs_tls(self) -> bool:
        """Whether anything on the way is encrypted."""
        return self._is_tls or (self._proxy is not None and self._proxy.scheme == "https")

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        """Return a connection over which requests can be sent.

        Raises:
            ConnectFailed: there is none to be had; nothing was sent.
        """
        try:
            async with asyncio.timeout(self._seconds):
                connection = await self._reach(self._proxy or self._server)
                try:
                    await self._prepare(connection, context)
                except BaseException:
                    connection.abort()
                    raise
                return connection
        except TimeoutError:
            failure = failures.no_connection_in_time(self._peer)
        raise failure

    async def _prepare(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        proxy = self._proxy
        if proxy is not None and proxy.scheme == "https":
            await self._secure(connection, context, _host(proxy))
        if proxy is not None and self._is_tls:
            await self._tunnel(connection, proxy)
        if self._is_tls:
            await self._secure(connection, context, self._name)

    async def _reach(self, url: SplitResult) -> Connection:
        """Connect to the first address of a host that answers."""
        port = url.port or _PORTS[url.scheme]
        try:
            addresses = await _addresses(url.hostname or "", port)
        except OSError as error:
            failure = error
        else:
            addresses.sort(key=self._worked.__ne__)
            # An address that swallows whatever it is sent must leave time for the next.
            share = self._seconds / len(addresses)
            for address in addresses:
                try:
                    async with asyncio.timeout(share):
                        _, connection = await asyncio.get_running_loop().create_connection(
                            Connection, address, port
                        )
                except OSError as error:
                    failure = error
                else:
                    self._worked = address
                    return connection
        raise failures.unreachable(failure, self._peer)

    async def _secure(
        self, connection: Connection, context: ssl.SSLContext | None, name: str
    ) -> None:
        assert context is not None, "whoever needs TLS says how"
        try:
            await connection.secure(context, name)
            return
        except (OSError, Cut) as error:
            failure = failures.no_handshake(error, self._peer)
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


async def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order of preference of this machine."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(info[4][0]) for info in found))


def _host(url: SplitResult) -> str:
    """Return the name to look for in a certificate: a final dot is no part of it."""
    return (url.hostname or "").rstrip(".")

"""Ways to a server, without sockets: which address, how long, and what is said when none works."""

import asyncio
import errno
import math
import socket
from datetime import timedelta
from ssl import SSLContext
from typing import Any

import pytest
from tests.unit.client.conftest import Line

from certwright.client import Config, ConnectFailed, TlsFailed
from certwright.client.failures import Peer, explain
from certwright.client.http.connection import Connection
from certwright.client.http.dialer import Dialer
from certwright.client.http.errors import ConnectError
from certwright.client.http.tls import client_context
from certwright.testkit import VirtualLoop

SIX, FOUR, OTHER = "2001:db8::1", "192.0.2.1", "192.0.2.2"
NEVER = math.inf


class Internet:
    """What the event loop does for a dialler: resolves one name and connects to addresses."""

    def __init__(
        self, loop: VirtualLoop, new_line: type[Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._loop = loop
        self._new_line = new_line
        self.addresses: list[Any] = []
        self.lookup = 0.0
        self.black_holes: set[Any] = set()
        self.refusing: set[Any] = set()
        self.tried: list[Any] = []
        monkeypatch.setattr(loop, "getaddrinfo", self._getaddrinfo)
        monkeypatch.setattr(loop, "create_connection", self._create_connection)

    async def _getaddrinfo(
        self, _host: str, port: int, **_: Any
    ) -> list[tuple[socket.AddressFamily, int, int, str, tuple[str, int]]]:
        await asyncio.sleep(self.lookup)
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(families[":" in each], 1, 6, "", (each, port)) for each in self.addresses]

    async def _create_connection(
        self, _protocol: type[Connection], address: str, port: int
    ) -> tuple[Line, Connection]:
        self.tried.append(address)
        await asyncio.sleep(3600 if address in self.black_holes else 0.01)
        if address in self.refusing:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {port}")
        line = self._new_line()
        return line, line.connection


@pytest.fixture
def internet(
    virtual_loop: VirtualLoop, new_line: type[Line], monkeypatch: pytest.MonkeyPatch
) -> Internet:
    return Internet(virtual_loop, new_line, monkeypatch)


class ExplainingDialer:
    """A dialer whose failures are put into the words that users read."""

    def __init__(self, config: Config, seconds: float) -> None:
        self._peer = Peer.of(config, timedelta(seconds=60))
        self._dialer = Dialer(
            config.server,
            proxy=config.proxy_url,
            server_name=config.tls_server_name,
            timeout=timedelta(seconds=seconds),
        )

    async def dial(self, context: SSLContext | None, deadline: float) -> Connection:
        try:
            return await self._dialer.dial(context, deadline)
        except ConnectError as error:
            raise explain(error, self._peer) from None


def dialer_of(
    server: str = "http://api", *, seconds: float = 10.0, **options: Any
) -> ExplainingDialer:
    return ExplainingDialer(Config(server, source="context 'dev'", **options), seconds)


def tls() -> SSLContext:
    return client_context(b"")


async def test_a_family_that_leads_nowhere_costs_no_more_than_a_moment(
    internet: Internet, virtual_loop: VirtualLoop
) -> None:
    internet.addresses = [SIX, "2001:db8::2", FOUR]
    internet.black_holes = {SIX, "2001:db8::2"}
    dialer = dialer_of()
    await dialer.dial(None, NEVER)
    assert internet.tried == [SIX, FOUR]
    assert virtual_loop.time() == pytest.approx(0.26)
    await dialer.dial(None, NEVER)
    assert internet.tried == [SIX, FOUR, FOUR], "and that only once"


async def test_an_address_that_takes_connections_and_says_nothing_is_tried_last(
    internet: Internet,
) -> None:
    """As of a server that hangs: its system accepts, TLS gets no answer."""
    internet.addresses = [SIX, FOUR, OTHER]
    dialer, context = dialer_of("https://api"), tls()
    with pytest.raises(ConnectFailed, match="no connection in time"):
        await dialer.dial(context, NEVER)
    internet.refusing = {FOUR}
    with pytest.raises(ConnectFailed):
        await dialer.dial(context, NEVER)
    assert internet.tried == [SIX, FOUR, OTHER]


async def test_every_address_and_its_reason_is_told(internet: Internet) -> None:
    internet.addresses = [SIX, FOUR]
    internet.black_holes, internet.refusing = {SIX}, {FOUR}
    with pytest.raises(ConnectFailed) as caught:
        await dialer_of().dial(None, NEVER)
    assert str(caught.value) == (
        "http://api cannot be reached (2001:db8::1: no connection in time, 192.0.2.1: Connection "
        "refused); is it running, and is the server of context 'dev' right?"
    )


async def test_nobody_answers_at_all(internet: Internet, virtual_loop: VirtualLoop) -> None:
    internet.addresses = [SIX, FOUR]
    internet.black_holes = {SIX, FOUR}
    with pytest.raises(ConnectFailed, match="is a firewall in between"):
        await dialer_of(seconds=10).dial(None, NEVER)
    assert virtual_loop.time() == pytest.approx(10)


async def test_the_addresses_of_a_proxy_are_told(internet: Internet) -> None:
    internet.addresses = [SIX, FOUR]
    internet.refusing = {SIX, FOUR}
    dialer = dialer_of("https://api", proxy_url="http://joe:canary@proxy:3128")
    with pytest.raises(ConnectFailed) as caught:
        await dialer.dial(None, NEVER)
    assert str(caught.value) == (
        "https://api: its proxy proxy:3128 cannot be reached (2001:db8::1: Connection refused, "
        "192.0.2.1: Connection refused); correct proxy-url of context 'dev' or HTTPS_PROXY"
    )


@pytest.mark.parametrize("what", ["name service", "connection", "handshake"])
async def test_one_limit_for_everything(
    internet: Internet, virtual_loop: VirtualLoop, what: str
) -> None:
    internet.addresses = [FOUR]
    internet.lookup = 100 if what == "name service" else 1
    internet.black_holes = {FOUR} if what == "connection" else set()
    with pytest.raises(ConnectFailed, match="in time"):
        await dialer_of("https://api", seconds=5).dial(tls(), NEVER)
    assert virtual_loop.time() == pytest.approx(5)


async def test_a_request_with_less_time_has_less(
    internet: Internet, virtual_loop: VirtualLoop
) -> None:
    internet.addresses = [FOUR]
    internet.black_holes = {FOUR}
    with pytest.raises(ConnectFailed):
        await dialer_of(seconds=5).dial(None, 2)
    assert virtual_loop.time() == pytest.approx(2)


async def test_a_name_without_an_address(internet: Internet) -> None:
    with pytest.raises(ConnectFailed, match=r"the host name cannot be resolved; correct"):
        await dialer_of().dial(None, NEVER)
    with pytest.raises(ConnectFailed, match=r"proxy:1 cannot be reached \(its name cannot be"):
        await dialer_of(proxy_url="http://proxy:1").dial(None, NEVER)


@pytest.mark.parametrize("name", [".internal", "api..internal"])
async def test_a_name_that_no_certificate_holds(internet: Internet, name: str) -> None:
    internet.addresses = [FOUR]
    dialer = dialer_of("https://api", tls_server_name=name)
    with pytest.raises(TlsFailed, match=f"'{name}' is not a host name; correct the server or tls"):
        await dialer.dial(tls(), NEVER)

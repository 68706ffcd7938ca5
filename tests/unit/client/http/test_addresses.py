"""Several addresses of one host: their order, the race between them, and what it leaves behind."""

import asyncio
import errno
import socket
from typing import Any

import pytest
from tests.unit.client.conftest import Line

from certwright.client.http.connection import Connection
from certwright.client.http.dialer import STAGGER, connect_first, in_turns, resolve
from certwright.client.http.errors import HostUnreachable
from certwright.testkit import VirtualLoop

SIX, FOUR, OTHER = "2001:db8::1", "192.0.2.1", "192.0.2.2"


class Network:
    """Addresses that answer after some seconds, or fail then."""

    def __init__(self, new_line: type[Line], loop: VirtualLoop) -> None:
        self._new_line = new_line
        self._loop = loop
        self.seconds: dict[Any, Any] = {}
        self.failures: dict[Any, Any] = {}
        self.tried: list[Any] = []
        self.lines: dict[Any, Any] = {}

    async def connect(self, address: str) -> Connection:
        self.tried.append((address, self._loop.time()))
        await asyncio.sleep(self.seconds.get(address, 3600))
        if address in self.failures:
            raise self.failures[address]
        self.lines[address] = self._new_line()
        value: Connection = self.lines[address].connection
        return value

    def reaches(self, address: str, seconds: float) -> None:
        self.seconds[address] = seconds

    def refuses(self, address: str, seconds: float = 0.0) -> None:
        self.seconds[address] = seconds
        self.failures[address] = ConnectionRefusedError(errno.ECONNREFUSED, "refused")


@pytest.fixture
def network(virtual_loop: VirtualLoop, new_line: type[Line]) -> Network:
    return Network(new_line, virtual_loop)


def tasks() -> int:
    return len(asyncio.all_tasks())


@pytest.mark.parametrize(
    ("found", "tried"),
    [
        (["4"], ["4"]),
        (["4", "::6", "4a"], ["4", "::6", "4a"]),
        (["::6", "::7", "::8", "4", "5"], ["::6", "4", "::7", "5", "::8"]),
        (["4", "5", "::6"], ["4", "::6", "5"]),
    ],
)
def test_families_take_turns(found: list[str], tried: list[str]) -> None:
    assert in_turns(found) == tried


async def test_a_black_hole_costs_a_quarter_of_a_second(
    network: Network, virtual_loop: VirtualLoop
) -> None:
    network.reaches(FOUR, 0.01)
    address, connection = await connect_first([SIX, FOUR], network.connect, 10)
    assert address == FOUR
    assert connection is network.lines[FOUR].connection
    assert network.tried == [(SIX, 0), (FOUR, STAGGER)]
    assert virtual_loop.time() == pytest.approx(STAGGER + 0.01)
    assert tasks() == 1


async def test_a_failure_starts_the_next_at_once(
    network: Network, virtual_loop: VirtualLoop
) -> None:
    network.refuses(SIX, 0.1)
    network.refuses(FOUR)
    network.reaches(OTHER, 0)
    address, _ = await connect_first([SIX, FOUR, OTHER], network.connect, 10)
    assert address == OTHER
    assert network.tried == [(SIX, 0), (FOUR, 0.1), (OTHER, 0.1)]


async def test_a_slow_address_can_still_win(network: Network, virtual_loop: VirtualLoop) -> None:
    network.reaches(SIX, STAGGER + 0.1)
    network.reaches(FOUR, 5)
    address, _ = await connect_first([SIX, FOUR], network.connect, 10)
    assert address == SIX
    assert virtual_loop.time() == pytest.approx(STAGGER + 0.1)
    assert list(network.lines) == [SIX]


async def test_whoever_answers_at_once_is_alone(network: Network) -> None:
    network.reaches(SIX, 0)
    await connect_first([SIX, FOUR], network.connect, 10)
    assert network.tried == [(SIX, 0)]


async def test_a_single_address_needs_no_task(network: Network) -> None:
    seen = []

    async def connect(address: str) -> Connection:
        seen.append(asyncio.current_task())
        return await network.connect(address)

    network.reaches(SIX, 1)
    await connect_first([SIX], connect, 10)
    assert seen == [asyncio.current_task()]


async def test_of_two_that_answer_together_one_is_closed(network: Network) -> None:
    network.reaches(SIX, STAGGER + 1)
    network.reaches(FOUR, 1)
    address, connection = await connect_first([SIX, FOUR], network.connect, 10)
    assert connection is network.lines[address].connection
    other = {SIX: FOUR, FOUR: SIX}[address]
    assert (network.lines[address].end, network.lines[other].end) == ("", "aborted")


async def test_every_address_has_its_share_of_little_time(
    network: Network, virtual_loop: VirtualLoop
) -> None:
    addresses = [SIX, FOUR, OTHER]
    with pytest.raises(HostUnreachable) as caught:
        await connect_first(addresses, network.connect, 0.3)
    assert network.tried == [(SIX, 0), (FOUR, pytest.approx(0.1)), (OTHER, pytest.approx(0.2))]
    assert virtual_loop.time() == pytest.approx(0.3)
    assert [type(caught.value.reasons[address]) for address in addresses] == [TimeoutError] * 3
    assert tasks() == 1


@pytest.mark.parametrize("addresses", [[SIX], [SIX, FOUR]])
async def test_each_failure_has_its_reason(
    network: Network, virtual_loop: VirtualLoop, addresses: list[str]
) -> None:
    network.refuses(addresses[-1], 1)
    with pytest.raises(HostUnreachable) as caught:
        await connect_first(addresses, network.connect, 10)
    reasons = caught.value.reasons
    assert list(reasons) == addresses
    assert isinstance(reasons[addresses[-1]], ConnectionRefusedError)
    assert isinstance(reasons[SIX], TimeoutError) == (len(addresses) == 2)
    assert virtual_loop.time() == (1 if len(addresses) == 1 else 10)


@pytest.mark.parametrize("addresses", [[SIX], [SIX, FOUR]])
async def test_no_time_at_all(
    network: Network, virtual_loop: VirtualLoop, addresses: list[str]
) -> None:
    with pytest.raises(HostUnreachable) as caught:
        await connect_first(addresses, network.connect, virtual_loop.time())
    assert list(caught.value.reasons) == addresses


@pytest.mark.parametrize("after", [0.1, STAGGER + 0.1])
@pytest.mark.parametrize("addresses", [[SIX], [SIX, FOUR]])
async def test_whoever_gives_up_leaves_nothing_behind(
    network: Network, after: float, addresses: list[str]
) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(connect_first(addresses, network.connect, 10))
        await asyncio.sleep(after)
        task.cancel()
    assert task.cancelled()
    assert tasks() == 1


async def test_whoever_gives_up_in_the_moment_of_success_does_not_either(network: Network) -> None:
    async def connect(address: str) -> Connection:
        connection = await network.connect(address)
        task.cancel()
        return connection

    network.reaches(SIX, 1)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(connect_first([SIX, FOUR], connect, 10))
    assert task.cancelled()
    assert network.lines[SIX].end == "aborted"


async def test_a_defect_closes_what_was_opened(network: Network) -> None:
    async def connect(address: str) -> Connection:
        if address == FOUR:
            await asyncio.sleep(1 - STAGGER)  # both at once
            raise LookupError(address)
        return await network.connect(address)

    network.reaches(SIX, 1)
    with pytest.raises(ExceptionGroup):
        await connect_first([SIX, FOUR], connect, 10)
    assert network.lines[SIX].end == "aborted"
    assert tasks() == 1


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
async def test_an_address_needs_no_name_service(virtual_loop: VirtualLoop, host: str) -> None:
    assert await resolve(host, 443) == [host]


async def test_what_is_no_host_name_has_no_address() -> None:
    with pytest.raises(socket.gaierror):
        await resolve("api..example.com", 443)

"""Lending connections: how many, which, to whom first, and for how long."""

import asyncio
import math
import random
import ssl
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.client.conftest import Line

from certwright.client import Config
from certwright.client.failures import Peer, explain
from certwright.client.http.connection import Connection
from certwright.client.http.errors import ConnectError, PoolExhausted
from certwright.client.http.pool import IDLE_SECONDS, Pool
from certwright.testkit.time.virtual import VirtualLoop

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
NEVER = math.inf
PEER = Peer.of(Config("https://api"), timedelta(seconds=60))


class Lines:
    """Dials connections that go nowhere, and remembers them."""

    def __init__(self, new_line: type[Line]) -> None:
        self._new_line = new_line
        self.all: list[Any] = []
        self.seconds = 0.0
        self.failure: ConnectError | None = None

    async def dial(self, context: ssl.SSLContext | None, deadline: float) -> Connection:
        self.deadline = deadline
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        line = self._new_line()
        line.connection.context = context
        self.all.append(line)
        return line.connection

    @property
    def ends(self) -> list[str]:
        return [line.end for line in self.all]


@pytest.fixture
def lines(virtual_loop: VirtualLoop, new_line: type[Line]) -> Lines:
    return Lines(new_line)


@pytest.fixture
def pool(lines: Lines) -> Pool:
    return Pool(lines.dial, 2)


async def test_the_connection_used_last_is_used_next(pool: Pool, lines: Lines) -> None:
    one, two = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    pool.release(one)
    pool.release(two)
    assert await pool.acquire(None, NEVER) is two
    assert await pool.acquire(None, NEVER) is one
    assert len(lines.all) == 2


async def test_who_comes_first_is_served_first(pool: Pool, lines: Lines) -> None:
    one, two = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    served = []

    async def ask(name: str) -> None:
        connection = await pool.acquire(None, NEVER)
        served.append((name, connection))

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(ask(name))
        await asyncio.sleep(1)
        assert (served, len(lines.all)) == ([], 2)
        pool.release(two)
        await asyncio.sleep(1)
        pool.release(one)
        await asyncio.sleep(1)
        assert served == [("a", two), ("b", one)]
        pool.release(two)
    assert served[2] == ("c", two)


async def test_who_no_longer_waits_takes_nothing(pool: Pool) -> None:
    one, two = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(pool.acquire(None, NEVER)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        pool.release(one)  # in the same moment
    assert second.result() is one
    pool.release(one)
    pool.release(two)
    assert {await pool.acquire(None, NEVER) for _ in range(2)} == {one, two}


async def test_waiting_takes_half_of_the_time_of_the_request(
    pool: Pool, lines: Lines, virtual_loop: VirtualLoop
) -> None:
    await pool.acquire(None, NEVER)
    lines.seconds = 100
    async with asyncio.TaskGroup() as group:
        group.create_task(pool.acquire(None, NEVER))
        await asyncio.sleep(1)
        started = virtual_loop.time()
        with pytest.raises(PoolExhausted) as caught:
            await pool.acquire(None, started + 60)
        assert virtual_loop.time() - started == 30
    assert str(explain(caught.value, PEER)) == (
        "https://api: all 2 connections for requests were busy for 30 s (1 in use, 1 being made); "
        "nothing was sent: raise Limits.connections of the transport, or lower max_in_flight of "
        "the client"
    )


async def test_who_waited_in_vain_takes_nothing(pool: Pool, virtual_loop: VirtualLoop) -> None:
    """The time of the first in the queue is up in the moment a connection becomes free."""
    one, _ = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    virtual_loop.call_at(10, pool.release, one)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(_caught(pool.acquire(None, 20)))
        second = group.create_task(pool.acquire(None, 30))
    assert isinstance(first.result(), PoolExhausted)
    assert (second.result(), virtual_loop.time()) == (one, 10)


async def _caught(acquiring: Awaitable[Connection]) -> ConnectError | Connection:
    try:
        return await acquiring
    except ConnectError as error:
        return error


@pytest.mark.parametrize("seed", range(50))
def test_no_place_is_lost_whatever_happens(new_line: type[Line], seed: int) -> None:
    """Many come, wait, are cancelled, give up, cannot connect: in any order, and all at once."""
    picks = random.Random(seed)  # noqa: S311 - chance that repeats is the point
    lines = Lines(new_line)
    pool = Pool(lines.dial, 3)
    used = most = 0

    async def use() -> None:
        nonlocal used, most
        await asyncio.sleep(picks.randrange(4))
        connection = await _caught(pool.acquire(None, loop.time() + picks.choice((2, 4, 8))))
        if isinstance(connection, ConnectError):
            return
        used += 1
        most = max(most, used)
        try:
            await asyncio.sleep(picks.randrange(3))
        finally:
            used -= 1
            pool.release(connection)

    async def upset(tasks: list[asyncio.Task[Any]]) -> None:
        for task in picks.sample(tasks, 10):
            await asyncio.sleep(picks.randrange(2))
            lines.seconds = picks.randrange(2)
            lines.failure = picks.choice((None, ConnectError("no")))
            task.cancel()

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(use()) for _ in range(30)]
            group.create_task(upset(tasks))
        assert most <= 3
        lines.failure, lines.seconds = None, 0
        for _ in range(3):
            await pool.acquire(None, loop.time())
        with pytest.raises(PoolExhausted):
            await pool.acquire(None, loop.time() + 1)

    loop = VirtualLoop(seed, shuffle=True)
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()


async def test_waiting_leaves_less_time_to_connect(
    pool: Pool, lines: Lines, virtual_loop: VirtualLoop
) -> None:
    one, _ = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    one.expire()
    virtual_loop.call_at(5, pool.release, one)
    await pool.acquire(None, 12)
    assert (lines.deadline, virtual_loop.time()) == (12, 5)


async def test_a_failed_or_cancelled_attempt_takes_no_place(pool: Pool, lines: Lines) -> None:
    lines.failure = ConnectError("no")
    for _ in range(3):
        with pytest.raises(ConnectError):
            await pool.acquire(None, NEVER)
    lines.failure, lines.seconds = None, 10
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await pool.acquire(None, NEVER)
    await pool.acquire(None, NEVER)
    await pool.acquire(None, NEVER)


async def test_an_unfinished_exchange_ends_its_connection(pool: Pool, lines: Lines) -> None:
    connection = await pool.acquire(None, NEVER)
    connection.request(b"", b"")
    pool.release(connection)
    assert lines.ends == ["aborted"]
    for _ in range(2):
        assert await pool.acquire(None, NEVER) is not connection


async def test_a_connection_closed_by_the_server_is_not_lent(pool: Pool, lines: Lines) -> None:
    connection = await pool.acquire(None, NEVER)
    connection.request(b"", b"")
    connection.data_received(OK)
    pool.release(connection)
    connection.eof_received()
    assert await pool.acquire(None, NEVER) is not connection


async def test_connections_of_an_older_login_are_not_lent(pool: Pool, lines: Lines) -> None:
    old, new = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2))
    connection = await pool.acquire(old, NEVER)
    pool.release(connection)
    other = await pool.acquire(new, NEVER)
    assert other is not connection
    assert lines.ends == ["closed", ""]


async def test_idle_connections_are_closed_each_in_its_time(pool: Pool, lines: Lines) -> None:
    one, two = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    pool.release(one)
    await asyncio.sleep(IDLE_SECONDS / 2)
    pool.release(two)
    await asyncio.sleep(IDLE_SECONDS / 2 + 1)
    assert lines.ends == ["closed", ""]
    await asyncio.sleep(IDLE_SECONDS / 2)
    assert lines.ends == ["closed", "closed"]


async def test_a_connection_in_use_does_not_grow_old(
    pool: Pool, lines: Lines, virtual_loop: VirtualLoop
) -> None:
    for _ in range(10):
        connection = await pool.acquire(None, NEVER)
        await asyncio.sleep(IDLE_SECONDS)
        pool.release(connection)
        await asyncio.sleep(IDLE_SECONDS / 2)
    assert lines.ends == [""]
    await asyncio.sleep(IDLE_SECONDS)
    assert lines.ends == ["closed"]
    assert virtual_loop.next_timer() is None, "nothing is left to do"


async def test_giving_back_twice_is_harmless(
    pool: Pool, lines: Lines, virtual_loop: VirtualLoop
) -> None:
    connection = await pool.acquire(None, NEVER)
    pool.release(connection)
    pool.release(connection)
    assert await pool.acquire(None, NEVER) is connection
    await pool.acquire(None, NEVER)
    with pytest.raises(PoolExhausted):
        await pool.acquire(None, virtual_loop.time() + 1)
    assert lines.ends == ["", ""]


async def test_the_end(pool: Pool, lines: Lines, virtual_loop: VirtualLoop) -> None:
    idle, busy = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    pool.release(idle)
    pool.close()
    assert lines.ends == ["closed", "aborted"]
    pool.release(busy)
    assert virtual_loop.next_timer() is None


async def test_the_end_while_somebody_connects(pool: Pool, lines: Lines) -> None:
    lines.seconds = 10
    asyncio.get_running_loop().call_later(1, pool.close)
    with pytest.raises(RuntimeError, match="closed"):
        await pool.acquire(None, NEVER)
    assert lines.ends == ["aborted"]


async def test_the_end_while_somebody_waits(pool: Pool, lines: Lines) -> None:
    one, _ = await pool.acquire(None, NEVER), await pool.acquire(None, NEVER)
    loop = asyncio.get_running_loop()
    loop.call_later(1, pool.close)
    loop.call_later(2, pool.release, one)
    with pytest.raises(RuntimeError, match="closed"):
        await pool.acquire(None, NEVER)
    assert len(lines.all) == 2, "nothing is dialled any more"

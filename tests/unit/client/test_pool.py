"""Lending connections: how many, which, to whom first, and for how long."""

import asyncio
import ssl

import pytest

from certwright.client import ConnectFailed
from certwright.client.pool import IDLE_SECONDS, Pool

OK = b"HTTP/1.1 204 No Content\r\n\r\n"


class Lines:
    """Dials connections that go nowhere, and remembers them."""

    def __init__(self, new_line):
        self._new_line = new_line
        self.all = []
        self.seconds = 0.0
        self.failure = None

    async def dial(self, context):
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        line = self._new_line()
        line.connection.context = context
        self.all.append(line)
        return line.connection

    @property
    def ends(self):
        return [line.end for line in self.all]


@pytest.fixture
def lines(virtual_loop, new_line):
    return Lines(new_line)


@pytest.fixture
def pool(lines):
    return Pool(lines.dial, 2)


async def test_the_connection_used_last_is_used_next(pool, lines):
    one, two = await pool.acquire(None), await pool.acquire(None)
    pool.release(one)
    pool.release(two)
    assert await pool.acquire(None) is two
    assert await pool.acquire(None) is one
    assert len(lines.all) == 2


async def test_who_comes_first_is_served_first(pool, lines):
    one, two = await pool.acquire(None), await pool.acquire(None)
    served = []

    async def ask(name):
        connection = await pool.acquire(None)
        served.append((name, connection))

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(ask(name))
        await asyncio.sleep(1)
        assert (served, len(lines.all), pool.lent) == ([], 2, 2)
        pool.release(two)
        await asyncio.sleep(1)
        pool.release(one)
        await asyncio.sleep(1)
        assert served == [("a", two), ("b", one)]
        pool.release(two)
    assert served[2] == ("c", two)


async def test_who_no_longer_waits_takes_nothing(pool):
    one, two = await pool.acquire(None), await pool.acquire(None)
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(pool.acquire(None)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        pool.release(one)  # in the same moment
    assert second.result() is one
    pool.release(one)
    pool.release(two)
    assert (pool.lent, pool.idle) == (0, 2)


async def test_a_failed_or_cancelled_attempt_takes_no_place(pool, lines):
    lines.failure = ConnectFailed("no")
    for _ in range(3):
        with pytest.raises(ConnectFailed):
            await pool.acquire(None)
    lines.failure, lines.seconds = None, 10
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await pool.acquire(None)
    assert pool.lent == 0
    await pool.acquire(None)
    await pool.acquire(None)


async def test_an_unfinished_exchange_ends_its_connection(pool, lines):
    connection = await pool.acquire(None)
    connection.ask(b"", b"")
    pool.release(connection)
    assert lines.ends == ["aborted"]
    assert (pool.lent, pool.idle) == (0, 0)


async def test_a_connection_closed_by_the_server_is_not_lent(pool, lines):
    connection = await pool.acquire(None)
    connection.ask(b"", b"")
    connection.data_received(OK)
    pool.release(connection)
    connection.eof_received()
    assert await pool.acquire(None) is not connection


async def test_connections_of_an_older_login_are_not_lent(pool, lines):
    old, new = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2))
    connection = await pool.acquire(old)
    pool.release(connection)
    other = await pool.acquire(new)
    assert other is not connection
    assert lines.ends == ["closed", ""]


async def test_idle_connections_are_closed_each_in_its_time(pool, lines):
    one, two = await pool.acquire(None), await pool.acquire(None)
    pool.release(one)
    await asyncio.sleep(IDLE_SECONDS / 2)
    pool.release(two)
    await asyncio.sleep(IDLE_SECONDS / 2 + 1)
    assert lines.ends == ["closed", ""]
    assert pool.idle == 1
    await asyncio.sleep(IDLE_SECONDS / 2)
    assert lines.ends == ["closed", "closed"]
    assert pool.idle == 0


async def test_a_connection_in_use_does_not_grow_old(pool, lines, virtual_loop):
    for _ in range(10):
        connection = await pool.acquire(None)
        await asyncio.sleep(IDLE_SECONDS)
        pool.release(connection)
        await asyncio.sleep(IDLE_SECONDS / 2)
    assert lines.ends == [""]
    await asyncio.sleep(IDLE_SECONDS)
    assert lines.ends == ["closed"]
    assert virtual_loop.next_timer() is None, "nothing is left to do"


async def test_giving_back_twice_is_harmless(pool):
    connection = await pool.acquire(None)
    pool.release(connection)
    pool.release(connection)
    assert (pool.lent, pool.idle) == (0, 1)


async def test_the_end(pool, lines, virtual_loop):
    idle, busy = await pool.acquire(None), await pool.acquire(None)
    pool.release(idle)
    pool.close()
    assert lines.ends == ["closed", "aborted"]
    pool.release(busy)
    assert (pool.lent, pool.idle) == (0, 0)
    assert virtual_loop.next_timer() is None


async def test_the_end_while_somebody_connects(pool, lines):
    lines.seconds = 10
    asyncio.get_running_loop().call_later(1, pool.close)
    with pytest.raises(RuntimeError, match="closed"):
        await pool.acquire(None)
    assert lines.ends == ["aborted"]

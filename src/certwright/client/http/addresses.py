"""The addresses of a host: which there are, in what order they are tried, who answers first."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from ipaddress import ip_address
from itertools import zip_longest

from certwright.client.http.connection import Connection

STAGGER = 0.25
"""Seconds an address has for itself before the next one is tried as well (RFC 8305)."""

Connect = Callable[[str], Awaitable[Connection]]


class NoAnswer(Exception):
    """None of the addresses can be connected to; holds the reason of each."""

    def __init__(self, reasons: Mapping[str, OSError]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order of preference of this machine.

    Raises:
        OSError: there are none.
    """
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
    """Let IPv4 and IPv6 take turns, so that one that leads nowhere costs one address only."""
    families: dict[bool, list[str]] = {}
    for address in addresses:
        families.setdefault(":" in address, []).append(address)
    return [address for turn in zip_longest(*families.values()) for address in turn if address]


async def first_to_answer(
    addresses: list[str], connect: Connect, deadline: float
) -> tuple[str, Connection]:
    """Return the address that is connected to first, and the connection.

    They are tried in the given order, beside each other if one takes long. Connections that
    come too late are closed; whatever happens, nothing goes on afterwards.

    Raises:
        NoAnswer: there was none until *deadline*, a time of the event loop.
    """
    race = _Race(connect)
    try:
        if len(addresses) == 1:  # as in every pod: no reason for a task
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
    raise NoAnswer({address: race.failed.get(address, TimeoutError()) for address in addresses})


class _Race:
    """Attempts to connect that go on beside each other."""

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
        """Try all, until one answers or time is up."""
        loop = asyncio.get_running_loop()
        # However little time there is, each has its share.
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

"""Dry-run creates of ConfigMaps at a constant rate, by a process that does nothing else.

HTTP is spoken by hand, as far as such a client needs it: so the load costs little beside what is
measured, and leaves the processors to it.

Arguments: a kubeconfig, and how many per second. Writes a line when it is connected. Then it reads
lines in pairs: from the first, which is what each answer has to contain, to the second it sends.
Then it writes how long each took, from when it was due, and how many failed.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from bench.webhookworkload import Outcomes, at_rate
from certwright.client import Config, load_config
from certwright.client.http.tls import client_context, identify
from certwright.runtime import new_event_loop

CONNECTIONS = 64
HEAD = (
    "POST /api/v1/namespaces/default/configmaps?dryRun=All HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: {}\r\n\r\n"
)
OBJECT = '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"bench-{}"}}}}'
LENGTH = b"\r\ncontent-length: "


class Exchange(asyncio.Protocol):
    """One connection, over which one request at a time is sent."""

    def __init__(self) -> None:
        self._received = b""
        self._answered: asyncio.Future[bytes]
        self._transport: asyncio.Transport

    async def send(self, request: bytes) -> bytes:
        """Send a request and return the response, head and body."""
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(LENGTH)[2].partition(b"\r\n")[0]
        if end and len(body) >= int(length):
            self._received = b""
            self._answered.set_result(head + end + body)


class Load:
    """Connections to an API server, over which requests are sent as they become free."""

    def __init__(self) -> None:
        self._free: asyncio.Queue[Exchange] = asyncio.Queue()
        self.wanted = b""
        """What each answer has to contain."""

    async def connect(self, config: Config) -> None:
        """Open the connections."""
        context = client_context(config.ca.data)
        identify(context, config.user.certificate.data, config.user.key.data)
        loop = asyncio.get_running_loop()
        host, _, port = config.server.rpartition("//")[2].rpartition(":")
        for _ in range(CONNECTIONS):
            _, exchange = await loop.create_connection(Exchange, host, int(port), ssl=context)
            self._free.put_nowait(exchange)

    async def create(self, number: int) -> bool:
        """Send one request; return whether it was answered as it should be."""
        body = OBJECT.format(number)
        exchange = await self._free.get()
        response = await exchange.send((HEAD.format(len(body)) + body).encode("ascii"))
        self._free.put_nowait(exchange)
        return response.startswith(b"HTTP/1.1 201 ") and self.wanted in response


async def lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader


async def main(kubeconfig: Path, rate: int) -> None:
    load, orders = Load(), await lines()
    await load.connect(load_config(kubeconfig))
    print(json.dumps({"connections": CONNECTIONS}), flush=True)
    while line := await orders.readline():
        load.wanted = line.strip()
        found, used = await one_round(load, orders, rate)
        print(
            json.dumps({"seconds": found.seconds, "failed": found.failed, "cpu": used}), flush=True
        )


async def one_round(load: Load, orders: asyncio.StreamReader, rate: int) -> tuple[Outcomes, float]:
    before = time.process_time()
    async with asyncio.TaskGroup() as group:
        end = group.create_task(orders.readline())
        sending = group.create_task(at_rate(load.create, rate, lambda _: end.done()))
    return sending.result(), time.process_time() - before


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(Path(sys.argv[1]), int(sys.argv[2])))

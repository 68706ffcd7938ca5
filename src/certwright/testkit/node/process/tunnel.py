"""The proxy between an API server and what listens in the cluster: passes bytes, and knows nothing.

Run as ``python -I -S tunnel.py SOCKET`` with a socket as standard input; one JSON object per line
in each direction: where a host and port lead is asked of the node. It ends when that socket closes.

It is a process of its own because of what happens when a server ends. A server that shuts down
closes its idle connections, and a client that sends a request on one of them before it notices
loses that request: no HTTP client repeats a POST. On a network that is a matter of microseconds.
A proxy that shares an event loop with operators passes both the request and the end on when their
work allows it, and makes tenths of a second of it.
"""

import asyncio
import contextlib
import json
import os
import socket
import sys
from itertools import count

LONGEST_HEAD = 16_384
_CHUNK = 65_536
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Tunnels:
    """Connects who asks by HTTP CONNECT."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._node = writer
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[dict[str, str | int]]] = {}

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Take the node's answers until it closes the connection."""
        while line := await reader.readline():
            answer = json.loads(line)
            asked = self._asked.pop(answer["id"])
            if not asked.done():
                asked.set_result(answer)

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: read where it leads, then pass bytes in both directions."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.decode("latin-1").split()
            if method != "CONNECT":
                raise ValueError(method)
            found = await self._find(target)
            if "problem" in found:
                writer.write(f"HTTP/1.1 503 {found['problem']}\r\n\r\n".encode())
                return
            there = await asyncio.open_connection(str(found["host"]), int(found["port"]))
            writer.write(_ESTABLISHED)
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, there[1]))
                group.create_task(_pass_on(there[0], writer))
        except OSError:
            writer.write(b"HTTP/1.1 502 connection refused\r\n\r\n")
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 400 not a CONNECT request\r\n\r\n")
        finally:
            writer.close()

    async def _find(self, target: str) -> dict[str, str | int]:
        host, _, port = target.rpartition(":")
        number = next(self._numbers)
        asked: asyncio.Future[dict[str, str | int]] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked
        self.tell({"id": number, "host": host, "port": int(port)})
        return await asked

    def tell(self, message: dict[str, object]) -> None:
        """Send the node a message."""
        self._node.write(json.dumps(message).encode() + b"\n")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


async def serve(path: str, channel: socket.socket) -> None:
    """Serve a Unix socket until the node closes the channel; connections end with the process."""
    reader, writer = await asyncio.open_connection(sock=channel)
    tunnels = Tunnels(writer)
    await asyncio.start_unix_server(tunnels.connect, path, limit=LONGEST_HEAD)
    tunnels.tell({"id": 0})
    with contextlib.suppress(ConnectionError):
        await tunnels.listen(reader)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], socket.socket(fileno=0)))

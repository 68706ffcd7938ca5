"""The proxy of an API server is quick whatever this process does."""

import asyncio
import socket
from pathlib import Path

import pytest

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.testkit.node.egress import egress_proxy, folder_for_sockets
from certwright.testkit.node.ports import PortTable

POD = ("10.244.0.2", 8080)
SECONDS = 30.0


def connected(path: Path, target: str, method: str = "CONNECT") -> tuple[socket.socket, bytes]:
    """Ask the proxy for a connection; return it, and the first line of the answer."""
    here = socket.socket(socket.AF_UNIX)
    here.settimeout(SECONDS)
    here.connect(str(path))
    here.sendall(f"{method} {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        chunk = here.recv(1)
        assert chunk, answer
        answer += chunk
    return here, answer.split(b"\r\n")[0]


async def test_it_passes_bytes_on_while_this_process_is_busy() -> None:
    client = Client(ApiServer().transport())
    with folder_for_sockets() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SECONDS)
        path, ports = Path(folder) / "s", PortTable({POD: listener.getsockname()})
        async with egress_proxy(path, client, ports):
            here, answer = await asyncio.to_thread(connected, path, "10.244.0.2:8080")
            assert answer == b"HTTP/1.1 200 Connection established"
            # From here on nothing waits for the event loop of this process: it does not run.
            there, _ = listener.accept()
            with here, there:
                there.settimeout(SECONDS)
                here.sendall(b"request")
                assert there.recv(100) == b"request"
                there.sendall(b"response")
                assert here.recv(100) == b"response"
                there.shutdown(socket.SHUT_WR)
                assert here.recv(1) == b""
        with (
            socket.socket(socket.AF_UNIX) as late,
            pytest.raises(OSError, match=r"refused|No such"),
        ):
            late.connect(str(path))


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("CONNECT", "10.244.0.2:8080", b"HTTP/1.1 502 connection refused"),
        ("CONNECT", "10.244.0.3:8080", b"HTTP/1.1 503 nothing listens at 10.244.0.3:8080"),
        ("CONNECT", "10.244.0.3:http", b"HTTP/1.1 400 not a CONNECT request"),
        ("GET", "/", b"HTTP/1.1 400 not a CONNECT request"),
    ],
)
async def test_what_cannot_be_connected_is_told(method: str, target: str, expected: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    client = Client(ApiServer().transport())
    with folder_for_sockets() as folder:
        path = Path(folder) / "s"
        async with egress_proxy(path, client, PortTable({POD: closed})):
            here, answer = await asyncio.to_thread(connected, path, target, method)
            here.close()
            assert answer == expected

"""Probes by gRPC, asked of servers that speak HTTP/2 by the h2 library."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded

from certwright.testkit.node.process.probes import ProbeAnswer, ask

IP = "10.244.0.7"
Answer = Callable[[H2Connection, int], None]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class HealthServer:
    """Answers each request alike, and notes what was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.headers: dict[bytes, bytes] = {}
        self.body = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        connection.initiate_connection()
        connection.ping(b"12345678")
        while True:
            writer.write(connection.data_to_send())
            if not (data := await reader.read(65_536)):
                break
            for event in connection.receive_data(data):
                match event:
                    case RequestReceived():
                        self.headers = dict(event.headers)
                    case DataReceived():
                        self.body += event.data
                    case StreamEnded():
                        self._answer(connection, event.stream_id)


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """Serve on a port until all connections have ended."""

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await serve(reader, writer)
            writer.close()
            await writer.wait_closed()

    async with asyncio.TaskGroup() as group:
        server = await asyncio.start_server(
            lambda reader, writer: group.create_task(attend(reader, writer)), "127.0.0.1", 0
        )
        yield server.sockets[0].getsockname()[1]
        server.close()


async def probe(port: int, service: str = "", seconds: float = 10.0) -> ProbeAnswer:
    async def run(_command: list[str], _seconds: float) -> tuple[int, str]:
        raise AssertionError("no command is run")

    asked = {"grpc": {"port": 9000, **({"service": service} if service else {})}}
    return await ask(asked, lambda _port: port, run, seconds, IP)


def status(number: int, *, padding: int | None = None) -> Answer:
    def answer(connection: H2Connection, stream: int) -> None:
        content = bytes([8, number]) if number else b""
        headers = [(":status", "200"), ("content-type", "application/grpc")]
        connection.send_headers(stream, headers)
        message = b"\x00" + len(content).to_bytes(4) + content
        connection.send_data(stream, message, pad_length=padding)
        connection.send_headers(stream, [("grpc-status", "0")], end_stream=True)

    return answer


def unimplemented(connection: H2Connection, stream: int) -> None:
    headers = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "12")]
    connection.send_headers(stream, headers, end_stream=True)


def refused(connection: H2Connection, stream: int) -> None:
    connection.reset_stream(stream, 7)


FAILED = "error: health rpc probe failed: "


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (status(1), ""),
        (status(1, padding=20), ""),
        (status(0), 'service unhealthy (responded with "UNKNOWN")'),
        (status(2), 'service unhealthy (responded with "NOT_SERVING")'),
        (status(3), 'service unhealthy (responded with "SERVICE_UNKNOWN")'),
        (status(9), 'service unhealthy (responded with "9")'),
        (unimplemented, f"{FAILED}the server answered without a status"),
        (refused, f"{FAILED}the server refused the request"),
    ],
)
async def test_what_a_server_says(answer: Answer, expected: str) -> None:
    async with listening(HealthServer(answer).serve) as port:
        assert await probe(port) == ProbeAnswer(not expected, expected)


@pytest.mark.parametrize("service", ["", "liveness", "s" * 300])
async def test_what_is_asked(service: str) -> None:
    server = HealthServer(status(1))
    async with listening(server.serve) as port:
        assert (await probe(port, service)).healthy
    assert server.headers[b":path"] == b"/grpc.health.v1.Health/Check"
    assert server.headers[b":authority"] == f"{IP}:9000".encode()
    assert server.headers[b"content-type"] == b"application/grpc"
    assert server.body[5:].endswith(service.encode())
    assert len(server.body) == 5 + int.from_bytes(server.body[1:5])


async def test_servers_that_speak_something_else() -> None:
    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)  # all of it: the rest would reset the connection
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    async def closing(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        return

    async with listening(web) as port:
        assert (await probe(port)).output == f"{FAILED}the server does not speak HTTP/2"
    async with listening(closing) as port:
        assert not (await probe(port)).healthy


async def test_servers_that_are_silent_or_away() -> None:
    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(silent) as port:
        answer = await probe(port, seconds=0.05)
        assert answer.output == "timeout: health rpc did not complete within 0.05s"
    why = f'timeout: failed to connect service "{IP}:9000" within 1s: context deadline exceeded'
    assert await probe(port, seconds=1) == ProbeAnswer(False, why)

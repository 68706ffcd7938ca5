"""One connection: what is sent, what is read, and when it can be used again."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.conftest import Line

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import Config, TransportError, failures
from certwright.client.http.errors import (
    HandshakeFailed,
    ProtocolError,
    ResponseTimeout,
    ResponseTooLarge,
    Truncated,
)
from certwright.testkit.time.virtual import VirtualLoop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MEBIBYTE = 2**20


async def whole(response: Any, limit: int = MEBIBYTE) -> tuple[int, bytes]:
    await response.head()
    return response.status, await response.read_all(limit)


async def test_one_request_after_the_other(line: Line) -> None:
    for _ in range(2):
        answer = line.connection.request(b"head", b"body")
        assert not line.connection.is_reusable
        line.connection.data_received(OK)
        assert await whole(answer) == (200, b"{}")
        assert line.connection.is_reusable
    assert line.sent == b"headbody" * 2
    assert not line.end


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", None),
        (OK + b"x", None),
        (OK, "bytes"),
        (OK, "eof"),
        (OK, "lost"),
    ],
)
async def test_a_connection_that_is_not_used_again(
    line: Line, answer: bytes, then: str | None
) -> None:
    connection = line.connection
    asked = connection.request(b"", b"")
    connection.data_received(answer)
    match then:
        case "bytes":
            connection.data_received(OK)
            assert line.end == "aborted"
        case "eof":
            connection.eof_received()
        case "lost":
            connection.connection_lost(None)
    assert await whole(asked) == (200, b"{}"), "the answer itself is good"
    assert not connection.is_reusable


async def test_bytes_before_anything_was_asked(line: Line) -> None:
    line.connection.data_received(OK)
    assert line.end == "aborted"
    assert not line.connection.is_reusable
    with pytest.raises(Truncated):
        await whole(line.connection.request(b"", b""))
    assert line.sent == b""


async def test_a_request_on_a_connection_that_is_gone(line: Line) -> None:
    line.connection.connection_lost(ConnectionResetError(104, "reset"))
    with pytest.raises(ConnectionResetError):
        await whole(line.connection.request(b"", b""))


async def test_whoever_waits_is_told_of_every_end(line: Line, new_line: type[Line]) -> None:
    ends = {
        Truncated: lambda connection: connection.eof_received(),
        ConnectionResetError: lambda connection: connection.connection_lost(ConnectionResetError()),
        ResponseTimeout: lambda connection: connection.expire(),
        ProtocolError: lambda connection: connection.data_received(b"what?"),
    }
    for error, end in ends.items():
        connection = new_line().connection
        answer = connection.request(b"", b"")
        asyncio.get_running_loop().call_soon(end, connection)
        with pytest.raises(error):
            await whole(answer)
        assert not connection.is_reusable


async def test_what_arrived_before_the_end_is_read(line: Line) -> None:
    answer = line.connection.request(b"", b"")
    line.connection.data_received(CHUNKED + b"2\r\n{}\r\n")
    line.connection.eof_received()
    await answer.head()
    assert await answer.read() == b"{}"
    with pytest.raises(Truncated):
        await answer.read()


async def test_an_answer_that_ends_with_the_connection(line: Line) -> None:
    answer = line.connection.request(b"", b"")
    line.connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n{")
    line.connection.data_received(b"}")
    line.connection.eof_received()
    assert await whole(answer) == (200, b"{}")
    assert not line.connection.is_reusable


async def test_a_slow_reader_makes_the_server_wait(line: Line) -> None:
    answer = line.connection.request(b"", b"")
    line.connection.data_received(CHUNKED)
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    sent = 0
    while line.is_listening:
        line.connection.data_received(chunk)
        sent += 65536
    assert sent == 256 * 1024
    assert not line.connection.is_reusable
    assert len(await answer.read()) == sent
    assert line.is_listening


async def test_an_answer_that_nobody_read_blocks_its_connection(line: Line) -> None:
    line.connection.request(b"", b"")
    body = b"x" * 256 * 1024
    line.connection.data_received(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    assert not line.is_listening
    assert not line.connection.is_reusable


@pytest.mark.parametrize("size", [1, 1000, 100_000, MEBIBYTE, 40 * MEBIBYTE])
async def test_a_body_in_pieces(line: Line, size: int) -> None:
    answer = line.connection.request(b"", b"")
    body = bytes(range(256)) * (size // 256 + 1)
    message = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def feed(position: int = 0) -> None:
        line.connection.data_received(message[position : position + 50_000])
        if position + 50_000 < len(message):
            asyncio.get_running_loop().call_soon(feed, position + 50_000)

    feed()
    assert await whole(answer, 50 * MEBIBYTE) == (200, body)
    assert line.connection.is_reusable


@pytest.mark.parametrize(
    "message",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + b"x" * 11,
        CHUNKED + b"b\r\n" + b"x" * 11 + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 11,
    ],
)
async def test_a_body_beyond_the_limit(line: Line, message: bytes) -> None:
    answer = line.connection.request(b"", b"")
    line.connection.data_received(message)
    with pytest.raises(ResponseTooLarge):
        await whole(answer, 10)


async def test_a_large_request_is_sent_as_fast_as_the_server_takes_it(line: Line) -> None:
    body = bytes(range(256)) * 2000
    connection = line.connection
    answer = connection.request(b"head", body)
    connection.pause_writing()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(whole(answer))
        await asyncio.sleep(1)
        assert line.sent == b"head"
        connection.resume_writing()
        await asyncio.sleep(1)
        assert line.sent == b"head" + body
        connection.data_received(OK)
    assert task.result() == (200, b"{}")
    assert connection.is_reusable


async def test_an_answer_to_half_a_request_ends_the_rest(line: Line) -> None:
    connection = line.connection
    answer = connection.request(b"head", b"x" * MEBIBYTE)
    connection.pause_writing()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(whole(answer))
        await asyncio.sleep(1)
        connection.data_received(b"HTTP/1.1 413 Too much\r\nContent-Length: 2\r\n\r\nno")
    assert task.result() == (413, b"no")
    assert line.sent == b"head"
    assert not connection.is_reusable


async def test_an_answer_to_what_the_socket_has_not_taken_yet(line: Line) -> None:
    answer = line.connection.request(b"head", b"x" * 1000)
    line.unsent = 10
    line.connection.data_received(OK)
    assert await whole(answer) == (200, b"{}")
    assert not line.connection.is_reusable


async def test_a_connection_lost_in_the_middle_of_a_request(line: Line) -> None:
    connection = line.connection
    answer = connection.request(b"head", b"x" * MEBIBYTE)
    connection.pause_writing()
    asyncio.get_running_loop().call_later(1, connection.connection_lost, None)
    with pytest.raises(Truncated):
        await whole(answer)


PEER = failures.Peer.of(Config("https://api"), timedelta(seconds=1))


@given(
    st.lists(
        st.one_of(
            st.binary(),
            st.sampled_from(
                [OK, CHUNKED, b"HTTP/1.1 200 OK\r\n", b"\r\n", b"2\r\n{}\r\n", b"0\r\n"]
            ),
        )
    )
)
def test_any_garbage_ends_in_an_answer_or_a_named_failure(
    new_line: type[Line], pieces: list[bytes]
) -> None:
    async def talk() -> None:
        connection = new_line().connection
        answer = connection.request(b"", b"")
        for piece in pieces:
            connection.data_received(piece)
        connection.eof_received()
        failure = None
        try:
            status, body = await whole(answer, limit=50)
        except ResponseTooLarge:
            return
        except failures.CAUGHT as error:
            failure = failures.explain(error, PEER)
        assert isinstance(failure, TransportError) or (200 <= status < 600 and len(body) <= 50)
        assert not connection.is_reusable

    loop = VirtualLoop()
    try:
        loop.run_until_complete(talk())
    finally:
        loop.close()


class SecureServer:
    """The other end of a TLS connection."""

    def __init__(self, line: Line, tmp_path: Path) -> None:
        authority = TestAuthority("authority", datetime.now(UTC))
        pair = authority.serving("api")
        file = tmp_path / "serving.pem"
        file.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        self.context = ssl.create_default_context(cadata=authority.certificate.decode())
        self.context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._line = line
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def step(self, act: Callable[..., Any]) -> Any | None:
        """Read what was sent, do something, and send what comes of it."""
        self._incoming.write(self._line.sent)
        self._line.sent = b""
        result = None
        with suppress(ssl.SSLWantReadError):
            result = act()
        self.send(self._outgoing.read())
        return result

    def send(self, data: bytes, size: int = 2**20) -> None:
        for start in range(0, len(data), size):
            self._line.connection.data_received(data[start : start + size])

    async def accept(self, name: str = "api") -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._line.connection.secure(self.context, name))
            for _ in range(3):
                await asyncio.sleep(0.1)
                self.step(self.tls.do_handshake)


@pytest.fixture
def server(line: Line, tmp_path: Path) -> SecureServer:
    return SecureServer(line, tmp_path)


async def test_through_tls(line: Line, server: SecureServer) -> None:
    await server.accept()
    assert line.connection.context is server.context
    body = bytes(range(256)) * 4000
    answer = line.connection.request(b"head", body)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(whole(answer, 10 * MEBIBYTE))
        await asyncio.sleep(1)
        heard = b""
        while part := server.step(lambda: server.tls.read(65536)):
            heard += part
        assert heard == b"head" + body
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        server.step(lambda: server.tls.write(head + body))
    assert task.result() == (200, body)
    assert line.connection.is_reusable


async def test_a_name_that_is_not_the_servers(line: Line, server: SecureServer) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await server.accept("other")
    (error,) = caught.value.exceptions
    assert isinstance(error, ssl.SSLCertVerificationError)
    assert "not valid for 'other'" in str(failures.explain(HandshakeFailed(error), PEER))
    assert line.end == "aborted"


async def test_behind_tls_only_a_signed_end_is_one(line: Line, server: SecureServer) -> None:
    """Whoever sits in between can cut a connection, and must not pass that off as the end."""
    await server.accept()
    until_the_end = b"HTTP/1.1 200 OK\r\n\r\n{}"
    answer = line.connection.request(b"", b"")
    server.step(lambda: server.tls.write(until_the_end))
    line.connection.eof_received()
    with pytest.raises(Truncated, match="without close_notify"):
        await whole(answer)


async def test_a_signed_end(line: Line, server: SecureServer) -> None:
    await server.accept()
    answer = line.connection.request(b"", b"")
    server.step(lambda: server.tls.write(b"HTTP/1.1 200 OK\r\n\r\n{}"))
    server.step(server.tls.unwrap)
    assert await whole(answer) == (200, b"{}")
    assert not line.connection.is_reusable
    assert line.end


async def test_records_that_nobody_encrypted(line: Line, server: SecureServer) -> None:
    await server.accept()
    answer = line.connection.request(b"", b"")
    line.connection.data_received(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    with pytest.raises(ssl.SSLError):
        await whole(answer)
    assert line.end == "aborted"


async def test_a_polite_end_does_not_wait_for_the_server(line: Line, server: SecureServer) -> None:
    await server.accept()
    line.connection.close()
    assert line.end == "closed"
    assert server.step(lambda: server.tls.read(1)) == b"", "it was told"

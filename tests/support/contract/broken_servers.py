"""Servers that are called as webhooks, and whose connections go wrong."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.support.contract.hooks import AUTHORITY, _tls

from certwright.listener import serve_streams

Behaviour = Callable[[StreamReader, StreamWriter], Awaitable[object]]


async def silent(_reader: StreamReader, _writer: StreamWriter) -> None:
    await asyncio.Event().wait()


async def closing(_reader: StreamReader, writer: StreamWriter) -> None:
    writer.close()


async def closing_in_handshake(reader: StreamReader, writer: StreamWriter) -> None:
    await reader.read(2**14)  # else the kernel resets the connection instead
    writer.close()


def saying(text: bytes, *, then: Behaviour = closing) -> Behaviour:
    """Return what reads a request and answers with these bytes."""

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        writer.write(text)
        await writer.drain()
        await then(reader, writer)

    return answer


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

WITHOUT_TLS: dict[str, Behaviour] = {"silent": silent, "closes": closing_in_handshake}
WITH_TLS: dict[str, Behaviour] = {
    "silent": silent,
    "closes": saying(b""),
    "half a head": saying(b"HTTP/1.1 200 OK\r\nContent-"),
    "half a body": saying(HEAD + b"Content-Length: 100\r\n\r\n{"),
    "half a body, then silent": saying(HEAD + b"Content-Length: 100\r\n\r\n{", then=silent),
    "half a chunk": saying(HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{"),
    "no HTTP": saying(b"hello\r\n\r\n"),
    "another HTTP": saying(b"HTTP/3 200 OK\r\n\r\n"),
}
SYNTAX = {"half a head", "no HTTP", "another HTTP"}
"""Go's parser has words of its own: a known difference."""


@asynccontextmanager
async def broken_server(behaviour: Behaviour, *, tls: bool) -> AsyncIterator[int]:
    """Run such a server; yields its port."""
    context = _tls(AUTHORITY, "127.0.0.1") if tls else None
    async with serve_streams(behaviour, "127.0.0.1", context=context) as port:
        yield port

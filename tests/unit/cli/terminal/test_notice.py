"""Servers that take their time."""

import asyncio
import io
from contextlib import AbstractAsyncContextManager

import pytest

from certwright.cli.terminal.notice import NoticeTransport
from certwright.client import Request, Response, Stream, TransportError, request
from certwright.client.errors import ConnectFailed, TlsFailed
from certwright.testkit.time.virtual import VirtualLoop

TOLD = "waiting for https://server to answer; press Ctrl-C to give up\n"


class Slow:
    """A transport that answers after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def send(self, _: Request) -> Response:
        await asyncio.sleep(self.seconds)
        return Response(200, {}, b"{}")

    def stream(self, _: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(("seconds", "told"), [(1.9, ""), (2.1, TOLD)])
async def test_who_waits_for_long_is_told_once(
    virtual_loop: VirtualLoop, seconds: float, told: str
) -> None:
    stream = io.StringIO()
    transport = NoticeTransport(Slow(seconds), "https://server", stream)
    for _ in range(3):
        await transport.send(request.raw("/version"))
    await asyncio.sleep(10)
    assert stream.getvalue() == told


class Refusing(Slow):
    """A transport that makes no connection."""

    def __init__(self, failure: TransportError) -> None:
        super().__init__(0)
        self.failure = failure

    async def send(self, _: Request) -> Response:
        raise self.failure


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ConnectFailed("refused"), "no connection to https://server yet, trying again\n"),
        (TlsFailed("no certificate"), ""),
    ],
)
async def test_who_gets_no_connection_is_told_once(failure: TransportError, told: str) -> None:
    stream = io.StringIO()
    transport = NoticeTransport(Refusing(failure), "https://server", stream)
    for _ in range(3):
        with pytest.raises(TransportError):
            await transport.send(request.raw("/version"))
    assert stream.getvalue() == told

"""Connections without sockets."""

import asyncio
from typing import Any

import pytest

from certwright.client.http.connection import Connection
from certwright.testkit.time.virtual import VirtualLoop


class Line(asyncio.Transport):
    """The event loop's side of a connection: notes what is sent and whether it still listens."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection()
        self.sent = b""
        self.end = ""
        self.is_listening = True
        self.unsent = 0
        self.connection.connection_made(self)

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        assert not self.end, "written to a connection that was ended"
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.is_listening = False

    def resume_reading(self) -> None:
        self.is_listening = True

    def close(self) -> None:
        self.end = self.end or "closed"

    def abort(self) -> None:
        self.end = self.end or "aborted"


@pytest.fixture(scope="session")
def new_line() -> type[Line]:
    return Line


@pytest.fixture
def line(virtual_loop: VirtualLoop) -> Line:
    return Line()

"""One call to a gRPC server, for commands: connect, ask, read the answer, close."""

import asyncio
import ssl
from typing import Any, Final
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError

from certwright.xds.grpc.envelope import MessageReader, prefix
from certwright.xds.grpc.status import CallRefused

LARGEST_ANSWER: Final = 64 << 20
_CHUNK: Final = 65_536
_STREAM: Final = 1


class GrpcCallFailed(OSError):
    """A call that brought no answer; the message says why."""


async def unary_call(
    host: str, port: int, context: ssl.SSLContext, name: str, path: str, message: bytes
) -> bytes:
    """Return the answer of a server, whose certificate must be for *name*.

    Raises:
        GrpcCallFailed: the server refuses the call, or does not speak gRPC.
        OSError: it cannot be reached, or the handshake fails.
    """
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    try:
        connection = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        connection.initiate_connection()
        headers = {
            ":method": "POST", ":scheme": "https", ":path": path, ":authority": name,
            "content-type": "application/grpc", "te": "trailers",
        }  # fmt: skip
        connection.send_headers(_STREAM, list(headers.items()))
        connection.send_data(_STREAM, prefix(len(message)) + message, end_stream=True)
        answer = _Answer()
        while not answer.ended:
            writer.write(connection.data_to_send())
            data = await reader.read(_CHUNK)
            if not data:
                raise GrpcCallFailed("the server closed the connection")
            for event in connection.receive_data(data):
                answer.take(event)
                if isinstance(event, DataReceived):
                    connection.acknowledge_received_data(
                        event.flow_controlled_length or 0, event.stream_id or _STREAM
                    )
        return answer.message()
    except (ProtocolError, CallRefused) as error:
        raise GrpcCallFailed(f"the server does not speak gRPC: {error}") from None
    finally:
        writer.transport.abort()


class _Answer:
    """What has arrived of the answer."""

    def __init__(self) -> None:
        self.ended = False
        self._reader = MessageReader(LARGEST_ANSWER)
        self._messages: list[bytes] = []
        self._status: dict[str, str] = {}

    def take(self, event: Any) -> None:
        match event:
            case ResponseReceived() | TrailersReceived():
                self._status |= {str(name): str(value) for name, value in event.headers or ()}
            case DataReceived():
                self._messages += self._reader.feed(event.data or b"")
            case StreamEnded():
                self.ended = True
            case StreamReset() | ConnectionTerminated():
                raise GrpcCallFailed("the server ended the call")

    def message(self) -> bytes:
        if self._status.get("grpc-status") != "0" or not self._messages:
            said = unquote(self._status.get("grpc-message", "")) or "no answer"
            raise GrpcCallFailed(f"the server refuses the call: {said}")
        return self._messages[0]

"""One connection of a client, without input or output: bytes in, calls and messages, bytes out.

What the h2 library does is not done here: frames, header compression, states of streams. Here are
the rules of gRPC on top of it, flow control (nothing is sent that the client has no room for), and
what ends a connection. Plain DATA frames of open calls pass by the library (`dataframes`).
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingAckReceived,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import GrpcCall, PlainAnswer, Services
from certwright.xds.grpc.dataframes import HEADER, DataFrames, plain_data
from certwright.xds.grpc.floods import Flood, FrameInspector
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.grpc.status import CallRefused, StatusCode, status_headers

_CONFIG: Final = H2Configuration(
    client_side=False, header_encoding=None, validate_outbound_headers=False,
    normalize_outbound_headers=False,
)  # fmt: skip
_START: Final = [(":status", "200"), ("content-type", "application/grpc")]
_NOT_GRPC: Final = b"Discovery services are served here, by gRPC only.\n"
_OUTPUT: Final = 65536
"""About so many bytes are made at a time, before the transport says whether there is room."""
_PING: Final = b"certwrig"

Refused = Callable[[str, str], None]
"""Called with the path of a call, empty for a connection, and the reason why it was refused."""


class GrpcConnection:
    """A connection after its handshake."""

    __slots__ = (
        "_calls", "_frames", "_h2", "_identity", "_inspector", "_limits", "_peer", "_ready",
        "_refused", "_services", "_wake", "closing", "heard", "served",
    )  # fmt: skip

    def __init__(
        self,
        services: Services,
        identity: ClientIdentity | CallRefused,
        peer: str,
        limits: GrpcLimits,
        *,
        wake: Callable[[], None],
        refused: Refused,
        now: float,
    ) -> None:
        self._services = services
        self._identity = identity
        self._peer = peer
        self._limits = limits
        self._wake = wake
        self._refused = refused
        self._inspector = FrameInspector(limits.burst, limits.per_second, now)
        self._calls: dict[int, GrpcCall] = {}
        self._ready: dict[int, GrpcCall] = {}
        """Calls that may have something to send."""
        self.heard = now
        """When the client last sent something, in monotonic seconds."""
        self.served = 0
        """How many calls there were."""
        self.closing = False
        """Whether nothing more is read; the transport closes once all is sent."""
        self._h2 = H2Connection(_CONFIG)
        self._h2.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: limits.calls,
                SettingCodes.MAX_HEADER_LIST_SIZE: limits.header_bytes,
            },
        )
        self._h2.decoder.max_header_list_size = limits.header_bytes
        self._h2.initiate_connection()
        self._frames = DataFrames(self._h2)

    @property
    def open_calls(self) -> int:
        """How many calls are under way."""
        return len(self._calls)

    # In

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes of the client."""
        if self.closing:
            return
        self.heard = now
        if self._inspector.between_frames:
            call = self._calls.get(plain_data(data))
            if call is not None and call.passes_by:
                self._frames.passed(call.stream_id, len(data) - HEADER)
                self._feed(call, data[HEADER:])
                return
        try:
            self._inspector.inspect(data, now)
            events = self._h2.receive_data(data)
        except Flood as error:
            self.end(error.error, error.reason)
            return
        except H2Error:
            self._refused("", "protocol")  # the library has said GOAWAY
            self._close()
            return
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        if self.closing:
            return
        match event:
            case DataReceived():
                self._data(event)
            case RequestReceived():
                self._request(event)
            case StreamEnded():
                call = self._calls.get(event.stream_id)
                if call is not None:
                    call.half_closed, call.passes_by = True, False
                    call.handler.half_closed()
                    self._ready[call.stream_id] = call
            case StreamReset():
                self._forget(event.stream_id)
            case ConnectionTerminated():
                self._close()
            case PingAckReceived():
                pass  # that something was heard is noted
            case _:
                self._ready.update(self._calls)  # a window or a setting: there may be room now

    def _request(self, event: RequestReceived) -> None:
        headers = dict(event.headers or ())
        path = bytes(headers.get(b":path", b"")).decode("latin-1")
        stream_id = event.stream_id
        self.served += 1
        limit = self._limits.message_bytes
        call = GrpcCall(stream_id, path, self._peer, self._on_wake, limit)
        if headers.get(b":method") != b"POST":
            self._answer_http(call, "405", body=headers.get(b":method") != b"HEAD")
            return
        if not bytes(headers.get(b"content-type", b"")).startswith(b"application/grpc"):
            self._answer_http(call, "415")
            return
        make = self._services.get(path)
        if make is None:
            message = f"no method {path[:200]!r} is served here"
            self._refuse(call, CallRefused(StatusCode.UNIMPLEMENTED, "unknown_method", message))
        elif isinstance(self._identity, CallRefused):
            self._refuse(call, self._identity)
        else:
            call.handler = make(call, self._identity)
            call.passes_by = b"content-length" not in headers  # which the library checks
            self._calls[stream_id] = call

    def _answer_http(self, call: GrpcCall, status: str, *, body: bool = True) -> None:
        self._refused("", "not_grpc")
        call.handler, call.plain, call.started = PlainAnswer(), True, True
        if body:
            call.unsent.append(_NOT_GRPC)
        with suppress(H2Error):
            self._h2.send_headers(
                call.stream_id, [(":status", status), ("content-type", "text/plain")]
            )
            self._calls[call.stream_id] = self._ready[call.stream_id] = call

    def _data(self, event: DataReceived) -> None:
        self._frames.counted(event.stream_id, event.flow_controlled_length or 0)
        call = self._calls.get(event.stream_id)
        if call is not None and not call.plain:
            self._feed(call, bytes(event.data or b""))

    def _feed(self, call: GrpcCall, data: bytes) -> None:
        try:
            for message in call.reader.feed(data):
                call.handler.receive(message)
            if len(call.reader) and self._buffered() > self._limits.buffered_bytes:
                raise CallRefused(
                    StatusCode.RESOURCE_EXHAUSTED,
                    "message_size",
                    "too many unfinished messages on one connection",
                )
        except CallRefused as error:
            self._refuse(call, error)
        else:
            if call.handler.has_news():
                self._ready[call.stream_id] = call

    def _buffered(self) -> int:
        return sum(len(call.reader) for call in self._calls.values())

    # Out

    @property
    def has_more(self) -> bool:
        """Whether calls may have something to send that was not made yet."""
        return bool(self._ready)

    def _on_wake(self, call: GrpcCall) -> None:
        if call.stream_id in self._calls:
            self._ready[call.stream_id] = call
            self._wake()

    def take_output(self, *, room: bool) -> bytes:
        """Return bytes for the client; without room for more, only what cannot wait."""
        if room and not self.closing:
            self._fill()
        return self._frames.take_output()

    def _fill(self) -> None:
        made = 0
        while self._ready and made < _OUTPUT:
            stream_id, call = next(iter(self._ready.items()))
            del self._ready[stream_id]
            sent = self._send(call, _OUTPUT - made)
            made += sent
            if sent and stream_id in self._calls and (call.unsent or call.handler.has_news()):
                self._ready[stream_id] = call  # behind the others, which get their turn

    def _send(self, call: GrpcCall, most: int) -> int:
        """Send the next piece of a call; return its size, 0 if it has none or no room."""
        if not call.fill():
            if call.handler.is_done():
                self._finish(call, StatusCode.OK, "")
            return 0
        size = min(self._frames.room(call.stream_id), most)
        if size <= 0:
            return 0
        if not call.started:
            call.started = True
            self._h2.send_headers(call.stream_id, _START)
        self._inspector.sent()
        return self._frames.send(call.stream_id, call.take(size))

    def _refuse(self, call: GrpcCall, error: CallRefused) -> None:
        self._refused(call.path if call.path in self._services else "", error.reason)
        self._finish(call, error.code, str(error))

    def _finish(self, call: GrpcCall, code: StatusCode, message: str) -> None:
        trailers = status_headers(code, message)
        headers = trailers if call.started else [*_START, *trailers]
        with suppress(H2Error):  # the client may have reset the stream
            if call.plain:  # not reset: what it still sends is held to the rules of HTTP
                self._h2.end_stream(call.stream_id)
            else:
                self._h2.send_headers(call.stream_id, headers, end_stream=True)
                if not call.half_closed:
                    self._h2.reset_stream(call.stream_id, ErrorCodes.NO_ERROR)
        self._forget(call.stream_id)

    def _forget(self, stream_id: int) -> None:
        self._ready.pop(stream_id, None)
        call = self._calls.pop(stream_id, None)
        if call is not None:
            call.handler.closed()

    # End

    def ping(self) -> None:
        """Ask for a sign of life."""
        if not self.closing:
            self._h2.ping(_PING)

    def drain(self, message: str) -> None:
        """End all calls with a status that asks to connect again, and then the connection.

        Status and GOAWAY leave together: the next call of the client finds another connection.
        """
        if self.closing:
            return
        for call in list(self._calls.values()):
            self._finish(call, StatusCode.UNAVAILABLE, message)
        self._h2.close_connection()
        self._close()

    def end(self, error: ErrorCodes, reason: str) -> None:
        """End the connection for what its client did."""
        if not self.closing:
            self._refused("", reason)
            self._h2.close_connection(error)
            self._close()

    def lost(self) -> None:
        """Take note that the connection is gone."""
        self._close()

    def _close(self) -> None:
        self.closing = True
        for stream_id in list(self._calls):
            self._forget(stream_id)

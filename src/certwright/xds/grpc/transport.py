"""One client: TLS between its socket and its connection, and the clock that both are held to.

TLS runs through memory buffers on the context of the moment. asyncio's own keeps a quarter of a
mebibyte per connection, and begins each handshake on one context for good, in whose cache a client
of an authority that is no longer trusted would find its session again.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Protocol, cast

from h2.errors import ErrorCodes

from certwright.xds.access import ClientIdentity, identify_client
from certwright.xds.grpc.call import Services
from certwright.xds.grpc.connection import GrpcConnection
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.grpc.status import CallRefused

_READ: Final = 65536
_READ_HIGH: Final = 65536
"""With so many bytes that were not looked at yet, no more are taken from the socket."""
_WRITE_HIGH: Final = 65536


class ClientHost(Protocol):
    """What a client needs of the server that accepted it."""

    services: Services
    limits: GrpcLimits

    def refused(self, path: str, reason: str, /) -> None:
        """Count a refusal."""
        ...

    def accept(self, client: "ClientTransport") -> ssl.SSLContext | None:
        """Return the context of the next handshake; None if the client is not to be served."""
        ...

    def stranger(self, client: "ClientTransport", reason: str) -> None:
        """Count a handshake that failed."""
        ...

    def identified(self, client: "ClientTransport", identity: ClientIdentity | None) -> None:
        """Take note of a completed handshake."""
        ...

    def schedule(self, client: "ClientTransport") -> None:
        """Call `work` of a client soon."""
        ...

    def lost(self, client: "ClientTransport") -> None:
        """Take note that a client is gone."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards."""
        ...


class ClientTransport(asyncio.Protocol):
    """One client, from its first byte to its last."""

    __slots__ = (
        "_full", "_host", "_incoming", "_outgoing", "_room", "_tls", "_transport", "closed_at",
        "connection", "ends", "host_address", "identity", "peer", "pinged", "scheduled", "since",
    )  # fmt: skip

    def __init__(self, host: ClientHost) -> None:
        self._host = host
        self._transport: asyncio.Transport
        self._tls: ssl.SSLObject
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._room = True
        self._full = False
        self.host_address = ""
        self.peer = ""
        """Address and port."""
        self.connection: GrpcConnection | None = None
        """None until the handshake is complete."""
        self.identity: ClientIdentity | None = None
        self.since = host.monotonic()
        self.ends = float("inf")
        """When the client is asked to connect again, in monotonic seconds."""
        self.pinged: float | None = None
        self.closed_at: float | None = None
        self.scheduled = False
        """Whether `work` is going to be called anyway."""

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a handshake."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH)
        address = transport.get_extra_info("peername") or ("", 0)
        self.host_address = str(address[0])
        self.peer = f"{address[0]}:{address[1]}"
        context = self._host.accept(self)
        if context is None:
            self._transport.abort()
            return
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def data_received(self, data: bytes) -> None:
        """Keep what came until it is the client's turn.

        Thousands may send at once, and the loop hands over all that is there in one turn.
        """
        if self.closed_at is not None:
            return
        self._incoming.write(data)
        if self._incoming.pending > _READ_HIGH and not self._full:
            self._full = True
            self._transport.pause_reading()
        self._host.schedule(self)

    def eof_received(self) -> bool:
        """Take what came before, and close as well."""
        self.work()
        return False

    def pause_writing(self) -> None:
        """Make no more messages until the client has read."""
        self._room = False

    def resume_writing(self) -> None:
        """Go on where it was paused."""
        self._room = True
        self._host.schedule(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Let go of everything."""
        if self.closed_at is None:
            self.closed_at = self._host.monotonic()
        try:
            if self.connection is not None:
                self.connection.lost()
        finally:
            self._host.lost(self)

    # Handshake, in and out

    def work(self) -> None:
        """Take what came, and send what is to be sent."""
        if self.closed_at is not None:
            return
        if self._incoming.pending and not self._take():
            return
        if self._full:
            self._full = False
            self._transport.resume_reading()
        self.pump()

    def _take(self) -> bool:
        """Decrypt what came, and take it; return whether the client is still there."""
        try:
            if self.connection is not None or self._shake_hands():
                self._read()
        except ssl.SSLError as error:
            if self.connection is None:
                self._host.stranger(self, _tls_reason(error))
            else:
                self._host.refused("", "tls")
            self._flush()  # the alert, which tells the client why
            self.close()
        return self.closed_at is None

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        if self._tls.selected_alpn_protocol() != "h2":
            self._host.refused("", "not_http2")
            self.close()
            return False
        found: ClientIdentity | CallRefused
        try:
            found = self.identity = identify_client(
                cast("Mapping[str, Any] | None", self._tls.getpeercert())
            )
        except CallRefused as error:
            found = error
        self._host.identified(self, self.identity)
        self.connection = GrpcConnection(
            self._host.services,
            found,
            self.peer,
            self._host.limits,
            wake=partial(self._host.schedule, self),
            refused=self._host.refused,
            now=self._host.monotonic(),
        )
        return True

    def _read(self) -> None:
        assert self.connection is not None
        now = self._host.monotonic()
        # That there is nothing more to read costs an exception each time, unless it is seen before.
        while self.closed_at is None and (self._incoming.pending or self._tls.pending()):
            try:
                data = self._tls.read(_READ)
            except ssl.SSLWantReadError:
                return
            if not data:
                self.close()
                return
            self.pinged = None
            self.connection.receive(data, now)
            if self.connection.closing:
                return

    def pump(self) -> None:
        """Send what is to be sent, as long as there is room."""
        connection = self.connection
        if connection is None or self.closed_at is not None:
            return
        while data := connection.take_output(room=self._room):
            self._tls.write(data)
            self._flush()
            if not self._room or not connection.has_more:
                break
        if connection.closing:
            self.close()
        elif self._transport.get_write_buffer_size() > self._host.limits.unsent_bytes:
            self._host.refused("", "not_reading")
            self.abort()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._transport.write(self._outgoing.read())

    # End

    def drain(self, message: str) -> None:
        """Ask the client to connect again, and close."""
        if self.connection is None:
            self.abort()
            return
        self.connection.drain(message)
        self.pump()

    def close(self) -> None:
        """Send no more, and close when the client has closed as well; `check` bounds the time.

        To close at once would reset the connection if the client has sent something meanwhile,
        and a reset may overtake what was sent: the GOAWAY or the alert that tells it why.
        """
        if self.closed_at is None:
            self.closed_at = self._host.monotonic()
            if self._full:
                self._transport.resume_reading()  # to see its end
            try:
                self._transport.write_eof()
            except (OSError, RuntimeError):  # of uvloop
                self._transport.close()  # the client is gone already

    def abort(self) -> None:
        """Close without waiting for the client."""
        if self.closed_at is None:
            self.closed_at = self._host.monotonic()
        self._transport.abort()

    def check(self, now: float) -> None:
        """Do what is due: ends that were reached, and signs of life."""
        limits, connection = self._host.limits, self.connection
        if self.closed_at is not None:
            if now - self.closed_at > limits.drain.total_seconds():
                self.abort()
        elif self.scheduled and now < self.ends:
            return  # it has said something, and waits for its turn
        elif connection is None:
            if now - self.since > limits.handshake.total_seconds():
                self._host.refused("", "handshake_timeout")
                self.abort()
        elif now >= self.ends:
            self.drain("the connection is old, or its certificate expires soon: connect again")
        elif not connection.served and now - self.since > limits.first_call.total_seconds():
            connection.end(ErrorCodes.NO_ERROR, "no_call")
            self.pump()
        else:
            self._keep_alive(connection, now)

    def _keep_alive(self, connection: GrpcConnection, now: float) -> None:
        limits = self._host.limits
        if self.pinged is not None:
            if now - self.pinged > limits.keepalive_answer.total_seconds():
                self._host.refused("", "no_sign_of_life")
                self.abort()
        elif now - connection.heard > limits.keepalive.total_seconds():
            self.pinged = now
            connection.ping()
            self.pump()


def _tls_reason(error: ssl.SSLError) -> str:
    """Return one word for why a handshake failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "untrusted_certificate"
    reason = error.reason or ""
    if "DID_NOT_RETURN_A_CERTIFICATE" in reason:
        return "no_certificate"
    return "certificate" if "CERTIFICATE" in reason else "handshake"

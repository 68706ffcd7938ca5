"""What one server accepts of its clients, as one value."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class GrpcLimits:
    """Bounds per connection, and per server where it says so."""

    connections: int = 20_000
    """Of the whole server; further ones are closed at once."""
    calls: int = 100
    """Open at a time."""
    message_bytes: int = 2 * 1024 * 1024
    """Of one message of a client; larger ones end their call."""
    buffered_bytes: int = 4 * 1024 * 1024
    """Of unfinished messages on all calls of a connection."""
    header_bytes: int = 16 * 1024
    """Of the headers of one call, uncompressed."""
    unsent_bytes: int = 1024 * 1024
    """Encrypted and not taken by the client; over it the connection is cut."""
    burst: int = 200
    """Frames that cost work and carry nothing (PING, SETTINGS, RST_STREAM and such) at once …"""
    per_second: float = 20.0
    """… and of these per second."""
    handshake: timedelta = timedelta(seconds=10)
    first_call: timedelta = timedelta(seconds=30)
    """From the handshake to the first call."""
    keepalive: timedelta = timedelta(seconds=60)
    """A connection that was silent for so long is asked for a sign of life."""
    keepalive_answer: timedelta = timedelta(seconds=20)
    """For the sign of life."""
    age: timedelta = timedelta(hours=12)
    """After it, give or take a tenth, clients are asked to connect again."""
    expiry_margin: timedelta = timedelta(minutes=5)
    """So long before its client's certificate expires a connection ends."""
    reverify: timedelta = timedelta(minutes=5)
    """Within it all clients shake hands anew once an authority of theirs is trusted no more."""
    drain: timedelta = timedelta(seconds=5)
    """For clients to take what was sent when a connection ends."""

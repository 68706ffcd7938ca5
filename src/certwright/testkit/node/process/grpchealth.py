"""One question of the gRPC health protocol, in the few frames of HTTP/2 that it takes. Pure.

A probe sends one request on a connection of its own and reads one status. That needs neither
compressed headers nor flow control, so no library for HTTP/2 is asked for; headers of the answer
are not read.
"""

from typing import Final

STATUSES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
SERVING: Final = "SERVING"

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_PATH: Final = "/grpc.health.v1.Health/Check"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY = 0, 1, 3, 4, 6, 7
_END_STREAM = _ACK = 0x1
_END_HEADERS, _PADDED = 0x4, 0x8
_STREAM: Final = 1
_FRAME_HEAD: Final = 9
_LONGEST_FRAME: Final = 16_384
_LONGEST_ANSWER: Final = 4096


class HealthCheckFailed(Exception):
    """A server did not answer the question; the message says how."""


class HealthCheck:
    """The question about a service, and how far its answer has come."""

    def __init__(self, authority: str, service: str = "") -> None:
        self._received = bytearray()
        self._message = bytearray()
        self.output = _PREFACE + _frame(_SETTINGS) + _question(authority, service)
        """What is to be sent now."""

    def receive(self, data: bytes) -> str | None:
        """Take in what the server sent; return the status once it is known.

        What has to be sent in turn is in `output` afterwards.

        Raises:
            HealthCheckFailed: it is no answer, or one without a status.
        """
        self.output = b""
        self._received += data
        while len(self._received) >= _FRAME_HEAD:
            length = int.from_bytes(self._received[:3])
            if length > _LONGEST_FRAME:
                raise HealthCheckFailed("the server does not speak HTTP/2")
            if len(self._received) < _FRAME_HEAD + length:
                break
            kind, flags = self._received[3], self._received[4]
            payload = bytes(self._received[_FRAME_HEAD : _FRAME_HEAD + length])
            del self._received[: _FRAME_HEAD + length]
            if (found := self._take(kind, flags, payload)) is not None:
                return found
        return None

    def _take(self, kind: int, flags: int, payload: bytes) -> str | None:
        if kind in {_SETTINGS, _PING} and not flags & _ACK:
            self.output += _frame(kind, payload if kind == _PING else b"", _ACK)
        elif kind in {_RST_STREAM, _GOAWAY}:
            raise HealthCheckFailed("the server refused the request")
        elif kind == _DATA:
            self._message += payload[1 : len(payload) - payload[0]] if flags & _PADDED else payload
            if len(self._message) > _LONGEST_ANSWER:
                raise HealthCheckFailed("the answer is too long")
        if kind in {_DATA, _HEADERS} and flags & _END_STREAM:
            return _status(bytes(self._message))
        return None


def _status(message: bytes) -> str:
    """Return the status in a message; one that is left out is 0."""
    if len(message) < 5 or message[0]:
        raise HealthCheckFailed("the server answered without a status")
    content = message[5 : 5 + int.from_bytes(message[1:5])]
    number = content[1] if content[:1] == b"\x08" and len(content) > 1 else 0
    return STATUSES[number] if number < len(STATUSES) else str(number)


def _question(authority: str, service: str) -> bytes:
    named = service.encode()
    content = b"\x0a" + _varint(len(named)) + named if named else b""
    message = b"\x00" + len(content).to_bytes(4) + content
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": _PATH,
        ":authority": authority,
        "te": "trailers",
        "content-type": "application/grpc",
        "user-agent": "kube-probe/1.36",
    }
    block = b"".join(b"\x00" + _text(name) + _text(value) for name, value in headers.items())
    return _frame(_HEADERS, block, _END_HEADERS, _STREAM) + _frame(
        _DATA, message, _END_STREAM, _STREAM
    )


def _text(text: str) -> bytes:
    """Return a string of a header, as it is; all of ours are shorter than 127 bytes."""
    return bytes([len(text)]) + text.encode("ascii")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload

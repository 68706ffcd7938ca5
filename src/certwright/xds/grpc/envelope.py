"""Messages in the data of a call: a flag, a length, the message; cut out of chunks of any size."""

from collections.abc import Iterable, Iterator
from typing import Final

from certwright.xds.grpc.status import CallRefused, StatusCode

_PREFIX: Final = 5


def prefix(length: int) -> bytes:
    """Return what stands before a message that is not compressed."""
    return b"\0" + length.to_bytes(4, "big")


class MessageReader:
    """The unfinished message of one call."""

    __slots__ = ("_data", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Return the messages that are complete; `CallRefused` at one that is not accepted."""
        if not self._data and len(data) >= _PREFIX and len(data) == _PREFIX + self._length(data):
            return (data[_PREFIX:],)  # nearly always: one message in one frame
        return self._cut(data)

    def _cut(self, data: bytes) -> Iterator[bytes]:
        self._data += data
        while len(self._data) >= _PREFIX:
            end = _PREFIX + self._length(self._data)
            if len(self._data) < end:
                return
            message = bytes(self._data[_PREFIX:end])
            del self._data[:end]
            yield message

    def _length(self, data: bytes | bytearray) -> int:
        if data[0]:
            raise CallRefused(
                StatusCode.UNIMPLEMENTED, "compressed", "compressed messages are not accepted"
            )
        length = int.from_bytes(data[1:_PREFIX], "big")
        if length > self._limit:
            raise CallRefused(
                StatusCode.RESOURCE_EXHAUSTED,
                "message_size",
                f"a message of {length} bytes; at most {self._limit} are accepted",
            )
        return length

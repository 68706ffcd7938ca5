"""DATA frames that pass by the h2 library, in both directions, and room for those that come.

A push is one small message there and one back, and the library makes some two hundred calls of it.
What it knows of a stream in between is two numbers, the windows for what is sent, which it offers
for reading and writing. So a frame with nothing but data, whole, on a call that is open, is written
and read here. All else is the library's: headers, settings, windows, ends, and whatever is odd.

Room for what the client sends: the library counts what it has seen itself, this module the rest.
Both are given back as soon as they are `_GIVE_BACK` together. The library keeps back less than half
of a window (65,535) on its own, so there is always room for one more frame of the largest size, and
no frame that comes by here can break the rules of flow control.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from h2.connection import H2Connection

HEADER: Final = 9
"""Bytes of the header of a frame: length, kind, flags, stream."""
LARGEST_FRAME: Final = 16384
_GIVE_BACK: Final = 16384
"""So much room that messages took is given back at a time: requests are small, windows are not."""
_DATA, _WINDOW_UPDATE = 0, 8
_LAYOUT: Final = Struct(">BHBBL")
"""The length is a byte and two, as there is no number of three."""
_SIZE: Final = Struct(">L")


def plain_data(data: bytes) -> int:
    """Return the stream of one whole DATA frame without flags; 0 if the bytes are anything else."""
    size = len(data) - HEADER
    if not 0 < size <= LARGEST_FRAME:
        return 0
    high, low, kind, flags, stream_id = _LAYOUT.unpack_from(data)
    if kind != _DATA or flags or high << 16 | low != size:
        return 0
    return int(stream_id)


def _header(size: int, kind: int, stream_id: int) -> bytes:
    return _LAYOUT.pack(size >> 16, size & 0xFFFF, kind, 0, stream_id)


def _window_update(stream_id: int, size: int) -> bytes:
    return _header(_SIZE.size, _WINDOW_UPDATE, stream_id) + _SIZE.pack(size)


class DataFrames:
    """The DATA frames of one connection."""

    __slots__ = ("_counted", "_h2", "_output", "_passed", "_taken")

    def __init__(self, h2: H2Connection) -> None:
        self._h2 = h2
        self._output: list[bytes | memoryview] = []
        self._counted: dict[int, int] = {}
        """By stream: room that was taken and that the library knows of."""
        self._passed: dict[int, int] = {}
        """By stream: room that was taken by frames that the library has not seen."""
        self._taken = 0

    # Out

    def room(self, stream_id: int) -> int:
        """Return how large a frame may be sent; 0 if the stream is not open."""
        stream = self._h2.streams.get(stream_id)
        if stream is None or stream.closed:
            return 0
        return min(
            self._h2.outbound_flow_control_window,
            stream.outbound_flow_control_window,
            self._h2.max_outbound_frame_size,
        )

    def send(self, stream_id: int, pieces: Sequence[bytes | memoryview]) -> int:
        """Send a frame for which there is room, behind all that the library has to send.

        Returns how many bytes it has.
        """
        size = sum(map(len, pieces))
        self._h2.outbound_flow_control_window -= size
        self._h2.streams[stream_id].outbound_flow_control_window -= size
        self._output += (self._h2.data_to_send(), _header(size, _DATA, stream_id), *pieces)
        return size

    def take_output(self) -> bytes:
        """Return all bytes that are to be sent, those of the library too."""
        rest = self._h2.data_to_send()
        if not self._output:
            return rest
        output, self._output = self._output, []
        output.append(rest)
        return b"".join(output)

    # In

    def counted(self, stream_id: int, size: int) -> None:
        """Take note of a frame that the library has seen."""
        if size:  # or streams without data would be remembered for ever
            self._counted[stream_id] = self._counted.get(stream_id, 0) + size
            self._take(size)

    def passed(self, stream_id: int, size: int) -> None:
        """Take note of a frame that the library has not seen."""
        self._passed[stream_id] = self._passed.get(stream_id, 0) + size
        self._take(size)

    def _take(self, size: int) -> None:
        """Give back room, whatever becomes of a message: what calls buffer is bounded otherwise."""
        self._taken += size
        if self._taken >= _GIVE_BACK:
            self._give_back()

    def _give_back(self) -> None:
        counted, passed = self._counted, self._passed
        self._counted, self._passed, self._taken = {}, {}, 0
        for stream_id, size in counted.items():
            self._h2.acknowledge_received_data(size, stream_id)
        if not passed:
            return
        self._output += (self._h2.data_to_send(), _window_update(0, sum(passed.values())))
        for stream_id, size in passed.items():
            stream = self._h2.streams.get(stream_id)
            if stream is not None and not stream.closed:
                self._output.append(_window_update(stream_id, size))

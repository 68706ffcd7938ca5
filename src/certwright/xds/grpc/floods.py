"""Looks at the headers of frames before HTTP/2 does: too large, or too many that carry nothing.

The h2 library waits for the whole of a frame before it refuses its length, and answers any number
of pings. Here the length is refused when its header arrives, and each frame that costs a server
work without being a message takes from a bucket that fills slowly.
"""

from typing import Final

from h2.errors import ErrorCodes

from certwright.xds.grpc.dataframes import HEADER, LARGEST_FRAME

_PREFACE: Final = 24
_DATA, _HEADERS, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 8, 9
_END_HEADERS: Final = 4
_WINDOWS_PER_FRAME: Final = 3
_MOST_WINDOWS: Final = 100_000
_OPENED: Final = 0.25
"""What a stream that is opened costs; what resets it costs one."""


class Flood(Exception):
    """A client that is cut off; *error* is what HTTP/2 calls it, *reason* one word for metrics."""

    def __init__(self, error: ErrorCodes, reason: str) -> None:
        super().__init__(reason)
        self.error = error
        self.reason = reason


class FrameInspector:
    """Follows the frames of one connection through chunks of any size."""

    __slots__ = (
        "_burst", "_filled", "_in_headers", "_partial", "_per_second", "_skip", "_tokens",
        "_windows",
    )  # fmt: skip

    def __init__(self, burst: int, per_second: float, now: float) -> None:
        self._burst = self._tokens = float(burst)
        self._per_second = per_second
        self._filled = now
        self._skip = _PREFACE
        self._partial = b""
        self._windows = 0
        """So many updates of windows cost nothing."""
        self._in_headers = False
        """Whether the last frame leaves headers unfinished: only more of them may follow."""

    @property
    def between_frames(self) -> bool:
        """Whether all frames so far are complete, and the next may be of any kind."""
        return not (self._skip or self._partial or self._in_headers)

    def inspect(self, data: bytes, now: float) -> None:
        """Take note of the next bytes; `Flood` if the connection is to be ended."""
        if self._skip >= len(data) and not self._partial:
            self._skip -= len(data)
            return
        if self._partial:
            data, self._partial = self._partial + data, b""
        place, end, cost = self._skip, len(data), 0.0
        while place + HEADER <= end:
            length = int.from_bytes(data[place : place + 3], "big")
            if length > LARGEST_FRAME:
                raise Flood(ErrorCodes.FRAME_SIZE_ERROR, "frame_size")
            kind, flags = data[place + 3], data[place + 4]
            self._in_headers = kind in {_HEADERS, _CONTINUATION} and not flags & _END_HEADERS
            cost += self._cost(kind, length)
            place += HEADER + length
        if place > end:
            self._skip = place - end
        else:
            self._skip, self._partial = 0, data[place:end]
        if cost:
            self._pay(cost, now)

    def _pay(self, cost: float, now: float) -> None:
        self._tokens += (now - self._filled) * self._per_second
        self._tokens = min(self._burst, self._tokens) - cost
        self._filled = now
        if self._tokens < 0:
            raise Flood(ErrorCodes.ENHANCE_YOUR_CALM, "flood")

    def sent(self) -> None:
        """Take note of a frame with data that leaves: its client opens its windows for it."""
        self._windows = min(self._windows + _WINDOWS_PER_FRAME, _MOST_WINDOWS)

    def _cost(self, kind: int, length: int) -> float:
        if kind == _DATA:
            return 0.0 if length else 1.0
        if kind == _WINDOW_UPDATE and self._windows:
            self._windows -= 1
            return 0.0
        return _OPENED if kind == _HEADERS else 1.0

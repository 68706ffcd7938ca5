"""Cut a stream of bytes into lines, without ever holding more than one unfinished line."""

from certwright.client.errors import LineTooLong

LINE_LIMIT = 64 * 2**20
"""An object is at most a few megabytes; a line beyond this is a broken or hostile server."""


class LineSplitter:
    """Turns chunks, whose boundaries mean nothing, into whole lines.

    Raises `LineTooLong` as soon as a line exceeds the limit, finished or not.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk finishes, without line ends or empty lines."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines:
            if self._parts:
                self._check(self._size + len(lines[0]))
                lines[0] = b"".join((*self._parts, lines[0]))
                self._parts.clear()
                self._size = 0
            if len(chunk) > self._limit:
                self._check(max(map(len, lines)))
        if tail:
            self._size += len(tail)
            self._check(self._size)
            self._parts.append(tail)
        return [line for line in lines if line]

    @property
    def unfinished(self) -> int:
        """How many bytes of a line without an end have been seen."""
        return self._size

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise LineTooLong(
                f"a line of the watch exceeds {self._limit} bytes without an end; "
                "the server or a proxy in front of it is broken, or the limit is too low"
            )

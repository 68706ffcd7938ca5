"""HTTP/1.1 answers, byte by byte: strict, bounded, and without a socket.

Only what an API server or a proxy in front of it sends is understood. Whatever is ambiguous
(two lengths, a length and chunks, folded headers, bare line feeds) is refused rather than
guessed at: guesses are what smuggled answers live on.
"""

import re
from collections.abc import Mapping

HEAD_LIMIT = 64 * 1024
"""Bytes of status line and headers, interim answers included; likewise of trailers."""
_LINE_LIMIT = 4096
"""Bytes of the line before a chunk; its extensions mean nothing to us."""

_START = b"HTTP/1."
_TEXT = r"[^\x00-\x08\x0a-\x1f\x7f]*"
_status_line = re.compile(rf"HTTP/1\.([01]) ([1-5][0-9]{{2}})(?: {_TEXT})?\r\n").match
_fields = re.compile(rf"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*({_TEXT})\r\n", re.MULTILINE).findall
_length = re.compile(r"[0-9]{1,18}").fullmatch
_chunk_line = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r").fullmatch


class Garbage(Exception):
    """No HTTP answer. The text says why, and repeats nothing of what was received."""


class Cut(Exception):
    """The answer ended before its end."""


class AnswerParser:
    """Reads one answer; *tunnel* if it is that of a proxy to CONNECT.

    Feed it what arrives and take the bytes of the body it gives back.
    """

    __slots__ = (
        "_budget", "_chunks", "_held", "_left", "_searched", "_tunnel",
        "has_excess", "headers", "is_complete", "keeps_alive", "length", "status",
    )  # fmt: skip

    def __init__(self, *, tunnel: bool = False) -> None:
        self.status = 0
        """Zero until the head is there; interim answers are passed over."""
        self.headers: Mapping[str, str] = {}
        """Names in lower case; what is no UTF-8 is replaced: messages that quote it are text."""
        self.length: int | None = None
        """The size of the body. None if that ends with its last chunk, or the connection."""
        self.is_complete = False
        self.keeps_alive = False
        self.has_excess = False
        """Bytes followed the end, which nobody asked for."""
        self._tunnel = tunnel
        self._budget = HEAD_LIMIT
        self._held = bytearray()
        self._searched = 0
        self._left = 0
        self._chunks: ChunkParser | None = None

    def feed(self, data: bytes) -> bytes:
        """Return what of this belongs to the body.

        Raises:
            Garbage: this is no HTTP answer.
        """
        if not self.status:
            data = self._feed_head(data)
            if not self.status:
                return b""
        if self.is_complete:
            self.has_excess = self.has_excess or bool(data)
            return b""
        if self.length is not None:
            return self._feed_sized(data)
        if self._chunks is None:
            return data
        body = self._chunks.feed(data)
        self.is_complete = self._chunks.is_complete
        self.has_excess = self._chunks.has_excess
        return body

    def finish(self) -> None:
        """Say that nothing more comes.

        Raises:
            Cut: there should have been more.
        """
        if self.status and self.length is None and self._chunks is None:
            self.is_complete = True
        if not self.is_complete:
            raise Cut("in the middle of its answer" if self.status else "instead of an answer")

    def _feed_sized(self, data: bytes) -> bytes:
        size, left = len(data), self._left
        if size < left:
            self._left = left - size
            return data
        self.is_complete = True
        if size == left:
            return data
        self.has_excess = True
        return data[:left]

    def _feed_head(self, data: bytes) -> bytes:
        """Return what follows the head, or nothing as long as it is not complete."""
        while not self.status and data:
            buffer: bytes | bytearray = data
            if self._held:
                self._held += data
                buffer = self._held
            end = buffer.find(b"\r\n\r\n", self._searched)
            if end + 4 > self._budget or (end < 0 and len(buffer) > self._budget):
                raise Garbage(f"its headers exceed {HEAD_LIMIT} bytes")
            if end < 0:
                _check_beginning(buffer)
                self._searched = max(0, len(buffer) - 3)
                if not self._held:
                    self._held += data
                return b""
            data = bytes(buffer[end + 4 :])
            self._read_head(str(buffer[: end + 2], "utf-8", "replace"))
            self._held.clear()
            self._searched = 0
            self._budget -= end + 4
        return data

    def _read_head(self, text: str) -> None:
        start = _status_line(text)
        if start is None:
            raise Garbage("it does not begin as HTTP/1.1 does")
        minor, status = start[1], int(start[2])
        headers = _read_fields(text, start.end())
        if status < 200:
            if status == 101:
                raise Garbage("it switches to a protocol nobody asked for")
            return
        connection = headers.get("connection", "").lower()
        self.keeps_alive = "close" not in connection if minor == "1" else "keep-alive" in connection
        self._frame(minor, status, headers)
        self.status, self.headers = status, headers

    def _frame(self, minor: str, status: int, headers: Mapping[str, str]) -> None:
        """Find out where the body ends."""
        length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
        if length is not None and (encoding is not None or not _length(length)):
            raise Garbage("it is unclear where its answer ends")
        if encoding is not None and (minor == "0" or encoding.lower() != "chunked"):
            raise Garbage("its answer is encoded in a way nobody asked for")
        if status in {204, 304} or (self._tunnel and status < 300):
            self.is_complete = True
        elif encoding is not None:
            self._chunks = ChunkParser()
        elif length is not None:
            self.length = self._left = int(length)
            self.is_complete = self._left == 0
        else:
            self.keeps_alive = False


class ChunkParser:
    """Takes the chunks of a body apart."""

    __slots__ = (
        "_budget", "_ends_chunk", "_held", "_in_trailers", "_left",
        "has_excess", "is_complete",
    )  # fmt: skip

    def __init__(self) -> None:
        self.is_complete = False
        self.has_excess = False
        self._left = 0
        """Bytes of the present chunk that are still to come."""
        self._ends_chunk = False
        """The next line is the empty one after a chunk."""
        self._in_trailers = False
        self._held = b""
        self._budget = HEAD_LIMIT

    def feed(self, data: bytes) -> bytes:
        """Return what of this belongs to the body."""
        parts: list[bytes] = []
        position, size = 0, len(data)
        while position < size:
            if self.is_complete:
                self.has_excess = True
                break
            if self._left:
                part = data[position : position + self._left]
                parts.append(part)
                position += len(part)
                self._left -= len(part)
                continue
            end = data.find(b"\n", position)
            if end < 0:
                self._held += data[position:]
                if len(self._held) > _LINE_LIMIT:
                    raise Garbage("a chunk of its answer has no size")
                break
            self._read_line(self._held + data[position:end])
            self._held = b""
            position = end + 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_line(self, line: bytes) -> None:
        """Read a line between chunks, given without its line feed."""
        if self._ends_chunk:
            if line != b"\r":
                raise Garbage("a chunk of its answer has no end")
            self._ends_chunk = False
        elif not self._in_trailers:
            found = _chunk_line(line)
            if found is None or len(line) > _LINE_LIMIT:
                raise Garbage("a chunk of its answer has no size")
            self._left = int(found[1], 16)
            self._ends_chunk = self._left > 0
            self._in_trailers = not self._left
        elif line == b"\r":
            self.is_complete = True
        else:
            self._budget -= len(line)
            if self._budget < 0:
                raise Garbage(f"its trailers exceed {HEAD_LIMIT} bytes")
            _read_fields(str(line, "utf-8", "replace") + "\n", 0)


def _check_beginning(buffer: bytes | bytearray) -> None:
    """Refuse at once what will never become an answer, instead of waiting for its end."""
    first = buffer.find(b"\n")
    if not _START.startswith(buffer[: len(_START)]) or (first >= 0 and buffer[first - 1] != 13):
        raise Garbage("it does not begin as HTTP/1.1 does")


def _read_fields(text: str, position: int) -> dict[str, str]:
    """Return headers with lower-case names, repeated ones joined as HTTP allows."""
    found = _fields(text, position)
    if len(found) != text.count("\n", position):
        raise Garbage("one of its headers is none")
    headers = {name.lower(): value.rstrip(" \t") for name, value in found}
    if len(headers) < len(found):
        headers = {
            key: ", ".join(value.rstrip(" \t") for name, value in found if name.lower() == key)
            for key in headers
        }
    return headers

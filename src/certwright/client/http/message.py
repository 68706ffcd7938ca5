"""HTTP/1.1 messages as bytes, without a socket: requests are written, responses are parsed.

Both directions are strict. A request holds nothing that could start another one. A response
that is ambiguous (two lengths, a length and chunks, folded headers, bare line feeds) is
refused, not guessed at: guesses are what response smuggling lives on.
"""

import base64
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, quote, unquote, urlsplit

from certwright.client.http.errors import ProtocolError, Truncated

HEAD_LIMIT = 64 * 1024
"""Bytes of status line and headers, interim responses included; likewise of trailers."""
_LINE_LIMIT = 4096
"""Bytes of the line before a chunk; its extensions are ignored."""

Pairs = tuple[tuple[str, str], ...]

_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = r"[^\x00-\x08\x0a-\x1f\x7f]*"

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_is_plain = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_is_start = re.compile(r"[A-Z]+ [!\"$-~]+ HTTP/1\.1").fullmatch
_is_header = re.compile(rf"{_NAME}: {_TEXT}").fullmatch

_START = b"HTTP/1."
_status_line = re.compile(rf"HTTP/1\.([01]) ([1-5][0-9]{{2}})(?: {_TEXT})?\r\n").match
_fields = re.compile(rf"^({_NAME}):[ \t]*({_TEXT})\r\n", re.MULTILINE).findall
_length = re.compile(r"[0-9]{1,18}").fullmatch
_chunk_line = re.compile(rf"([0-9A-Fa-f]{{1,15}})[ \t]*(?:;{_TEXT})?\r".encode()).fullmatch


class RequestWriter:
    """Writes requests to one server, each with the given headers."""

    def __init__(self, server: str, proxy: str, *headers: tuple[str, str]) -> None:
        url = urlsplit(server)
        self._base = url.path.rstrip("/")
        always = _header_lines((("host", url.netloc), *headers))
        if proxy and url.scheme == "http":
            # Without a tunnel it is the proxy that reads the request.
            self._base = server.rstrip("/")
            always += proxy_authorization(urlsplit(proxy))
        self._always = always

    def write(
        self, method: str, path: str, query: Pairs, headers: Pairs, body: bytes, authorization: str
    ) -> tuple[bytes, bytes]:
        """Return head and body; the values of the query are quoted here, the path is not.

        Raises:
            ValueError: path, query or headers hold characters that are not allowed there.
        """
        start = f"{method} {self._base}{path}{_query(query) if query else ''} HTTP/1.1"
        if not _is_start(start):
            raise ValueError(f"{method[:8]!r}: path or query cannot be part of a URL")
        head = f"{start}\r\n{self._always}{_header_lines(headers)}"
        if authorization:
            head = f"{head}authorization: {authorization}\r\n"
        if body or method in _WITH_BODY:
            head = f"{head}content-length: {len(body)}\r\n"
        return f"{head}\r\n".encode(), body


def _query(query: Pairs) -> str:
    # Most values need no quoting, and finding that out is ten times cheaper.
    return "?" + "&".join(
        [f"{name}={value if _is_plain(value) else quote(value)}" for name, value in query]
    )


def proxy_authorization(proxy: SplitResult) -> str:
    """Return the header line for the user in a proxy's URL; empty if there is none."""
    if not proxy.username:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


def _header_lines(headers: Pairs) -> str:
    lines = [f"{name}: {value}" for name, value in headers]
    for line in lines:
        if not _is_header(line):
            name = line.partition(":")[0]
            raise ValueError(f"the header {name!r} holds characters that no header can hold")
    lines.append("")
    return "\r\n".join(lines)


class ResponseParser:
    """Parses one response; *tunnel* if it is a proxy's response to CONNECT."""

    __slots__ = (
        "_budget", "_chunks", "_held", "_left", "_searched", "_tunnel",
        "has_excess", "headers", "is_complete", "keeps_alive", "length", "status",
    )  # fmt: skip

    def __init__(self, *, tunnel: bool = False) -> None:
        self.status = 0
        """Zero until the head is complete; interim responses are skipped."""
        self.headers: Mapping[str, str] = {}
        """Names in lower case; bytes that are not UTF-8 are replaced, so values can be printed."""
        self.length: int | None = None
        """The size of the body; None if it ends with its last chunk, or with the connection."""
        self.is_complete = False
        self.keeps_alive = False
        self.has_excess = False
        """Whether bytes follow the end of the response."""
        self._tunnel = tunnel
        self._budget = HEAD_LIMIT
        self._held = bytearray()
        self._searched = 0
        self._left = 0
        self._chunks: ChunkParser | None = None

    def feed(self, data: bytes) -> bytes:
        """Return the part of *data* that belongs to the body; `ProtocolError` if it is no HTTP."""
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
        """Note the end of the connection; `Truncated` if the response is not complete."""
        if self.status and self.length is None and self._chunks is None:
            self.is_complete = True
        if not self.is_complete:
            raise Truncated("in the middle of the response" if self.status else "before a response")

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
        """Return what follows the head; nothing while the head is incomplete."""
        while not self.status and data:
            buffer: bytes | bytearray = data
            if self._held:
                self._held += data
                buffer = self._held
            end = buffer.find(b"\r\n\r\n", self._searched)
            if end + 4 > self._budget or (end < 0 and len(buffer) > self._budget):
                raise ProtocolError(f"its headers exceed {HEAD_LIMIT} bytes")
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
            raise ProtocolError("the response does not begin with a status line of HTTP/1.1")
        minor, status = start[1], int(start[2])
        headers = _read_fields(text, start.end())
        if status < 200:
            if status == 101:
                raise ProtocolError("it switches to another protocol, unasked")
            return
        connection = headers.get("connection", "").lower()
        self.keeps_alive = "close" not in connection if minor == "1" else "keep-alive" in connection
        self._frame(minor, status, headers)
        self.status, self.headers = status, headers

    def _frame(self, minor: str, status: int, headers: Mapping[str, str]) -> None:
        """Decide where the body ends."""
        length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
        if length is not None and (encoding is not None or not _length(length)):
            raise ProtocolError("it is ambiguous where the response ends")
        if encoding is not None and (minor == "0" or encoding.lower() != "chunked"):
            raise ProtocolError("its Transfer-Encoding is not just chunked")
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
    """Parses a chunked body."""

    __slots__ = (
        "_budget", "_ends_chunk", "_held", "_in_trailers", "_left",
        "has_excess", "is_complete",
    )  # fmt: skip

    def __init__(self) -> None:
        self.is_complete = False
        self.has_excess = False
        self._left = 0
        """Bytes of the current chunk that are still to come."""
        self._ends_chunk = False
        """Whether the next line is the empty one after a chunk."""
        self._in_trailers = False
        self._held = b""
        self._budget = HEAD_LIMIT

    def feed(self, data: bytes) -> bytes:
        """Return the part of *data* that belongs to the body."""
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
                if not self._left and data.startswith(b"\r\n", position):
                    self._ends_chunk = False  # as nearly always
                    position += 2
                continue
            end = data.find(b"\n", position)
            if end < 0:
                self._held += data[position:]
                if len(self._held) > _LINE_LIMIT:
                    raise ProtocolError("a chunk of the response has no valid size")
                break
            self._read_line(self._held + data[position:end])
            self._held = b""
            position = end + 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_line(self, line: bytes) -> None:
        """Read a line between chunks, given without its line feed."""
        if self._ends_chunk:
            if line != b"\r":
                raise ProtocolError("a chunk of the response is longer than its size")
            self._ends_chunk = False
        elif not self._in_trailers:
            found = _chunk_line(line)
            if found is None or len(line) > _LINE_LIMIT:
                raise ProtocolError("a chunk of the response has no valid size")
            self._left = int(found[1], 16)
            self._ends_chunk = self._left > 0
            self._in_trailers = not self._left
        elif line == b"\r":
            self.is_complete = True
        else:
            self._budget -= len(line)
            if self._budget < 0:
                raise ProtocolError(f"its trailers exceed {HEAD_LIMIT} bytes")
            _read_fields(str(line, "utf-8", "replace") + "\n", 0)


def _check_beginning(buffer: bytes | bytearray) -> None:
    """Refuse at once what cannot become a response, instead of waiting for more."""
    first = buffer.find(b"\n")
    if not _START.startswith(buffer[: len(_START)]) or (first >= 0 and buffer[first - 1] != 13):
        raise ProtocolError("the response does not begin with a status line of HTTP/1.1")


def _read_fields(text: str, position: int) -> dict[str, str]:
    """Return headers with lower-case names; repeated ones are joined, as HTTP allows."""
    found = _fields(text, position)
    if len(found) != text.count("\n", position):
        raise ProtocolError("one of its header lines is malformed")
    headers = {name.lower(): value.rstrip(" \t") for name, value in found}
    if len(headers) == len(found):
        return headers
    values: dict[str, list[str]] = {}
    for name, value in found:
        values.setdefault(name.lower(), []).append(value.rstrip(" \t"))
    return {name: ", ".join(given) for name, given in values.items()}

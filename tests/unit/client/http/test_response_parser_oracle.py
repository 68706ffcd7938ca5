"""Our response parser against h11's: what both accept is the same, and every difference is listed.

The client sends no HEAD requests, so responses without a body are those of 204, 304 and CONNECT.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.client.http.errors import ProtocolError, Truncated
from certwright.client.http.message import HEAD_LIMIT, ResponseParser

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

STRICTER = {
    # what h11 accepts and we refuse: how to recognise it, and an example
    "line feeds without carriage return": (rb"(?<!\r)\n", OK + b"A: b\nContent-Length: 0\r\n\r\n"),
    "carriage returns without line feed": (
        rb"\r(?!\n)", CHUNKED + b"1;\ra=b\r\nx\r\n0\r\n\r\n",
    ),
    "folded headers": (rb"\n[ \t]", OK + b"A: b\r\n c\r\nContent-Length: 0\r\n\r\n"),
    "control characters": (rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]", OK + b"A: \x01\r\n\r\n"),
    "versions of HTTP other than 1.0 and 1.1": (
        rb"HTTP/(?!1\.[01])[0-9]\.[0-9]", b"HTTP/2.0 200 OK\r\n\r\n",
    ),
    "statuses above 599": (rb"HTTP/1\.[01] [6-9]", b"HTTP/1.1 600 What\r\n\r\n"),
    "a length and chunks": (
        rb"(?i)(?s:content-length.*transfer-encoding|transfer-encoding.*content-length)",
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "chunks in HTTP/1.0": (
        rb"(?is)HTTP/1\.0.*transfer-encoding",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "a length that is repeated": (
        rb"(?i)(?s:content-length.*content-length)|content-length:[^\r\n]*,",
        OK + b"Content-Length: 1, 1\r\n\r\nx",
    ),
    "lengths of more than 18 digits": (
        rb"(?i)content-length:\s*[0-9]{19}", OK + b"Content-Length: 0000000000000000001\r\n\r\nx",
    ),
    "chunk sizes of more than 15 digits": (
        rb"\n[0-9A-Fa-f]{16}", CHUNKED + b"0000000000000001\r\nx\r\n0\r\n\r\n",
    ),
}  # fmt: skip

MORE_LENIENT = {
    # what h11 refuses and we accept
    "white space before a chunk extension, which RFC 9112 allows": (
        rb"\n[0-9A-Fa-f]+[ \t]+;", CHUNKED + b"1 ;a\r\nx\r\n0\r\n\r\n",
    ),
    "trailers named like headers that matter: trailers are dropped unread": (
        rb"(?is)\n0+[ \t]*(;[^\n]*)?\r\n.*(content-length|transfer-encoding)",
        CHUNKED + b"0\r\nTransfer-Encoding: gzip\r\n\r\n",
    ),
}  # fmt: skip


@dataclass
class Outcome:
    """What a parser made of the bytes of a connection up to its end."""

    status: int
    headers: dict[str, str]
    body: bytes
    has_excess: bool
    keeps_alive: bool


def ours(pieces: list[bytes], *, tunnel: bool = False) -> Outcome | None:
    parser = ResponseParser(tunnel=tunnel)
    try:
        body = b"".join([parser.feed(piece) for piece in pieces])
        parser.finish()
    except (ProtocolError, Truncated):
        return None
    headers = dict(parser.headers)
    return Outcome(parser.status, headers, body, parser.has_excess, parser.keeps_alive)


def theirs(pieces: list[bytes], *, tunnel: bool = False) -> Outcome | None:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
    method, target = ("CONNECT", "a:1") if tunnel else ("GET", "/")
    connection.send(h11.Request(method=method, target=target, headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    found: h11.Response | None = None
    body, is_complete = b"", False
    for number, piece in enumerate([*pieces, b""]):
        if not piece and number < len(pieces):
            continue  # to h11 this is the end of the connection
        connection.receive_data(piece)
        while not is_complete:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                return None
            match event:
                case h11.Response():
                    found = event
                    is_complete = tunnel and event.status_code < 300
                case h11.Data():
                    body += bytes(event.data)
                case h11.EndOfMessage():
                    is_complete = True
                case h11.InformationalResponse():
                    pass
                case _:
                    break
    assert found is not None
    headers: dict[str, str] = {}
    for name, value in found.headers:
        text, key = value.decode("utf-8", "replace"), name.decode()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    keeps_alive = connection.their_state is h11.DONE
    return Outcome(found.status_code, headers, body, bool(connection.trailing_data[0]), keeps_alive)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def known(differences: dict[str, tuple[bytes, bytes]], data: bytes) -> bool:
    return any(re.search(pattern, data) for pattern, _ in differences.values())


def compare(data: bytes, places: list[int], *, tunnel: bool = False) -> None:
    pieces = cut(data, places)
    mine, reference = ours(pieces, tunnel=tunnel), theirs(pieces, tunnel=tunnel)
    if mine is None:
        assert reference is None or known(STRICTER, data)
    elif reference is None:
        assert known(MORE_LENIENT, data)
    else:
        assert (mine.status, mine.body) == (reference.status, reference.body)
        mine.headers = {
            # h11 normalises the one value that it supports
            name: value.lower() if name == "transfer-encoding" else value
            for name, value in mine.headers.items()
        }
        assert mine.headers == reference.headers
        assert mine.has_excess == reference.has_excess
        # h11 never keeps a connection of HTTP/1.0; we do if the server says so.
        is_old = b"HTTP/1.0" in data
        assert not mine.keeps_alive or reference.keeps_alive or is_old or tunnel


HEADERS = st.sampled_from(
    [
        b"Content-Type: application/json", b'Warning: 299 - "a"', b"warning:b \t", b"X-Empty:",
        b"X_y: \xc3\xa4", b"Z: \xff", b"Connection: close", b"Connection: Keep-Alive", b"A: b\tc",
    ]
)  # fmt: skip
STARTS = st.sampled_from(
    [
        OK, OK, b"HTTP/1.1 201\r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 500 \xe4rger\r\n",
        b"HTTP/1.1 204 No Content\r\n", b"HTTP/1.1 304 Not Modified\r\n", b"HTTP/1.1 404 \r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 409 Conflict\r\n",
    ]
)  # fmt: skip
EXCESS = st.sampled_from([b"", b"", b"", b"x", OK, b"\r\n"])
BODIES = st.lists(st.sampled_from([b"{", b"}", b"abc", b"0" * 20]), max_size=4)
EXTENSIONS = st.sampled_from([b"", b"", b"", b";a=b", b" ", b" ;a"])
TRAILERS = st.sampled_from([b"", b"", b"Digest: abc\r\n", b"A: b\r\nC:\r\n"])
NASTY = st.sampled_from(
    [
        b"\n", b"\r", b"\r\n", b" ", b"\t", b":", b"\0", b"\x01", b"\x7f", b"\xff", b"0", b"1", b"f",
        b";", b",", b"\r\n\r\n", b"A: b\r\n", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n", b"HTTP/1.1 ", b"2", b"-",
    ]
)  # fmt: skip


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    head = draw(STARTS) + b"".join(
        header + b"\r\n" for header in draw(st.lists(HEADERS, max_size=3))
    )
    parts = draw(BODIES)
    match draw(st.sampled_from(["length", "chunks", "end"])):
        case "length":
            body = b"".join(parts)
            head += b"Content-Length: %d\r\n" % (
                len(body) + draw(st.sampled_from([0, 0, 0, 1, -1])) % 99
            )
        case "chunks":
            head += b"Transfer-Encoding: %s\r\n" % draw(st.sampled_from([b"chunked", b"Chunked"]))
            lines = [b"%x%s\r\n%s\r\n" % (len(part), draw(EXTENSIONS), part) for part in parts]
            body = b"".join(lines) + b"0" + draw(EXTENSIONS) + b"\r\n" + draw(TRAILERS) + b"\r\n"
        case _:
            body = b"".join(parts)
    return head + b"\r\n" + body + draw(EXCESS)


CUTS = st.lists(st.integers(0, 250), max_size=5)


@settings(max_examples=100, deadline=None)
@given(responses(), CUTS, st.booleans())
def test_responses_are_read_as_h11_reads_them(data: bytes, cuts: list[int], tunnel: bool) -> None:  # noqa: FBT001
    compare(data, cuts, tunnel=tunnel)


@st.composite
def broken_responses(draw: st.DrawFn) -> bytes:
    """Break a response near the end of a line, where framing is decided, or anywhere."""
    data = draw(responses())
    ends = [found.start() for found in re.finditer(b"\r\n", data)]
    place = draw(st.sampled_from(ends)) + draw(st.integers(-1, 2))
    place = draw(st.sampled_from([place, place, draw(st.integers(0, len(data)))]))
    removed = draw(st.sampled_from([0, 0, 0, 1, 2]))
    return data[:place] + draw(NASTY) + data[place + removed :]


@settings(max_examples=200, deadline=None)
@given(broken_responses(), CUTS)
def test_broken_responses_are_refused_where_h11_refuses_them(data: bytes, cuts: list[int]) -> None:
    compare(data, cuts)


@pytest.mark.parametrize("what", STRICTER)
def test_where_we_are_stricter(what: str) -> None:
    pattern, example = STRICTER[what]
    assert re.search(pattern, example)
    assert ours([example]) is None
    assert theirs([example]) is not None


@pytest.mark.parametrize("what", MORE_LENIENT)
def test_where_we_are_more_lenient(what: str) -> None:
    pattern, example = MORE_LENIENT[what]
    assert re.search(pattern, example)
    assert ours([example]) is not None
    assert theirs([example]) is None


def test_only_we_keep_a_connection_of_http_1_0_that_the_server_keeps() -> None:
    data = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"
    mine, reference = ours([data]), theirs([data])
    assert mine is not None and mine.keeps_alive  # noqa: PT018
    assert reference is not None and not reference.keeps_alive  # noqa: PT018

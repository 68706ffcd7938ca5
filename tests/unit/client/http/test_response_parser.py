"""Responses however they are cut, and everything that is not a response."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.client.http import message
from certwright.client.http.errors import ProtocolError, Truncated
from certwright.client.http.message import HEAD_LIMIT, ResponseParser

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: now\r\n"

RESPONSES = {
    # what arrives: status, body, may the connection be used again
    HEAD + b"Content-Length: 2\r\n\r\n{}": (200, b"{}", True),
    HEAD + b"Content-Length: 0\r\n\r\n": (200, b"", True),
    HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}": (200, b"{}", False),
    HEAD + b"content-length:2\r\nCONNECTION: Close\r\n\r\n{}": (200, b"{}", False),
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": (200, b"{}", True),
    HEAD + b"Transfer-Encoding: Chunked\r\n\r\n1\r\n{\r\n00A\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n": (
        200, b"{\r\n\r\n\r\n\r\n\r\n", True,
    ),
    HEAD + b'Transfer-Encoding: chunked\r\n\r\n2;a="b;c"\r\n{}\r\n1 ; x\r\n \r\n0;last\r\n'
    b"Digest: abc\r\nMore: \r\n\r\n": (200, b"{} ", True),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    b"HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx": (201, b"x", True),
    b"HTTP/1.1 204 No Content\r\n\r\n": (204, b"", True),
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n": (304, b"", True),
    b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx": (200, b"x", True),
    b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx": (200, b"x", False),
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx": (200, b"x", True),
    HEAD + b"\r\nuntil the end": (200, b"until the end", False),
    b"HTTP/1.1 500 \xc3\xa4rgerlich\r\nWarning: \xff\r\n\r\n": (500, b"", False),
}  # fmt: skip


def read(pieces: list[bytes]) -> tuple[Any, bytes]:
    parser = ResponseParser()
    body = b"".join(parser.feed(piece) for piece in pieces)
    parser.finish()
    return parser, body


def outcome(parser: Any, body: bytes) -> tuple[int, bytes, bool]:
    reusable = parser.is_complete and parser.keeps_alive and not parser.has_excess
    return parser.status, body, reusable


@pytest.mark.parametrize("response", RESPONSES)
def test_whole(response: Any) -> None:
    assert outcome(*read([response])) == RESPONSES[response]


@pytest.mark.parametrize("response", RESPONSES)
def test_byte_by_byte(response: Any) -> None:
    assert (
        outcome(*read([response[n : n + 1] for n in range(len(response))])) == RESPONSES[response]
    )


@given(st.sampled_from(sorted(RESPONSES)), st.lists(st.integers(0, 200)))
def test_it_does_not_matter_how_a_response_is_cut(response: Any, cuts: Any) -> None:
    ends = [0, *sorted(min(cut, len(response)) for cut in cuts), len(response)]
    pieces = [response[start:end] for start, end in pairwise(ends)]
    parser, body = read(pieces)
    assert outcome(parser, body) == RESPONSES[response]
    assert parser.headers == read([response])[0].headers


def test_headers_have_lower_case_names_and_repeated_ones_are_joined() -> None:
    parser, _ = read(
        [b"HTTP/1.1 204 x\r\nWarning:  one \t\r\nX-A:\r\nwarning: two\r\nX_b: a:b\r\n\r\n"]
    )
    assert parser.headers == {"warning": "one, two", "x-a": "", "x_b": "a:b"}


def test_headers_are_text_whatever_was_sent() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 302 \xfe\r\nLocation: http://\xc3\xa4\xff\r\n\r\n")
    assert parser.headers["location"].encode() == "http://\xe4\ufffd".encode()


@pytest.mark.parametrize(
    "response",
    [
        HEAD + b"Content-Length: 2\r\n\r\n{}x",
        HEAD + b"Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n\r\n",
        b"HTTP/1.1 204 x\r\n\r\nbody",
    ],
)
def test_what_follows_a_response_spoils_the_connection(response: Any) -> None:
    for pieces in ([response], [response[n : n + 1] for n in range(len(response))]):
        parser, _ = read(pieces)
        assert parser.is_complete
        assert parser.has_excess


def test_a_tunnel_has_no_body() -> None:
    parser = ResponseParser(tunnel=True)
    assert parser.feed(b"HTTP/1.0 200 Connection established\r\n\r\n") == b""
    assert parser.is_complete
    refused = ResponseParser(tunnel=True)
    assert refused.feed(b"HTTP/1.1 407 no\r\nContent-Length: 4\r\n\r\nno") == b"no"
    assert not refused.is_complete


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"<html>",
        b"\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\n",
        b"HTTP/1.1  200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 999 OK\r\n\r\n",
        b"HTTP/1.1 200 O\rK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        HEAD + b": no name\r\n\r\n",
        HEAD + b"A : space before the colon\r\n\r\n",
        HEAD + b"A: a\r\n folded\r\n\r\n",
        HEAD + b"A: a\nB: b\r\n\r\n",
        HEAD + b"A: a\rB: b\r\n\r\n",
        HEAD + b"A: \x00\r\n\r\n",
        HEAD + "Ä: a\r\n\r\n".encode(),
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: +1\r\n\r\n",
        HEAD + b"Content-Length: 1_0\r\n\r\n",
        HEAD + b"Content-Length: 0x1\r\n\r\n",
        HEAD + b"Content-Length: \r\n\r\n",
        HEAD + "Content-Length: ²\r\n\r\n".encode(),
        HEAD + b"Content-Length: 9999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nx\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1_0\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;\x00\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nno trailer\r\n",
    ],
)
def test_garbage(garbage: bytes) -> None:
    for pieces in ([garbage], [garbage[n : n + 1] for n in range(len(garbage))]):
        with pytest.raises(ProtocolError):
            read(pieces)


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (HEAD + b"A: ", b"a" * 1000),
        (HEAD, b"A: a\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED + b"1;", b"a" * 1000),
        (CHUNKED + b"0\r\n", b"A: a\r\n"),
        (CHUNKED + b"0\r\nA:", b"a" * 1000),
    ],
)
def test_what_surrounds_a_body_is_bounded(start: bytes, again: bytes) -> None:
    parser = ResponseParser()
    parser.feed(start)

    def flood() -> None:
        for _ in range(2 * HEAD_LIMIT // len(again)):
            parser.feed(again)

    with pytest.raises(ProtocolError):
        flood()


def test_headers_that_arrive_at_once_are_bounded_too() -> None:
    with pytest.raises(ProtocolError, match="exceed 65536 bytes"):
        ResponseParser().feed(HEAD + b"A: " + b"a" * HEAD_LIMIT + b"\r\n\r\n")
    ResponseParser().feed(HEAD + b"A: " + b"a" * (HEAD_LIMIT - 100) + b"\r\n\r\n")


@pytest.mark.parametrize(
    ("part", "where"),
    [
        (b"", "before a response"),
        (b"HTTP/1.1 20", "before a response"),
        (HEAD, "before a response"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "before a response"),
        (HEAD + b"Content-Length: 2\r\n\r\n{", "in the middle"),
        (CHUNKED + b"2", "in the middle"),
        (CHUNKED + b"2\r\n{}\r\n", "in the middle"),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", "in the middle"),
    ],
)
def test_a_response_that_ends_before_its_end(part: Any, where: Any) -> None:
    with pytest.raises(Truncated, match=where):
        read([part])


@given(
    st.lists(st.one_of(st.binary(), st.sampled_from([*sorted(RESPONSES), HEAD, CHUNKED, b"\r\n"])))
)
def test_whatever_arrives_is_a_response_or_refused(pieces: Any) -> None:
    try:
        parser, body = read(pieces)
    except (ProtocolError, Truncated):
        return
    assert parser.is_complete
    assert 200 <= parser.status < 600
    assert len(body) <= sum(map(len, pieces))


def test_repeated_headers_take_no_more_time_than_others() -> None:
    """Each name of a pair is looked at twice, however many pairs there are."""
    looks = 0

    class Name(str):
        __slots__ = ()

        def lower(self) -> str:
            nonlocal looks
            looks += 1
            return super().lower()

    pairs = [(Name(f"A{number}"), "x") for number in range(2_000)] * 2
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(message, "_fields", lambda *_: pairs)
        headers = message._read_fields("\n" * len(pairs), 0)
    assert headers["a7"] == "x, x"
    assert looks <= 3 * len(pairs)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.pki import TooLarge
from certwright.pki.errors import MalformedPem
from certwright.pki.pem import Block, read_blocks, write_block


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["CERTIFICATE", "X", "RSA PRIVATE KEY"]), st.binary())))
def test_what_was_written_is_read_back(blocks: list[tuple[str, bytes]]) -> None:
    text = b"".join(write_block(label, der) for label, der in blocks)
    assert read_blocks(text, limit=1 << 20) == [Block(label, der) for label, der in blocks]


def test_it_is_written_in_lines_of_64() -> None:
    lines = write_block("X", b"\0" * 100).decode().split("\n")
    assert lines[0] == "-----BEGIN X-----"
    assert [len(line) for line in lines[1:-2]] == [64, 64, 8]
    assert lines[-2:] == ["-----END X-----", ""]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN X-----\r\nAAEC\r\n-----END X-----\r\n",
        "# my chain\nsubject: CN=x\n\n-----BEGIN X-----\nAAEC\n-----END X-----\ntrailing words",
        "  -----BEGIN X-----  \n  AAEC\t\n\n  -----END X-----  ",
        "-----BEGIN X-----\nA\nAE\nC\n-----END X-----",
        "-----BEGIN X-----\nProc-Type: 4,MIC-ONLY\nComment: y\n\nAAEC\n-----END X-----",
        "-----END X-----\n-----BEGIN X-----\nAAEC\n-----END X-----",
        "-----BEGIN X-----\rAAEC\r-----END X-----\r",
        "see -----BEGIN X----- below\n-----BEGIN X-----\nAAEC\n-----END X-----",
    ],
    ids=[
        "crlf",
        "comments",
        "indented",
        "odd lines",
        "headers",
        "stray end",
        "cr",
        "quoted marker",
    ],
)
def test_what_people_paste_is_read(text: str) -> None:
    assert read_blocks(text, limit=1_000) == [Block("X", b"\0\1\2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-----BEGIN X-----\nAAEC\n", "PEM block X is not closed"),
        (
            "-----BEGIN X-----\nAAEC\n-----BEGIN X-----\nAAEC\n-----END X-----",
            "PEM block X is not closed",
        ),
        ("-----BEGIN X-----\nAAEC\n-----END Y-----", "PEM block X is closed under another label"),
        ("-----BEGIN X-----\nAA*C\n-----END X-----", "PEM block X holds broken base64"),
        ("-----BEGIN X-----\nAAE\n-----END X-----", "PEM block X holds broken base64"),
        (
            "-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\n\nAAEC\n-----END X-----",
            "PEM block X is encrypted",
        ),
        (
            "-----BEGIN \x1b[31m-----\nAA*C\n-----END \x1b[31m-----",
            "PEM block '\\x1b[31m' holds broken base64",
        ),
        ("\ud800", "text holds lone surrogates"),
    ],
)
def test_damage_is_not_skipped(text: str, message: str) -> None:
    with pytest.raises(MalformedPem) as caught:
        read_blocks(text, limit=1_000)
    assert str(caught.value) == message


def test_size_is_checked_first() -> None:
    with pytest.raises(TooLarge, match="input of 11 bytes is larger than the maximum of 10"):
        read_blocks(b"-----BEGIN ", limit=10)
    with pytest.raises(TooLarge, match="input of 12 bytes"):
        read_blocks("é" * 6, limit=10)


def test_bytes_are_not_in_the_repr() -> None:
    assert repr(Block("RSA PRIVATE KEY", b"secret")) == "Block(label='RSA PRIVATE KEY')"

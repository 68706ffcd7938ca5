"""PEM: bounded, tolerant of what people paste, strict about what would be lost.

Text around blocks, blank lines, indentation, CRLF and RFC 1421 headers are ignored. A
block that begins and is not closed, or whose base64 is broken, is an error: skipping it, as
Go's decoder does, turns a damaged chain into a shorter valid one.

Sizes are checked before anything is parsed; reading is linear in the input.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field

from certwright.pki.errors import MalformedPem, TooLarge, quoted

KEY_LIMIT = 13_000
"""Bytes of a private key in PEM: RSA-8192 with room for comments."""
CERTIFICATE_LIMIT = 36_500
"""Bytes of one certificate in PEM."""
CHAIN_LIMIT = 95_000
"""Bytes of a chain in PEM."""
BUNDLE_LIMIT = 330_000
"""Bytes of a trust bundle in PEM."""
REQUEST_LIMIT = 65_536
"""Bytes of a certificate signing request in PEM."""

_BEGIN = b"-----BEGIN "
_END = b"-----END "
_DASHES = b"-----"


@dataclass(frozen=True, slots=True)
class Block:
    """One PEM block: its label (``CERTIFICATE``) and its bytes. The repr shows no bytes."""

    label: str
    der: bytes = field(repr=False)


def read_blocks(data: bytes | str, *, limit: int) -> list[Block]:
    """Return every block of a PEM text, in order; none is not an error.

    Raises:
        TooLarge: *data* is longer than *limit* bytes.
        MalformedPem: a block is not closed, closed under another label, or no base64.
    """
    return list(_blocks(bounded(data, limit)))


def single_block(data: bytes | str, *labels: str, limit: int) -> Block:
    """Return the only block with one of these labels; blocks with others are ignored.

    Raises:
        TooLarge: *data* is longer than *limit* bytes.
        MalformedPem: as `read_blocks`, or there is not exactly one such block.
    """
    blocks = [block for block in read_blocks(data, limit=limit) if block.label in labels]
    if len(blocks) != 1:
        raise MalformedPem(f"expected one PEM block {labels[0]}, found {len(blocks)}")
    return blocks[0]


def write_block(label: str, der: bytes) -> bytes:
    """Write one block, 64 characters to the line, closed by a newline."""
    text = base64.b64encode(der)
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    name = label.encode()
    return b"\n".join([_BEGIN + name + _DASHES, *lines, _END + name + _DASHES, b""])


def bounded(data: bytes | str, limit: int) -> bytes:
    """Return *data* as bytes.

    Raises:
        TooLarge: it is longer than *limit* bytes.
        MalformedPem: it is text that no encoding can write.
    """
    if len(data) > limit:
        raise TooLarge(f"input of {len(data)} bytes is larger than the maximum of {limit}")
    try:
        raw = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise MalformedPem("text holds lone surrogates") from error
    if len(raw) > limit:
        raise TooLarge(f"input of {len(raw)} bytes is larger than the maximum of {limit}")
    return raw


def _blocks(data: bytes) -> Iterator[Block]:
    """Yield blocks, from marker to marker; lines between blocks are skipped."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    place = data.find(_BEGIN)
    while place >= 0:
        body = _end_of_line(data, place)
        line = data[place:body].rstrip()
        if not _starts_a_line(data, place) or not line.endswith(_DASHES):
            place = data.find(_BEGIN, place + len(_BEGIN))
            continue
        label = line[len(_BEGIN) : -len(_DASHES)]
        end = data.find(_DASHES, body)
        place = _check_end(data, end, label)
        yield Block(_shown(label), _decoded(label, data[body:end]))
        place = data.find(_BEGIN, place)


def _check_end(data: bytes, place: int, label: bytes) -> int:
    """Check the marker that closes a block and return where it ends."""
    if place < 0 or not data.startswith(_END, place) or not _starts_a_line(data, place):
        raise MalformedPem(f"PEM block {_shown(label)} is not closed")
    end = _end_of_line(data, place)
    if data[place:end].rstrip() != _END + label + _DASHES:
        raise MalformedPem(f"PEM block {_shown(label)} is closed under another label")
    return end


def _end_of_line(data: bytes, place: int) -> int:
    end = data.find(b"\n", place)
    return len(data) if end < 0 else end


def _starts_a_line(data: bytes, place: int) -> bool:
    while place and data[place - 1] in b" \t":
        place -= 1
    return place == 0 or data[place - 1] == ord("\n")


def _decoded(label: bytes, body: bytes) -> bytes:
    if b":" in body:  # RFC 1421 headers end at the first blank line
        headers, _, body = body.strip().partition(b"\n\n")
        if b"ENCRYPTED" in headers:
            raise MalformedPem(f"PEM block {_shown(label)} is encrypted")
    try:
        return base64.b64decode(b"".join(body.split()), validate=True)
    except binascii.Error as error:
        raise MalformedPem(f"PEM block {_shown(label)} holds broken base64") from error


def _shown(label: bytes) -> str:
    text = label.decode("ascii", "replace")
    return text if text.replace(" ", "").isalnum() and len(text) < 40 else quoted(text)

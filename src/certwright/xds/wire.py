"""The few lines of Protocol Buffers that put encoded messages into another one without decoding."""

_MORE = 0x80


def varint(number: int) -> bytes:
    """Return a number of zero or more, seven bits to a byte, the lowest first."""
    parts = bytearray()
    while number >= _MORE:
        parts.append(number & 0x7F | _MORE)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def wrapped(field: int, encoded: bytes) -> bytes:
    """Return bytes as the value of a field: its number, the length, the bytes."""
    return varint(field << 3 | 2) + varint(len(encoded)) + encoded


def text_field(field: int, text: str) -> bytes:
    """Return text as the value of a field; nothing if it is empty, as for any default."""
    return wrapped(field, text.encode()) if text else b""

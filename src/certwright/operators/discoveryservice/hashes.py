"""Short hashes as marin3r writes them into labels: they show changes, and identify nothing.

32 bits are too few to tell certificates apart for sure; where that matters, SHA-256 is compared.
"""

from collections.abc import Mapping
from typing import Final

_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def hash_of_data(data: Mapping[str, bytes]) -> str:
    """Return the hash of the data of a Secret, as the first releases computed it."""
    entries = " ".join(f"{key}:{_numbers(data[key])}" for key in sorted(data))
    return _safe(f"(map[string][]uint8)map[{entries}]")


def hash_of_certificate(certificate: bytes) -> str:
    """Return the hash of ``tls.crt``, as later releases compute it."""
    return _safe(f"([]uint8){_numbers(certificate)}")


def _numbers(content: bytes) -> str:
    return "[" + " ".join(map(str, content)) + "]"


def _safe(text: str) -> str:
    """Return FNV-1a of a text in characters that spell no word."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(value))

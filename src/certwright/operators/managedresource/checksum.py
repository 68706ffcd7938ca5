"""What the Secrets of a ManagedResource held, as one short text.

It is the checksum Gardener's resource manager writes, so that taking over from it resets no
conditions: each document feeds the whole stored value of its key, compressed or not, into one
SHA-256. A value of n documents counts n times, one without documents not at all.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_REPEATED: Final = 16 * 1024 * 1024
"""How many bytes of one value are hashed at most. Thousands of documents under one key would
cost seconds otherwise; what is beyond enters as a number."""


@dataclass(frozen=True, slots=True)
class Content:
    """The stored bytes of one key, and how many documents in them count."""

    value: bytes
    documents: int


def checksum(contents: Iterable[Content]) -> str:
    """Return the checksum of values, given in the order of Secrets and then of keys."""
    digest = hashlib.sha256()
    for content in contents:
        if content.documents * len(content.value) <= MOST_REPEATED:
            for _ in range(content.documents):
                digest.update(content.value)
        else:
            digest.update(content.value)
            digest.update(str(content.documents).encode())
    return digest.hexdigest()

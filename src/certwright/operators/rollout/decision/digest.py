"""Keyed digests: they show that contents changed, and tell readers without the key nothing else.

A plain hash of a password in an annotation lets everyone who may read the workload try passwords
against it. HMAC-SHA256 with a key that only the operator can read does not, and neither does it
show that two Secrets hold the same value, because the name of the source goes in as well.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from certwright.operators.rollout.workload import SourceRef

KEY_BYTES: Final = 32
_DIGEST_BYTES: Final = 12
"""96 bits: contents are compared with a handful of earlier ones, not with all others."""


class DigestKey:
    """A secret key and what it is known by. Its representation does not show the key."""

    __slots__ = ("_hmac", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) < KEY_BYTES:
            raise ValueError(f"a key for digests has at least {KEY_BYTES} bytes")
        self._hmac = hmac.new(secret, digestmod=sha256)
        self.id = self._digest(b"id")[:8]

    def __repr__(self) -> str:
        return f"DigestKey({self.id})"

    def of_value(self, ref: SourceRef, key: str, value: bytes) -> str:
        """Return the digest of one value of a source."""
        return self._digest(
            b"value", ref.kind.encode(), *_parts(ref.namespace, ref.name, key), value
        )

    def of_digests(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Return the digest of several digests and what each is of, in any order."""
        return self._digest(b"all", *(part for pair in sorted(pairs) for part in _parts(*pair)))

    def _digest(self, *parts: bytes) -> str:
        digest = self._hmac.copy()  # with lengths, so that no two lists of parts are alike
        digest.update(b"".join([len(part).to_bytes(8) + part for part in parts]))
        return urlsafe_b64encode(digest.digest()[:_DIGEST_BYTES]).decode()


def _parts(*texts: str) -> Iterable[bytes]:
    return (text.encode(errors="surrogatepass") for text in texts)

"""Reading Secrets without holding up the event loop, and not twice.

What was read is kept as JSON, which takes a tenth of the room that Python's objects take and a
tenth of the time that YAML takes. Only so much of it is kept, and only of large Secrets: others
are read again when one of their objects has to be repaired.
"""

import base64
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import orjson

from certwright.apply import Manifest, ManifestError
from certwright.apply import Origin as Place
from certwright.kube import JsonObject, Key
from certwright.operators.managedresource.checksum import Content
from certwright.operators.managedresource.desired import DecodedSecret, decode_secret
from certwright.runtime import Entry

REMEMBERED_BYTES: Final = 8 * 2**20
WORTHWHILE_BYTES: Final = 32 * 1024
"""Smaller Secrets are read again in a millisecond; thousands of them would take up room."""
INLINE_BYTES: Final = 64 * 1024
"""Larger Secrets are read in a thread, as are compressed ones, whose size says nothing."""

R = TypeVar("R")


class Cpu(Protocol):
    """Runs a function in a thread: ``ctx.cpu``."""

    async def __call__(self, fn: Callable[..., R], *args: Any) -> R:
        """Return what the function returns."""
        ...


class _Read(NamedTuple):
    """A Secret that was read, small enough to be kept."""

    entry: Entry
    documents: tuple[tuple[bytes, Place], ...]
    errors: tuple[ManifestError, ...]
    remarks: tuple[str, ...]
    counts: dict[str, int]
    size: int


class Decoder:
    """Reads the Secrets of ManagedResources; remembers what the latest ones held."""

    def __init__(self, limit: int = REMEMBERED_BYTES, worthwhile: int = WORTHWHILE_BYTES) -> None:
        self._limit = limit
        self._worthwhile = worthwhile
        self._read: OrderedDict[Key, _Read] = OrderedDict()
        self.size = 0
        """How many bytes are remembered."""

    async def decode(self, secret: Entry, cpu: Cpu) -> DecodedSecret:
        """Return what a Secret holds; a large one, or one that is compressed, in a thread."""
        known = self._read.get(secret.key)
        if known is not None and known.entry is secret:
            self._read.move_to_end(secret.key)
            if known.size > INLINE_BYTES:
                return await cpu(_unpack, known)
            return _unpack(known)
        data = _data(secret)
        if len(secret.raw) > INLINE_BYTES or any(name.endswith(".br") for name in data):
            decoded, packed = await cpu(_decode, secret, data)
        else:
            decoded, packed = _decode(secret, data)
        if packed.size >= self._worthwhile:
            self._remember(packed)
        else:
            self.forget(secret.key)
        return decoded

    def forget(self, key: Key) -> None:
        """Forget a Secret that nobody refers to any more."""
        known = self._read.pop(key, None)
        if known is not None:
            self.size -= known.size

    def _remember(self, read: _Read) -> None:
        self.forget(read.entry.key)
        self._read[read.entry.key] = read
        self.size += read.size
        while self.size > self._limit:
            _, oldest = self._read.popitem(last=False)
            self.size -= oldest.size


def _data(secret: Entry) -> dict[str, str]:
    data = secret.obj().get("data")
    return data if isinstance(data, dict) else {}


def _decode(secret: Entry, data: dict[str, str]) -> tuple[DecodedSecret, _Read]:
    decoded = decode_secret(secret.key, data)
    documents = tuple((orjson.dumps(m.obj), m.origin) for m in decoded.manifests)
    names = sorted(name for name in data)
    counts = {n: c.documents for n, c in zip(names, decoded.contents, strict=False)}
    size = sum(len(text) for text, _ in documents)
    return decoded, _Read(
        secret, documents, decoded.errors, decoded.remarks, counts, size + len(secret.raw)
    )


def _unpack(read: _Read) -> DecodedSecret:
    data = _data(read.entry)
    return DecodedSecret(
        read.entry.key,
        tuple(Manifest(_object(text), origin) for text, origin in read.documents),
        read.errors,
        read.remarks,
        tuple(Content(base64.b64decode(data[n]), c) for n, c in read.counts.items()),
    )


def _object(text: bytes) -> JsonObject:
    obj: JsonObject = orjson.loads(text)
    return obj

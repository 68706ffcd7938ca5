"""The Secrets that ManagedResources refer to, out of the many there may be in a cluster.

All Secrets are watched, and only those are kept that a ManagedResource refers to. That is known
by the time the watch begins, because it begins after the ManagedResources are complete. A
Secret that was there before its ManagedResource is in the store's waiting room, or else read
once.

Reading Secrets without holding up the event loop, and not twice.

What was read is kept as JSON, which takes a tenth of the room that Python's objects take and a
tenth of the time that YAML takes. Only so much of it is kept, and only of large Secrets: others
are read again when one of their objects has to be repaired.
"""

import base64
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
import orjson
from msgspec import Struct

from certwright.apply import Manifest, ManifestError
from certwright.apply.manifests.read import ManifestOrigin as Place
from certwright.client import Client, request
from certwright.keep.stores import complete
from certwright.kube import Conflict, JsonObject, Key, NotFound
from certwright.kube.kinds import Secret
from certwright.operators.managedresource.declared import Content, DecodedSecret, decode_secret
from certwright.runtime import Cache, Entry, Store, StoreHandle

SECRETS = "secrets"
"""The index that finds ManagedResources by the Secrets they refer to."""


class _Reference(Struct):
    name: str = ""


class _Spec(Struct, rename="camel"):
    secret_refs: list[_Reference] = []


class _Referring(Struct):
    spec: _Spec


_DECODER = msgspec.json.Decoder(_Referring)


def referenced_secrets(entry: Entry) -> Iterable[Key]:
    """Return the Secrets a ManagedResource refers to."""
    namespace = entry.key.namespace
    refs = _DECODER.decode(entry.raw).spec.secret_refs
    return {Key(namespace, ref.name): None for ref in refs}


class Secrets:
    """Finds Secrets by name, and tells whose Secret has changed."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        *,
        namespaces: Sequence[str] = (),
        wake: Callable[[Key], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._namespaces = tuple(namespaces) or ("",)
        self._wake = wake
        self._resources: list[Store] = []
        self._shares: dict[str, StoreHandle] = {}
        self._absent: set[Key] = set()  # the server said so, and no event since says otherwise
        self._reading = False

    def serve(self, resources: Store) -> None:
        """Keep the Secrets that the ManagedResources of a complete store refer to."""
        if any(resources is known for known in self._resources):
            return
        self._resources.append(resources)
        resources.listen(self._reference_changed)

    async def ready(self) -> None:
        """Return when the Secrets are complete; the first who asks starts the watch.

        Raises:
            Forbidden: Secrets may not be watched.
            ConnectFailed: the source cluster cannot be reached.
        """
        for namespace in self._namespaces:
            share = self._shares.get(namespace)
            if share is None:
                share = self._cache.store(Secret, namespace=namespace, keep=self._is_wanted)
                self._shares[namespace] = share
                share.listen(self._secret_changed)
            await complete(share)

    async def get(self, key: Key) -> Entry:
        """Return a Secret that a ManagedResource refers to.

        Raises:
            NotFound: there is none.
            ApiError: it cannot be read.
            TransportError: the source cluster does not answer.
        """
        store = self.store(key)
        entry = store.get(key) or store.admit(key)
        if entry is not None:
            return entry
        if key in self._absent:
            raise NotFound(_missing(key))
        return await self._read(store, key)

    async def _read(self, store: Store, key: Key) -> Entry:
        try:
            answer = await self._client.send(request.get(Secret, key))
        except NotFound:
            if (seen := store.get(key) or store.admit(key)) is not None:
                return seen  # it was created while we asked
            self._absent.add(key)
            raise NotFound(_missing(key)) from None
        entry = store.decoder.entry(answer.body)
        self._reading = True
        try:
            store.upsert(entry)
        finally:
            self._reading = False
        return store.get(key) or entry

    async def confirm(self, seen: Entry) -> None:
        """Ask the server whether a Secret is still as it was seen.

        Raises:
            Conflict: it is not, or it is gone; the store knows by now.
        """
        store = self.store(seen.key)
        try:
            answer = await self._client.send(request.get(Secret, seen.key))
        except NotFound:
            store.note_delete(seen.key, seen.uid)
            raise Conflict(f"Secret {seen.key} is gone; nobody had told so yet") from None
        now = store.decoder.entry(answer.body)
        if now.uid != seen.uid:
            store.note_delete(seen.key, seen.uid)
        if (now.uid, now.meta.resource_version) != (seen.uid, seen.meta.resource_version):
            store.note_write(answer.body)
            raise Conflict(f"Secret {seen.key} changed; nobody had told so yet")

    def store(self, key: Key) -> Store:
        """Return the store that holds a Secret; only once the Secrets are `ready`."""
        share = self._shares.get(key.namespace) or self._shares[""]
        return share.store

    def _is_wanted(self, entry: Entry) -> bool:
        self._absent.discard(entry.key)
        return any(store.by_index(SECRETS, entry.key) for store in self._resources)

    def _secret_changed(self, old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or self._reading:
            return
        if new is None:
            self._absent.add(changed.key)
        for store in self._resources:
            for resource in store.by_index(SECRETS, changed.key):
                self._wake(resource.key)

    def _reference_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Let go of Secrets that no ManagedResource refers to any more."""
        if old is None:
            return
        kept = set(referenced_secrets(new)) if new is not None else set()
        for key in referenced_secrets(old):
            if key in kept or any(s.by_index(SECRETS, key) for s in self._resources):
                continue
            self._absent.discard(key)
            share = self._shares.get(key.namespace) or self._shares.get("")
            if share is not None:
                share.store.discard(key)


def _missing(key: Key) -> str:
    return f'secrets "{key.name}" not found'


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

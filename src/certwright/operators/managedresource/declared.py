"""From the data of Secrets to the objects that are wanted.

Two steps. `decode_secret` reads one Secret, which may take a while: its result depends on nothing
but the Secret, and it may run in a thread. `combined_input` puts Secrets together, which is quick.

Nothing here gives up at the first mistake: what can be read is wanted, what cannot is named, and
while anything is in doubt nothing may be pruned.
"""

import base64
import binascii
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import orjson
from msgspec import Struct

from certwright.api import resourcekeys as keys
from certwright.apply import Manifest, ManifestError, ObjectRef, ReadLimits, read_secret
from certwright.apply.manifests.limits import Budget
from certwright.apply.manifests.read import ManifestOrigin as Place
from certwright.kube import GroupVersionKind, JsonObject, Key
from certwright.kube.objects import exact_json
from certwright.operators.managedresource.inventory import object_id, object_key, shape_problem
from certwright.runtime import Entry

MOST_REPEATED: Final = 16 * 1024 * 1024
"""How many bytes of one value are hashed at most. Thousands of documents under one key would
cost seconds otherwise; what is beyond enters as a number."""


@dataclass(frozen=True, slots=True)
class Content:
    """The stored bytes of one key, and how many documents in them count."""

    value: bytes
    documents: int


def checksum(contents: Iterable[Content]) -> str:
    """Return the checksum of values, given in the order of Secrets and then of keys.

    It is the one Gardener's resource manager writes, so that taking over from it resets no
    conditions: each document feeds the whole stored value of its key, compressed or not, into
    one SHA-256. A value of n documents counts n times, one without documents not at all.
    """
    digest = hashlib.sha256()
    left = 4 * MOST_REPEATED  # a Secret may be referred to again and again
    for content in contents:
        repeated = content.documents * len(content.value)
        left -= repeated
        if repeated <= MOST_REPEATED and left >= 0:
            for _ in range(content.documents):
                digest.update(content.value)
        else:
            digest.update(content.value)
            digest.update(str(content.documents).encode())
    return digest.hexdigest()


Scope: TypeAlias = Callable[[GroupVersionKind], bool | None]
"""Says whether a kind is namespaced; None if the target does not know it (yet)."""

T = TypeVar("T")
R = TypeVar("R")

INPUT_LIMITS: Final = ReadLimits(size=12 * 2**20, unpacked=8 * 2**20)
"""Of all Secrets of a ManagedResource together: what a process of 128 MiB can take."""
REMEMBERED_BYTES: Final = 8 * 2**20
WORTHWHILE_BYTES: Final = 32 * 1024
"""Smaller Secrets are read again in a millisecond; thousands of them would take up room."""
INLINE_BYTES: Final = 64 * 1024
"""Larger Secrets are read in a thread, as are compressed ones, whose size says nothing."""
_DEFAULT_NAMESPACE: Final = "default"


class Mode(StrEnum):
    """How an object is kept, as its annotation `keys.MODE` says."""

    APPLY = ""
    """Exactly as written; what everybody wants who says nothing."""
    IGNORE = "Ignore"
    """Not at all: it is neither applied nor deleted, and is released if it was ours."""
    ENSURE_EXISTS = "EnsureExists"
    """Created when it is missing, and never changed."""
    KEEP = "Keep"
    """As written, and left where it is when it is no longer wanted."""
    FALL_BACK = "FallBack"
    """As written, unless others provide it."""


_MODES: Final = {mode.value: mode for mode in Mode}


@dataclass(frozen=True, slots=True)
class DecodedSecret:
    """What one Secret holds."""

    key: Key
    manifests: tuple[Manifest, ...]
    errors: tuple[ManifestError, ...]
    remarks: tuple[str, ...]
    contents: tuple[Content, ...]


class ManifestObject(Struct, frozen=True):
    """An object that is wanted, in the namespace where it belongs."""

    ref: ObjectRef
    obj: JsonObject
    mode: Mode
    place: str
    """Where it was written, for people."""

    @property
    def create_only(self) -> bool:
        """Whether it is created exactly as written and never touched again."""
        return keys.truthy(keys.annotations_of(self.obj).get(keys.IGNORE))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that cannot be applied, known before anything is written."""

    ref: ObjectRef
    problem: str

    def __str__(self) -> str:
        return apply_error(self.ref, self.problem)


@dataclass(frozen=True, slots=True)
class Input:
    """All objects that a ManagedResource wants, and what is wrong with its input."""

    objects: tuple[ManifestObject, ...]
    """To be applied, in the order of the inventory."""
    released: tuple[ObjectRef, ...]
    """In mode ``Ignore``."""
    undecodable: tuple[str, ...]
    """Documents that cannot be read, worded for the condition."""
    refused: tuple[Refusal, ...]
    """Objects that can be read and not be applied."""
    remarks: tuple[str, ...]
    """What was accepted and is probably a mistake."""
    checksum: str

    @property
    def in_doubt(self) -> bool:
        """Whether something that was there before may be missing by mistake: no pruning."""
        return bool(self.undecodable or self.refused)


def apply_error(ref: ObjectRef, problem: str) -> str:
    """Return the error for an object that could not be applied; clients match its beginning."""
    return f'error during apply of object "{object_id(ref)}": {problem}'


def decode_secret(
    key: Key, data: Mapping[str, str | bytes], budget: Budget | None = None
) -> DecodedSecret:
    """Read the ``data`` of a Secret: base64 as the API has it, or bytes."""
    stored = {name: _stored(value) for name, value in data.items()}
    budget = budget or Budget(INPUT_LIMITS)
    manifests = read_secret(stored, budget=budget, allow_duplicates=True)
    documents = {(m.origin.source, m.origin.index) for m in manifests.objects if not _ignores(m)}
    counts = Counter(source for source, _ in documents)
    return DecodedSecret(
        key,
        tuple(manifests.objects),
        tuple(manifests.errors),
        tuple(f"secret {str(key)!r}: {remark}" for remark in manifests.remarks),
        tuple(
            Content(value, counts[name])
            for name, value in sorted(stored.items())
            if isinstance(value, bytes)
        ),
    )


def combined_input(secrets: Iterable[DecodedSecret], scope: Scope) -> Input:
    """Put Secrets together, in the order in which they are referred to, each once."""
    secrets = list(secrets)
    collector = _Collector(scope)
    once = {secret.key: secret for secret in secrets}.values()
    for secret in once:
        for manifest in secret.manifests:
            collector.take(manifest, secret.key)
    wanted = collector.agreed()
    times = Counter(secret.key for secret in secrets)
    again = (f"secret {str(k)!r} is referred to {n} times" for k, n in times.items() if n > 1)
    return Input(
        objects=tuple(item for item in wanted if item.mode is not Mode.IGNORE),
        released=tuple(item.ref for item in wanted if item.mode is Mode.IGNORE),
        undecodable=_once(_worded(s.key, error) for s in once for error in s.errors),
        refused=_once(collector.refused),
        remarks=_once([*again, *(r for s in once for r in s.remarks), *collector.remarks]),
        checksum=checksum(content for secret in secrets for content in secret.contents),
    )


class _Collector:
    """Takes manifests one by one and finds what contradicts itself."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._found: dict[tuple[str, str, str, str], list[ManifestObject]] = {}
        self.refused: list[Refusal] = []
        self.remarks: list[str] = []

    def take(self, manifest: Manifest, secret: Key) -> None:
        place = f"secret {str(secret)!r}, {manifest.origin}"
        problem = shape_problem(manifest.obj)
        if problem:
            self.refused.append(Refusal(ObjectRef.of(manifest.obj), f"{problem} ({place})"))
            return
        obj = _normalised(manifest.obj, self._scope)
        ref = ObjectRef.of(obj)
        written = keys.annotations_of(obj).get(keys.MODE, "")
        if written not in _MODES:
            self.remarks.append(f"{place}: mode {written!r} is none; it is applied as usual")
        item = ManifestObject(ref, obj, _MODES.get(written, Mode.APPLY), place)
        self._found.setdefault(ref.identity, []).append(item)

    def agreed(self) -> list[ManifestObject]:
        """Return each object once; what is defined differently twice is refused."""
        agreed = []
        for same in sorted(self._found.values(), key=lambda items: object_key(items[0].ref)):
            first, *others = same
            different = [item for item in others if item.obj != first.obj]
            if different:
                places = "; ".join(dict.fromkeys(i.place for i in (first, *different)))
                problem = f"Conflict: it is defined differently in several documents: {places}"
                self.refused.append(Refusal(first.ref, problem))
                continue
            if others:
                places = "; ".join(dict.fromkeys(item.place for item in same))
                self.remarks.append(f"{first.ref} is defined {len(same)} times: {places}")
            agreed.append(first)
        return agreed


def _normalised(obj: JsonObject, scope: Scope) -> JsonObject:
    """Return an object in the namespace where the target will have it."""
    ref = ObjectRef.of(obj)
    namespaced = scope(ref.gvk)
    if namespaced is None:
        namespaced = ref.kind != "Namespace"  # the definition may come along
    if namespaced == bool(ref.namespace):
        return obj
    metadata = {name: part for name, part in obj["metadata"].items() if name != "namespace"}
    if namespaced:
        metadata["namespace"] = _DEFAULT_NAMESPACE
    return {**obj, "metadata": metadata}


def _once(items: Iterable[T]) -> tuple[T, ...]:
    """Return items without repetitions: a Secret may be referred to twice."""
    return tuple(dict.fromkeys(items))


def _ignores(manifest: Manifest) -> bool:
    return keys.annotations_of(manifest.obj).get(keys.MODE) == Mode.IGNORE.value


def _stored(value: str | bytes) -> str | bytes:
    """Return the bytes of a value; one that is not base64 is left for the reader to report."""
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        return value


def _worded(secret: Key, error: ManifestError) -> str:
    origin = error.origin
    item = "" if origin.item is None else f", item {origin.item + 1}"
    return (
        f"Could not decode resource at index {origin.index} in {origin.source!r} in secret "
        f"{str(secret)!r}: line {origin.line}{item}: {error.problem.rstrip('.')}."
    )


class Cpu(Protocol):
    """Runs a function in a thread: ``ctx.cpu``."""

    async def __call__(self, fn: Callable[..., R], *args: Any) -> R:
        """Return what the function returns."""


class _Read(NamedTuple):
    """A Secret that was read, small enough to be kept."""

    entry: Entry
    documents: tuple[tuple[bytes, Place], ...]
    errors: tuple[ManifestError, ...]
    remarks: tuple[str, ...]
    counts: dict[str, int]
    size: int
    spent: tuple[int, ...]


class Decoder:
    """Reads the Secrets of ManagedResources; remembers what the latest ones held.

    That is kept as JSON, which takes a tenth of the room that Python's objects take and a tenth
    of the time that YAML takes, and only of large Secrets.
    """

    def __init__(self, limit: int = REMEMBERED_BYTES, worthwhile: int = WORTHWHILE_BYTES) -> None:
        self._limit = limit
        self._worthwhile = worthwhile
        self._read: OrderedDict[Key, _Read] = OrderedDict()
        self.size = 0
        """How many bytes are remembered."""

    async def decode_all(self, secrets: Iterable[Entry], cpu: Cpu) -> list[DecodedSecret]:
        """Return what Secrets hold, in order; each is read once, and all within one budget."""
        budget, found = Budget(INPUT_LIMITS), dict[Key, DecodedSecret]()
        for secret in secrets:
            if secret.key not in found:
                found[secret.key] = await self.decode(secret, cpu, budget)
        return [found[secret.key] for secret in secrets]

    async def decode(self, secret: Entry, cpu: Cpu, budget: Budget | None = None) -> DecodedSecret:
        """Return what a Secret holds; a large one, or one that is compressed, in a thread."""
        budget = budget or Budget(INPUT_LIMITS)
        known = self._read.get(secret.key)
        if known is not None and known.entry is secret and budget.covers(known.spent):
            budget.take(known.spent)
            self._read.move_to_end(secret.key)
            if known.size > INLINE_BYTES:
                return await cpu(_unpack, known)
            return _unpack(known)
        data = _data(secret)
        if len(secret.raw) > INLINE_BYTES or any(name.endswith(".br") for name in data):
            decoded, packed = await cpu(_decode, secret, data, budget)
        else:
            decoded, packed = _decode(secret, data, budget)
        whole = not decoded.errors or packed.spent == budget.spent  # had all of the budget
        if packed.size >= self._worthwhile and whole:
            self._remember(packed)
        else:
            self.forget(secret.key)
        return decoded

    def forget(self, key: Key) -> None:
        """Forget a Secret that no ManagedResource refers to any more."""
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


def _decode(secret: Entry, data: dict[str, str], budget: Budget) -> tuple[DecodedSecret, _Read]:
    before = budget.spent
    decoded = decode_secret(secret.key, data, budget)
    spent = tuple(b - a for a, b in zip(before, budget.spent, strict=True))
    documents = tuple((exact_json(m.obj), m.origin) for m in decoded.manifests)
    names = sorted(name for name in data)
    counts = {n: c.documents for n, c in zip(names, decoded.contents, strict=False)}
    size = sum(len(text) for text, _ in documents)
    return decoded, _Read(
        secret, documents, decoded.errors, decoded.remarks, counts, size + len(secret.raw), spent
    )


def _unpack(read: _Read) -> DecodedSecret:
    data = _data(read.entry)
    return DecodedSecret(
        read.entry.key,
        tuple(Manifest(orjson.loads(text), origin) for text, origin in read.documents),
        read.errors,
        read.remarks,
        tuple(Content(base64.b64decode(data[n]), c) for n, c in read.counts.items()),
    )

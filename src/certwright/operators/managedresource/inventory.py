"""The inventory: which objects belong to a ManagedResource, written before they are.

It stands in ``status.resources``. Before anything new is created, the inventory is extended by
it, so that a crash at any point leaks nothing. A ManagedResource that has no status yet carries
its first inventory in an annotation, set together with the finalizer; it counts only until there
is a status.

``extensions/Deployment`` and ``apps/Deployment`` are one object that two groups show: a manifest
that moves from one to the other must not delete it, so references are compared by `Equivalences`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
import orjson

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import GroupKind, ManagedResource, ObjectReference
from certwright.apply import ObjectRef
from certwright.client import Client
from certwright.kube import GroupVersionKind, JsonObject, Key
from certwright.kube.kinds import ConfigMap
from certwright.kube.redaction import shown_annotations
from certwright.managed.shards import objects_in, read_shard, shards_in

Pair: TypeAlias = tuple[str, str]
"""Group and kind."""

BUILT_IN: Final[tuple[frozenset[Pair], ...]] = tuple(
    frozenset({("extensions", kind), (group, kind)})
    for kind, group in (
        ("Deployment", "apps"),
        ("DaemonSet", "apps"),
        ("ReplicaSet", "apps"),
        ("StatefulSet", "apps"),
        ("Ingress", "networking.k8s.io"),
        ("NetworkPolicy", "networking.k8s.io"),
        ("PodSecurityPolicy", "policy"),
    )
)


class Equivalences:
    """Sets of kinds; no kind is in two of them."""

    def __init__(self, sets: Iterable[Iterable[Pair]] = ()) -> None:
        self._set_of: dict[Pair, frozenset[Pair]] = {}
        for members in sets:
            self._unite(frozenset(members))

    @classmethod
    def of(cls, extra: Sequence[Sequence[GroupKind]] = ()) -> "Equivalences":
        """Return the built-in equivalences and those of a spec.

        A list that shares a member with a set is united with it.
        """
        if not extra:
            return _built_in()
        more = (((item.group, item.kind) for item in members) for members in extra)
        return cls([*BUILT_IN, *more])

    def canonical(self, ref: ObjectRef) -> tuple[str, str, str, str]:
        """Return what is equal for two references exactly if they mean the same object."""
        pair = (ref.group, ref.kind)
        group, kind = min(self._set_of.get(pair, (pair,)))
        return (group, kind, ref.namespace, ref.name)

    def _unite(self, members: frozenset[Pair]) -> None:
        for member in list(members):
            members |= self._set_of.get(member, frozenset())
        for member in members:
            self._set_of[member] = members


@cache
def _built_in() -> Equivalences:
    return Equivalences(BUILT_IN)


MOST_INTENDED: Final = 500
"""How many objects are written ahead in an annotation."""
_INTENT_BYTES: Final = 128 * 1024
"""How large that annotation may be; all annotations together end at 256 KiB."""


def ref_of(reference: ObjectReference) -> ObjectRef:
    """Return which object an entry means."""
    return ObjectRef(reference.api_version, reference.kind, reference.namespace, reference.name)


def reference_to(
    ref: ObjectRef,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> ObjectReference:
    """Return the entry for an object, with the labels and annotations wanted for it."""
    return ObjectReference(
        api_version=ref.api_version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        labels=dict(labels or {}),
        annotations=shown_annotations(ref.api_version, ref.kind, annotations or {}),
    )


def object_key(ref: ObjectRef) -> str:
    """Return ``Group/Kind/Namespace/Name``, by which inventories are sorted."""
    return f"{ref.group}/{ref.kind}/{_shown_namespace(ref)}/{ref.name}"


def object_id(ref: ObjectRef) -> str:
    """Return ``apiVersion/Kind/Namespace/Name``, as messages name objects."""
    return f"{ref.api_version}/{ref.kind}/{_shown_namespace(ref)}/{ref.name}"


def in_order(references: Iterable[ObjectReference]) -> list[ObjectReference]:
    """Return entries sorted byte by byte, the same wherever they came from."""
    return sorted(references, key=lambda entry: object_key(ref_of(entry)).encode())


@dataclass(frozen=True, slots=True)
class Changes:
    """What tells a new inventory from an old one."""

    added: tuple[ObjectReference, ...]
    """Declared now, and not known before."""
    stayed: tuple[tuple[ObjectReference, ObjectReference], ...]
    """Old and new entry of the same object."""
    removed: tuple[ObjectReference, ...]
    """Known before, and not wanted any more."""

    @property
    def objects_before(self) -> int:
        """How many objects there were before the first of those was removed that still remain.

        The inventory alone does not tell, for it also names what is about to be created.
        """
        told = (entry.annotations.get(keys.REMOVED_FROM, "") for entry in self.removed)
        numbers = [int(text) for text in told if text.isascii() and text.isdigit()]
        return max(numbers, default=len(self.removed) + len(self.stayed))

    def marked(self) -> list[ObjectReference]:
        """Return what was removed, each entry with `objects_before` for as long as it remains."""
        if not self.removed:
            return []
        note = {keys.REMOVED_FROM: str(self.objects_before)}
        return [
            msgspec.structs.replace(entry, annotations={**entry.annotations, **note})
            for entry in self.removed
        ]

    @property
    def same(self) -> bool:
        """Whether nothing differs, not even a label."""
        return not self.added and not self.removed and all(a == b for a, b in self.stayed)


def compare(
    old: Iterable[ObjectReference], new: Iterable[ObjectReference], equivalences: Equivalences
) -> Changes:
    """Compare inventories; an object that moved to an equivalent kind stayed."""
    before = {equivalences.canonical(ref_of(entry)): entry for entry in old}
    after = {equivalences.canonical(ref_of(entry)): entry for entry in new}
    return Changes(
        added=tuple(entry for place, entry in after.items() if place not in before),
        stayed=tuple((before[p], entry) for p, entry in after.items() if p in before),
        removed=tuple(entry for place, entry in before.items() if place not in after),
    )


def write_ahead(changes: Changes) -> list[ObjectReference]:
    """Return the inventory to write before the first object: old and new together.

    Objects that stay keep the labels and annotations they were last given, for nothing newer
    has been written yet.
    """
    staying = (
        msgspec.structs.replace(new, labels=old.labels, annotations=_given(old))
        for old, new in changes.stayed
    )
    return in_order([*changes.added, *staying, *changes.marked()])


def _given(entry: ObjectReference) -> dict[str, str]:
    """Return the annotations an object was last given."""
    annotations = entry.annotations
    if keys.REMOVED_FROM not in annotations:
        return annotations
    return {name: value for name, value in annotations.items() if name != keys.REMOVED_FROM}


def afterwards(
    wanted: Iterable[ObjectReference], left: Iterable[ObjectReference]
) -> list[ObjectReference]:
    """Return the inventory to write in the end: what is wanted, and what is left of the rest."""
    found = {ref_of(entry).identity: entry for entry in (*left, *wanted)}
    return in_order(found.values())


def recorded(
    resource: ManagedResource, overflow: Iterable[ObjectReference] = ()
) -> list[ObjectReference]:
    """Return the inventory of a ManagedResource; *overflow* is the part kept beside it.

    The intent counts only while the status has neither inventory nor checksum: later it is old.
    """
    status = resource.status
    inventory = [*objects_in(status.resources), *overflow]
    if not inventory and not status.secrets_data_checksum:
        intent = resource.metadata.annotations.get(keys.INTENT, "")
        return decode_intent(intent, resource.metadata.uid)
    return inventory


async def read_recorded(source: Client, resource: ManagedResource) -> list[ObjectReference]:
    """Return the inventory of a ManagedResource, reading the parts that are kept beside it.

    Raises:
        ValueError, NotFound: a part is missing or was changed.
        ApiError, TransportError: the source cluster does not answer.
    """
    overflow: list[ObjectReference] = []
    for name in shards_in(resource.status.resources):
        key = Key(resource.metadata.namespace, name)
        overflow += read_shard(key, await source.get(ConfigMap, key))
    return recorded(resource, overflow)


def encode_intent(references: Sequence[ObjectReference], uid: str) -> str | None:
    """Return the annotation that holds a first inventory; None if it would be too large.

    *uid* is that of the ManagedResource: annotations are copied and restored, objects are not.
    """
    if len(references) > MOST_INTENDED:
        return None
    names = [
        f"{entry.api_version}/{entry.kind}/{entry.namespace}/{entry.name}" for entry in references
    ]
    encoded = orjson.dumps([uid, *names])
    return encoded.decode() if len(encoded) <= _INTENT_BYTES else None


def decode_intent(text: str, uid: str) -> list[ObjectReference]:
    """Read that annotation; what is not an object in it is left out.

    It holds nothing if it is of another ManagedResource, or of another hand.
    """
    try:
        intended, *names = msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, ValueError):
        return []
    if intended != uid:
        return []
    split = [name.rsplit("/", 3) for name in names]
    return [reference_to(ObjectRef(*parts)) for parts in split if len(parts) == 4]


def _shown_namespace(ref: ObjectRef) -> str:
    if ref.namespace or ref.kind == "Namespace":
        return ref.namespace
    return "default"  # also for cluster scope: so it has always been written


def shape_problem(obj: JsonObject) -> str:
    """Return what keeps an object from being one; what is below its metadata is the server's."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    for name, value in (
        ("apiVersion", obj.get("apiVersion")),
        ("kind", obj.get("kind")),
        ("metadata.name", metadata.get("name")),
    ):
        if not isinstance(value, str) or not value:
            return f"{name} is missing" if value in (None, "") else f"{name} is not a text"
    try:
        GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
    except ValueError:
        return "apiVersion is not of the form version or group/version"
    if not isinstance(metadata.get("namespace") or "", str):
        return "metadata.namespace is not a text"
    for name in ("labels", "annotations"):
        if not _is_text_map(metadata.get(name)):
            return f"metadata.{name} is not a mapping of texts; quote numbers and booleans"
    return ""


def _is_text_map(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())

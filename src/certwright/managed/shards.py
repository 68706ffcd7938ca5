"""Inventories that do not fit into a status: the rest is in ConfigMaps beside it.

An object of the API ends at 1.5 MiB in etcd. The shards of ``x`` are called
``x-inventory-<digest>``, belong to the ManagedResource and go with it. They are written before
the status that names them, and never changed: what a status says is true until the next one.
It names them in ``resources``, among the objects, so that one write changes both, and Gardener's
definition knows the field: ``fieldPath`` says that a part of the ConfigMap is meant.
They are immutable, and the digest in the name is that of the content, so that
one with another content under the same name is noticed. A finalizer keeps one that is deleted
until what it lists is in another.
"""

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import msgspec

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply.objectset.shards import SHARD_BYTES, fill
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap

SHARD_FINALIZER: Final = keys.INVENTORY
_DATA_KEY: Final = "inventory"
FIELD_PATH: Final = f"data.{_DATA_KEY}"
"""Which part of a shard lists objects; by it the entry of a shard is told from those of objects."""
_LONGEST_PREFIX: Final = 225
"""How much of a ManagedResource's name a shard's begins with; names end at 253."""


@dataclass(frozen=True, slots=True)
class Shards:
    """An inventory in parts that fit."""

    inline: list[ObjectReference]
    overflow: list[list[ObjectReference]]


def split(
    references: Sequence[ObjectReference],
    *,
    inline_bytes: int = SHARD_BYTES,
    shard_bytes: int = SHARD_BYTES,
) -> Shards:
    """Divide an inventory, in its order, over the status and as many shards as it takes."""
    inline, *overflow = fill(
        [()],
        references,
        lambda entry: len(msgspec.json.encode(entry)) + 1,
        first_bytes=inline_bytes,
        shard_bytes=shard_bytes,
    )
    return Shards(inline, overflow)


def shard_name(
    resource: ManagedResource,
    entries: Sequence[ObjectReference],
    *,
    known: Container[str] = (),
    going: Collection[str] = (),
) -> str:
    """Return what a shard is called, which follows from its content.

    Of several names that would do, it is one that is *known* to be there, and none of those that
    are *going*.
    """
    prefix = f"{resource.metadata.name[:_LONGEST_PREFIX].rstrip('-.')}-inventory"
    digest = _digest(msgspec.json.encode(entries))
    others = (f"{prefix}-{number}-{digest}" for number in range(1, len(going) + 2))
    names = [name for name in (f"{prefix}-{digest}", *others) if name not in going]
    return next((name for name in names if name in known), names[0])


def shard_entry(key: Key, *, obsolete: bool = False) -> ObjectReference:
    """Return what the status says about a shard; an *obsolete* one is about to be deleted."""
    return ObjectReference(
        api_version=ConfigMap.api_version,
        kind=ConfigMap.kind,
        namespace=key.namespace,
        name=key.name,
        field_path=FIELD_PATH,
        annotations={keys.OBSOLETE: "true"} if obsolete else {},
    )


def objects_in(resources: Iterable[ObjectReference]) -> list[ObjectReference]:
    """Return the entries of a status that name objects."""
    return [entry for entry in resources if entry.field_path != FIELD_PATH]


def shards_in(resources: Iterable[ObjectReference], *, obsolete: bool = False) -> list[str]:
    """Return the names of the shards in a status that count; with *obsolete*, of all."""
    return [
        entry.name
        for entry in resources
        if entry.field_path == FIELD_PATH and (obsolete or keys.OBSOLETE not in entry.annotations)
    ]


def shard_manifest(
    resource: ManagedResource, name: str, entries: Sequence[ObjectReference], *, label: str
) -> JsonObject:
    """Return the ConfigMap that holds a part of an inventory; *label* says whose it is."""
    owner = {
        "apiVersion": ManagedResource.resource.api_version,
        "kind": ManagedResource.resource.kind,
        "name": resource.metadata.name,
        "uid": resource.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": resource.metadata.namespace,
            "name": name,
            "labels": {keys.INVENTORY: label},
            "ownerReferences": [owner],
            "finalizers": [SHARD_FINALIZER],
        },
        "immutable": True,
        "data": {_DATA_KEY: msgspec.json.encode(entries).decode()},
    }


def read_shard(key: Key, config_map: JsonObject | None) -> list[ObjectReference]:
    """Return the part of an inventory that a shard holds.

    Raises:
        ValueError: it is missing or was changed so that it cannot be read. Nothing may be
            deleted or forgotten then: part of what we own is unknown.
    """
    data = (config_map or {}).get("data") or {}
    text = data.get(_DATA_KEY)
    if not text:
        raise ValueError(f"the ConfigMap {key} with a part of the inventory is missing or empty")
    if not key.name.endswith(f"-{_digest(text.encode())}"):
        raise ValueError(f"the ConfigMap {key} with a part of the inventory was changed")
    try:
        return msgspec.json.decode(text, type=list[ObjectReference])
    except msgspec.DecodeError as error:
        raise ValueError(
            f"the ConfigMap {key} with a part of the inventory cannot be read: {error}"
        ) from error


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()

"""Writing inventories that do not fit into a status: the rest goes beside it, first."""

from collections.abc import Sequence
from dataclasses import dataclass

from certwright.api.resources import InventoryReference, ObjectReference
from certwright.kube import Key, NotFound
from certwright.kube.kinds import ConfigMap
from certwright.operators.resources.companions import (
    companion,
    companion_names,
    digest_of,
    split,
)
from certwright.operators.resources.keeper import Look


@dataclass(frozen=True, slots=True)
class Placed:
    """What the status has to say about an inventory."""

    inline: Sequence[ObjectReference]
    companions: Sequence[InventoryReference]


async def place(look: Look, references: Sequence[ObjectReference]) -> Placed:
    """Write what does not fit into the status; return what is to stand there.

    Companions that are no longer needed are deleted later, by `drop_companions`, for the status
    still names them.
    """
    parts = split(references)
    names = companion_names(look.resource, len(parts.companions))
    for name, entries in zip(names, parts.companions, strict=True):
        obj = companion(look.resource, name, entries)
        digest = digest_of(obj)
        if look.remembered.companions.get(name.name) != digest:
            await look.ctx.client.apply(obj)
            look.remembered.companions[name.name] = digest
    return Placed(parts.inline, names)


async def drop_companions(look: Look, placed: Placed) -> None:
    """Delete companions that the status named before and does not name any more."""
    named = {reference.name for reference in placed.companions}
    for reference in look.resource.status.inventory_refs:
        if reference.name in named:
            continue
        look.remembered.companions.pop(reference.name, None)
        try:
            await look.ctx.client.delete(ConfigMap, Key(look.key.namespace, reference.name))
        except NotFound:
            continue

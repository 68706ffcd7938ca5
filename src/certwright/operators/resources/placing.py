"""Writing inventories that do not fit into a status: the rest goes beside it, first."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from certwright.api.resources import InventoryReference, ObjectReference
from certwright.kube import Key, NotFound
from certwright.kube.kinds import ConfigMap
from certwright.operators.resources.companions import companion, companion_name, split
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
    names = [companion_name(look.resource, entries) for entries in parts.companions]
    for name, entries in zip(names, parts.companions, strict=True):
        if name.name not in look.remembered.companions:
            await look.confirm()
            await look.ctx.client.apply(companion(look.resource, name, entries))
            look.remembered.companions[name.name] = entries
    return Placed(parts.inline, names)


async def drop_companions(look: Look, placed: Placed) -> None:
    """Delete companions that the status named before and does not name any more."""
    named = {reference.name for reference in placed.companions}
    for name in sorted(look.remembered.companions.keys() - named):
        with suppress(NotFound):
            await look.ctx.client.delete(ConfigMap, Key(look.key.namespace, name))
        del look.remembered.companions[name]

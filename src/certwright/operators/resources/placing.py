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
            await _write(look, name.name, entries)
    return Placed(parts.inline, names)


async def restore_companions(look: Look) -> None:
    """Write companions again that others deleted or changed: what is remembered is right.

    Raises:
        Conflict: this is an old state of the ManagedResource; look again.
        ApiError, TransportError: one cannot be written now.
    """
    known = look.remembered.companions
    for name in sorted(look.remembered.touched & known.keys()):
        await _write(look, name, known[name])


async def drop_companions(look: Look, placed: Placed) -> None:
    """Delete companions that the status named before and does not name any more."""
    before = {reference.name for reference in look.resource.status.inventory_refs}
    named = {reference.name for reference in placed.companions}
    for name in sorted((before | look.remembered.companions.keys()) - named):
        key = Key(look.key.namespace, name)
        look.keeper.companions.forget(key)
        with suppress(NotFound):
            await look.ctx.client.delete(ConfigMap, key)
        look.remembered.drop_companion(name)


async def _write(look: Look, name: str, entries: Sequence[ObjectReference]) -> None:
    await look.confirm()
    obj = companion(look.resource, name, entries, label=look.keeper.managed_by)
    untouched = await look.keeper.companions.write(obj, look.key)
    look.remembered.note_companion(name, entries, untouched=untouched)

"""Writing inventories that do not fit into a status: the rest goes beside it, first."""

from collections.abc import Sequence
from dataclasses import dataclass

from certwright.api.managedresources import InventoryReference, ObjectReference
from certwright.client import TransportError
from certwright.kube import ApiError, Conflict, Key
from certwright.managed.shards import companion, companion_name, split
from certwright.operators.managedresource.keeper import Look
from certwright.operators.managedresource.status import Update


@dataclass(frozen=True, slots=True)
class Placed:
    """What the status has to say about an inventory."""

    inline: Sequence[ObjectReference]
    companions: Sequence[InventoryReference]
    obsolete: Sequence[InventoryReference]
    """Those it named so far: it does until they are deleted, for else a crash would leave them."""

    @property
    def references(self) -> Sequence[InventoryReference]:
        """What the status says until then."""
        return [*self.companions, *self.obsolete]


class Unplaced(Exception):
    """A part of an inventory cannot be written now: what it lists must not be created."""


async def place(look: Look, references: Sequence[ObjectReference]) -> Placed:
    """Write what does not fit into the status; return what is to stand there.

    Companions that are no longer needed are deleted by `drop_companions`, after that.

    Raises:
        Unplaced: a companion cannot be written.
        Conflict: this is an old state of the ManagedResource; look again.
    """
    parts = split(references)
    names = [companion_name(look.resource, entries) for entries in parts.companions]
    for name, entries in zip(names, parts.companions, strict=True):
        if name.name not in look.remembered.companions:
            await _write(look, name.name, entries)
    before = {reference.name for reference in look.resource.status.inventory_refs}
    unnamed = (before | look.remembered.companions.keys()) - {name.name for name in names}
    obsolete = [InventoryReference(name=name, obsolete=True) for name in sorted(unnamed)]
    return Placed(parts.inline, names, obsolete)


async def restore_companions(look: Look) -> None:
    """Write companions again that others deleted or changed: what is remembered is right.

    Raises:
        Unplaced: one cannot be written.
        Conflict: this is an old state of the ManagedResource; look again.
    """
    known = look.remembered.companions
    for name in sorted(look.remembered.touched & known.keys()):
        await _write(look, name, known[name])


async def drop_companions(look: Look, placed: Placed) -> None:
    """Delete companions that are no longer needed, and then name them no more."""
    for reference in placed.obsolete:
        await look.keeper.companions.delete(Key(look.key.namespace, reference.name))
        look.remembered.drop_companion(reference.name)
    if placed.obsolete:
        await look.write(Update(companions=placed.companions))


async def _write(look: Look, name: str, entries: Sequence[ObjectReference]) -> None:
    await look.confirm()
    obj = companion(look.resource, name, entries, label=look.keeper.managed_by)
    try:
        untouched = await look.keeper.companions.write(obj, look.key)
    except Conflict:
        raise
    except (ApiError, TransportError) as error:
        key = Key(look.key.namespace, name)
        raise Unplaced(
            f"the ConfigMap {key} with a part of the inventory cannot be written: {error}"
        ) from error
    look.remembered.note_companion(name, entries, untouched=untouched)

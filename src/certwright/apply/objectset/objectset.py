"""Objects that belong together under a name: applied, pruned and deleted as one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.apply.changeset import Action, ChangeSet, Entry
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.engine.engine import Engine, OnEntry
from certwright.apply.engine.wanted import Owner, Wanted
from certwright.apply.objectset.inventory import LABEL, Inventories, Inventory
from certwright.apply.objectset.prune import Pruning, plan_pruning
from certwright.apply.refs import ObjectRef

_GONE: Final = frozenset({Action.DELETED, Action.KEPT, Action.UNCHANGED})
"""What became of objects that are not ours to delete any more."""


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """What happens to objects that were applied before and are not wanted any more."""

    prune: bool = False
    doubts: str = ""
    """Why the input may be incomplete; then nothing is deleted."""
    confirmed: bool = False
    """Whether losing most objects at once is meant."""
    rules: DeleteRules = KEEP_NOTHING


KEEP_ALL: Final = PruneOptions()


class Bundle:
    """The objects of one named inventory."""

    def __init__(self, engine: Engine, inventories: Inventories, name: str) -> None:
        self.name = name
        self._engine = engine
        self._inventories = inventories
        self.owner = Owner(LABEL, f"{inventories.namespace}/{name}")

    async def refs(self) -> list[ObjectRef]:
        """Return what the inventory lists."""
        return (await self._inventories.load(self.name)).refs

    async def apply(
        self,
        wanted: Iterable[Wanted],
        *,
        options: PruneOptions = KEEP_ALL,
        dry_run: bool = False,
        on_entry: OnEntry | None = None,
    ) -> ChangeSet:
        """Apply objects, then delete those that were applied before and are not wanted any more.

        Nothing is deleted before everything is applied; see `plan_pruning` for what else
        keeps it.
        """
        objects = list(wanted)
        inventory = await self._inventories.load(self.name)
        recorded, refs = inventory.refs, [one.ref for one in objects]
        if not dry_run:
            possible = [ref for ref in refs if ref.possible]  # the engine refuses the others
            inventory = await self._inventories.add(inventory, possible)
        applied = await self._engine.apply(
            objects, owner=self.owner, dry_run=dry_run, on_entry=on_entry
        )
        doubts = options.doubts or ("" if applied.complete else "not everything could be applied")
        plan = plan_pruning(recorded, refs, doubts=doubts, confirmed=options.confirmed)
        if not options.prune or not plan.allowed:
            return applied | _kept(plan, options, on_entry)
        pruned = await self._delete(
            inventory, plan.unwanted, options.rules, dry_run=dry_run, on_entry=on_entry
        )
        return applied | pruned

    async def delete(
        self,
        *,
        only: Collection[ObjectRef] | None = None,
        rules: DeleteRules = KEEP_NOTHING,
        dry_run: bool = False,
        on_entry: OnEntry | None = None,
    ) -> ChangeSet:
        """Delete all objects of the inventory, or *only* some, and the inventory with the last."""
        inventory = await self._inventories.load(self.name)
        chosen = None if only is None else {ref.identity for ref in only}
        refs = [ref for ref in inventory.refs if chosen is None or ref.identity in chosen]
        return await self._delete(inventory, refs, rules, dry_run=dry_run, on_entry=on_entry)

    async def _delete(
        self,
        inventory: Inventory,
        refs: Sequence[ObjectRef],
        rules: DeleteRules,
        *,
        dry_run: bool,
        on_entry: OnEntry | None,
    ) -> ChangeSet:
        changes = await self._engine.delete(
            refs, owner=self.owner, rules=rules, dry_run=dry_run, on_entry=on_entry
        )
        if not dry_run:
            await self._inventories.discard(inventory, _settled(changes))
        return changes


def _settled(changes: ChangeSet) -> Collection[ObjectRef]:
    return [entry.ref for entry in changes.entries if entry.action in _GONE]


def _kept(plan: Pruning, options: PruneOptions, on_entry: OnEntry | None) -> ChangeSet:
    """Report what is not wanted any more and stays for now."""
    if options.prune:
        entries = [Entry(ref, Action.BLOCKED, plan.held) for ref in plan.unwanted]
    else:
        why = plan.held if options.doubts else "it is not wanted any more; prune to delete it"
        entries = [Entry(ref, Action.KEPT, why) for ref in plan.unwanted]
    for entry in entries:
        if on_entry is not None:
            on_entry(entry, None)
    return ChangeSet.of(entries)

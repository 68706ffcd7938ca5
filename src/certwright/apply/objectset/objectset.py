"""Objects that belong together under a name: applied, pruned and deleted as one.

The order protects what exists: the inventory is written before the first object, the objects are
applied before others are deleted, and nothing is deleted while the input is in doubt.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from certwright.apply.changeset import Action, Change, ChangeSet
from certwright.apply.engine.apply import BeforeWrite
from certwright.apply.engine.declared import Declared, Owner
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.engine.engine import Engine, OnEntry, give_way
from certwright.apply.objectset.inventory import InventoryPort
from certwright.apply.objectset.prune import (
    NO_PRUNE,
    Held,
    PruneOptions,
    Pruning,
    doubts_after,
    plan_pruning,
)
from certwright.apply.refs import ObjectRef

_SETTLED: Final = frozenset({Action.DELETED, Action.KEPT, Action.UNCHANGED})
"""What became of objects that are not ours to delete any more."""
_NOTHING: Final = ChangeSet()
_NOT_DECLARED: Final = "it is not wanted any more; prune to delete it"


@dataclass(frozen=True, slots=True)
class SetChanges:
    """What one pass did about an object set."""

    applied: ChangeSet
    """What is declared."""
    released: ChangeSet = _NOTHING
    """What stays without our mark; ``failed`` where the mark could not be removed."""
    pruned: ChangeSet = _NOTHING
    """What is not declared any more and was deleted, or is on its way out."""
    kept: ChangeSet = _NOTHING
    """What is not declared any more and was not touched."""
    held: Held | None = None
    """Why it is held up, if it is."""
    confirmed: bool = False
    """Whether a confirmation was needed to prune, and given."""
    recorded: Sequence[ObjectRef] = ()
    """What the inventory listed before."""
    remaining: tuple[ObjectRef, ...] = ()
    """What was neither applied nor deleted, and stays in the inventory for now."""

    @property
    def all(self) -> ChangeSet:
        """Everything, in the order in which it happened."""
        return self.applied | self.released | self.pruned | self.kept


class ObjectSet:
    """The objects of one inventory, each marked with its *owner*."""

    def __init__(self, engine: Engine, inventory: InventoryPort, owner: Owner) -> None:
        self._engine = engine
        self._inventory = inventory
        self._owner = owner

    async def refs(self) -> Sequence[ObjectRef]:
        """Return what the inventory lists."""
        return await self._inventory.load()

    async def apply(
        self,
        declared: Iterable[Declared],
        *,
        options: PruneOptions = NO_PRUNE,
        known: Sequence[Change] = (),
        always: bool = False,
        dry_run: bool = False,
        on_entry: OnEntry | None = None,
        before_write: BeforeWrite | None = None,
    ) -> SetChanges:
        """Apply objects, then delete those that were applied before and are not declared any more.

        *known* are declared objects that this pass does not apply, with the reason for each.
        *before_write* is awaited before anything is written to the cluster; what it raises ends
        the pass. See `plan_pruning` for what holds up a deletion.
        """
        objects = list(declared)
        recorded = await self._inventory.load()
        refs = [one.ref for one in objects]
        if not dry_run:
            possible = [ref for ref in refs if ref.possible]  # the engine refuses the others
            await self._inventory.add(possible)
            await give_way(possible)
        applied = ChangeSet(tuple(known)) | await self._engine.apply(
            objects,
            owner=self._owner,
            dry_run=dry_run,
            always=always,
            expected=set(recorded),
            on_entry=on_entry,
            before_write=before_write,
        )
        released = await self._release(recorded, options, dry_run, before_write)
        unreleased = [entry.ref for entry in released.entries] if not released.complete else []
        wanted = [*refs, *(entry.ref for entry in known)]
        await give_way(wanted)
        plan = await self._plan(recorded, wanted, applied, options)
        await give_way(wanted)
        pruned, going = ChangeSet(), plan.deletable if options.prune else ()
        if going:
            pruned = await self._delete(going, options.rules, dry_run, on_entry, before_write)
        may_go = set(going)
        stays = [ref for ref in plan.unwanted if ref not in may_go]
        kept = _kept(stays, plan, options, on_entry)
        settled = _settled(pruned)
        remaining = [ref for ref in (*plan.unwanted, *plan.protected) if ref not in settled]
        untried = {options.same(entry.ref) for entry in known}
        remaining += [ref for ref in recorded if known and options.same(ref) in untried]
        return SetChanges(
            applied,
            released,
            pruned,
            kept,
            held=plan.held,
            confirmed=plan.confirmed,
            recorded=recorded,
            remaining=(*unreleased, *remaining),
        )

    async def delete(
        self,
        *,
        only: Collection[ObjectRef] | None = None,
        rules: DeleteRules = KEEP_NOTHING,
        dry_run: bool = False,
        on_entry: OnEntry | None = None,
        before_write: BeforeWrite | None = None,
    ) -> ChangeSet:
        """Delete all objects of the inventory, or *only* some, and the inventory with the last."""
        recorded = await self._inventory.load()
        chosen = None if only is None else {ref.identity for ref in only}
        refs = [ref for ref in recorded if chosen is None or ref.identity in chosen]
        return await self._delete(refs, rules, dry_run, on_entry, before_write)

    async def discard_missing(self, done: SetChanges) -> None:
        """Strike off what a pass entered and could not bring to the cluster.

        What the inventory listed before stays in it, and so does what cannot be looked at.
        """
        before = {ref.identity for ref in done.recorded}
        missed = [
            entry.ref
            for entry in done.applied.with_action(Action.FAILED, Action.BLOCKED)
            if entry.ref.possible and entry.ref.identity not in before
        ]
        if missed:
            await self._inventory.discard(await self._engine.missing(missed, self._owner))

    async def _release(
        self,
        recorded: Sequence[ObjectRef],
        options: PruneOptions,
        dry_run: bool,  # noqa: FBT001 - private
        before_write: BeforeWrite | None,
    ) -> ChangeSet:
        """Take our mark off objects that are to be left alone from now on."""
        before = {options.same(ref) for ref in recorded} if options.released else set()
        refs = [ref for ref in options.released if options.same(ref) in before]
        if refs and before_write is not None and not dry_run:
            await before_write()
        return await self._engine.release(refs, owner=self._owner, dry_run=dry_run)

    async def _plan(
        self,
        recorded: Sequence[ObjectRef],
        wanted: Sequence[ObjectRef],
        applied: ChangeSet,
        options: PruneOptions,
    ) -> Pruning:
        doubts = options.doubts or doubts_after(
            applied.entries, despite_failures=options.despite_failures
        )
        options = replace(options, doubts=doubts)
        plan = plan_pruning(recorded, wanted, options)
        asks = plan.needs_confirmation or (plan.confirmed and options.confirmed is not True)
        if not options.prune or not asks:
            return plan
        going = {ref for ref in plan.unwanted if await self._engine.is_terminating(ref)}
        return plan_pruning(recorded, wanted, options, terminating=going) if going else plan

    async def _delete(
        self,
        refs: Sequence[ObjectRef],
        rules: DeleteRules,
        dry_run: bool,  # noqa: FBT001 - private
        on_entry: OnEntry | None,
        before_write: BeforeWrite | None,
    ) -> ChangeSet:
        if refs and before_write is not None and not dry_run:
            await before_write()
        changes = await self._engine.delete(
            refs, owner=self._owner, rules=rules, dry_run=dry_run, on_entry=on_entry
        )
        if not dry_run:
            await self._inventory.discard(_settled(changes))
        return changes


def _settled(changes: ChangeSet) -> set[ObjectRef]:
    return {entry.ref for entry in changes.entries if entry.action in _SETTLED}


def _kept(
    refs: Sequence[ObjectRef], plan: Pruning, options: PruneOptions, on_entry: OnEntry | None
) -> ChangeSet:
    """Report what is not declared any more and stays for now."""
    if options.prune:
        entries = [Change(ref, Action.BLOCKED, str(plan.held)) for ref in refs]
        entries += [Change(ref, Action.KEPT, options.protected(ref)) for ref in plan.protected]
    else:
        why = str(plan.held) if options.doubts else _NOT_DECLARED
        entries = [Change(ref, Action.KEPT, why) for ref in (*refs, *plan.protected)]
    for entry in entries:
        if on_entry is not None:
            on_entry(entry, None)
    return ChangeSet.of(entries)

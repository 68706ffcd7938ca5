"""What would become of objects that are no longer wanted: the part of a preview that takes away.

The decisions are those of `pruning`, which carries them out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import Action, ChangeSet, Direct, Engine, Entry, ObjectRef, Owner
from certwright.kube import NotFound
from certwright.operators.managedresource.configuration import Controllers
from certwright.operators.managedresource.declared import Desired, Mode
from certwright.operators.managedresource.guards import PruneGuard
from certwright.operators.managedresource.inventory import Equivalences, compare, ref_of
from certwright.operators.managedresource.policy import Plan, delete_rules
from certwright.operators.managedresource.status import objects_before


@dataclass(frozen=True, slots=True)
class Leaving:
    """Objects that were applied before and are not any more."""

    removed: tuple[ObjectReference, ...]
    """No longer wanted."""
    released: tuple[ObjectReference, ...]
    """To be left alone from now on."""

    @classmethod
    def of(
        cls,
        inventory: Iterable[ObjectReference],
        plan: Plan,
        desired: Desired,
        equivalences: Equivalences,
    ) -> "Leaving":
        """Compare what is recorded with what is wanted."""
        same = equivalences.canonical
        ignored = {same(ref) for ref in desired.released}
        gone = compare(inventory, plan.inventory, equivalences).removed
        return cls(
            tuple(entry for entry in gone if same(ref_of(entry)) not in ignored),
            tuple(entry for entry in gone if same(ref_of(entry)) in ignored),
        )


class Farewell:
    """Finds out what a pass would do about objects that leave, with dry runs."""

    def __init__(self, cluster: Direct, resource: ManagedResource, settings: Controllers) -> None:
        guard = settings.managed_resource.prune_guard
        self.objections: list[str] = []
        """Why nothing is deleted before somebody agrees."""
        self.assumption = (
            "assumed of the resource manager: deleting more than"
            f" {guard.percent} % of {guard.objects} or more objects has to be confirmed, and "
            + ("a" if settings.garbage_collector.runs else "no")
            + " garbage collector runs; its configuration may say otherwise"
        )
        self._guard = PruneGuard(guard.objects, guard.percent)
        self._cluster = cluster
        self._resource = resource
        self._garbage_collected = settings.garbage_collector.runs

    def none(self, leaving: Leaving, why: str) -> ChangeSet:
        """Return what becomes of objects while nothing is deleted."""
        return _released(leaving) | _waiting(map(ref_of, leaving.removed), why)

    async def take(
        self, engine: Engine, owner: Owner, leaving: Leaving, *, before: int
    ) -> ChangeSet:
        """Return what becomes of objects; *before* is how many the inventory lists."""
        held = await self._unconfirmed(leaving.removed, before)
        may_not = set(held)
        going = [ref for entry in leaving.removed if (ref := ref_of(entry)) not in may_not]
        rules = delete_rules(
            self._resource, leaving.removed, garbage_collected=self._garbage_collected
        )
        deleted = await engine.delete(going, owner=owner, rules=rules, dry_run=True)
        return _released(leaving) | deleted | _waiting(held, "it waits for a confirmation")

    async def _unconfirmed(
        self, removed: Sequence[ObjectReference], listed: int
    ) -> list[ObjectRef]:
        """Return what may not be deleted before somebody agrees."""
        before = objects_before(msgspec.to_builtins(self._resource.status), listed)
        if not self._guard.objection(before=before, removed=len(removed), confirmed=None):
            return []
        staying = [ref for entry in removed if not await self._is_going(ref := ref_of(entry))]
        answer = self._resource.metadata.annotations.get(keys.CONFIRM_PRUNE)
        objection = self._guard.objection(before=before, removed=len(staying), confirmed=answer)
        if not objection:
            return []
        self.objections.append(f"nothing is deleted before that is confirmed: {objection}")
        return staying

    async def _is_going(self, ref: ObjectRef) -> bool:
        """Return whether an object is gone, or on its way out, which nobody can stop."""
        try:
            live = await self._cluster.read(await self._cluster.resource(ref.gvk), ref.key)
        except NotFound:
            return False  # the engine tells
        return live is None or live.deleting


def _released(leaving: Leaving) -> ChangeSet:
    why = f"its mode is {Mode.IGNORE} now: it is released"
    return ChangeSet.of(Entry(ref_of(entry), Action.KEPT, why) for entry in leaving.released)


def _waiting(refs: Iterable[ObjectRef], why: str) -> ChangeSet:
    return ChangeSet.of(Entry(ref, Action.BLOCKED, why) for ref in refs)

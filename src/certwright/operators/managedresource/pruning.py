"""What is no longer wanted: released, or deleted unless there is any doubt that it should be."""

from collections.abc import Sequence
from contextlib import suppress

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ObjectReference
from certwright.apply import Entry as Change
from certwright.apply import ObjectRef
from certwright.client import TransportError
from certwright.kube import ApiError, NotFound
from certwright.operators.managedresource import inventory
from certwright.operators.managedresource.deletion import lingering
from certwright.operators.managedresource.gathering import Facts
from certwright.operators.managedresource.guards import PruneGuard, in_doubt
from certwright.operators.managedresource.inventory import ref_of
from certwright.operators.managedresource.keeper import Look
from certwright.operators.managedresource.messages import Lingering
from certwright.operators.managedresource.policy import delete_rules
from certwright.operators.managedresource.releasing import release
from certwright.operators.managedresource.status import objects_before


class Pruning:
    """Takes leave of what one pass does not want any more, and keeps account of it."""

    def __init__(self, look: Look, facts: Facts) -> None:
        self.lingering: list[Lingering] = []
        """Objects that are no longer wanted and still there."""
        self.left: list[ObjectReference] = []
        """What stays in the inventory though it is not wanted."""
        self.unreleased: list[str] = []
        """Which objects could not be released, and why."""
        self.objection = ""
        """Why nothing is deleted before somebody agrees."""
        self.before = objects_before(look.obj.get("status"), len(facts.inventory))
        """How many objects there were."""
        self._look = look
        self._facts = facts
        self._keeper = look.keeper
        self._confirmed = False

    async def release(self) -> None:
        """Take our name off objects that are to be ignored from now on."""
        same = self._facts.equivalences.canonical
        before = {same(ref_of(entry)) for entry in self._facts.inventory}
        for ref in self._facts.desired.released:
            if same(ref) in before:
                await self._look.confirm()
                try:
                    with suppress(NotFound):  # and neither is its kind, perhaps
                        await release(self._keeper.cluster, ref, self._look.origin)
                    self._keeper.let_go([ref])
                except (ApiError, TransportError) as error:
                    self.unreleased.append(f'"{inventory.object_id(ref)}": {error}')

    async def prune(self, changes: Sequence[Change]) -> None:
        """Delete what is no longer wanted; *changes* tell what became of what is."""
        same = self._facts.equivalences.canonical
        released = {same(ref) for ref in self._facts.desired.released}
        removed = [e for e in self._facts.changes.removed if same(ref_of(e)) not in released]
        unreleased = [e for e in self._facts.changes.removed if same(ref_of(e)) in released]
        self.left = unreleased if self.unreleased else []
        if not removed:
            return
        if in_doubt(self._facts.desired, self._facts.plan, changes):
            self.left += removed
            return
        held = await self._unconfirmed(removed)
        self.left += held
        may_not = {ref_of(entry) for entry in held}
        if may_go := [entry for entry in removed if ref_of(entry) not in may_not]:
            await self._delete(may_go)

    async def use_up(self) -> None:
        """Take back the confirmation of a deletion that was made: it holds for that one only."""
        if self._confirmed and not any(item.failed for item in self.lingering):
            annotations = {keys.CONFIRM_PRUNE: None}
            await self._look.ctx.patch(self._look.obj, {"metadata": {"annotations": annotations}})

    async def _unconfirmed(self, removed: list[ObjectReference]) -> list[ObjectReference]:
        """Return what may not be deleted before somebody agrees."""
        settings = self._keeper.configuration.controllers.managed_resource.prune_guard
        guard = PruneGuard(settings.objects, settings.percent)
        if not guard.objection(before=self.before, removed=len(removed), confirmed=None):
            return []
        staying = [entry for entry in removed if not await self._is_going(ref_of(entry))]
        amount = {"before": self.before, "removed": len(staying)}
        answer = self._look.resource.metadata.annotations.get(keys.CONFIRM_PRUNE)
        self.objection = guard.objection(**amount, confirmed=answer)
        self._confirmed = not self.objection and bool(guard.objection(**amount, confirmed=None))
        return staying if self.objection else []

    async def _is_going(self, ref: ObjectRef) -> bool:
        """Return whether an object is gone, or on its way out, which nobody can stop."""
        cluster = self._keeper.cluster
        with suppress(ApiError, TransportError, ValueError):  # the engine tells
            resource = await cluster.resource(ref.gvk)
            live = await cluster.read(resource, ref.key)
            if live is None:  # or it has lost our label
                live = await cluster.read(resource, ref.key, fresh=True)
            return live is None or live.deleting
        return False

    async def _delete(self, removed: list[ObjectReference]) -> None:
        await self._look.confirm()
        result = await self._keeper.engine.delete(
            [ref_of(entry) for entry in removed],
            owner=self._look.owner,
            rules=delete_rules(
                self._look.resource, removed, garbage_collected=self._keeper.garbage_collected
            ),
            on_entry=lambda entry, _live: self._keeper.metrics.applied(entry.action),
        )
        self.lingering = lingering(result)
        still = {item.ref.identity for item in self.lingering}
        self.left += [e for e in removed if ref_of(e).identity in still]

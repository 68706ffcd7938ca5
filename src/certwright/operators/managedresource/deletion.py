"""The end of a ManagedResource: its objects are deleted, and then our finalizer is released.

It happens when a ManagedResource is deleted, and when it changes to a class of another instance.
The inventory alone says what goes; the Secrets may be gone already.
"""

from collections.abc import Sequence
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ObjectReference
from certwright.apply import Action, ChangeSet, InventoryError
from certwright.client import TransportError
from certwright.keep import KeptSets
from certwright.kube import ApiError, JsonObject, Key, NotFound
from certwright.kube.kinds import Namespace
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.configuration import Controllers
from certwright.operators.managedresource.decision import ResourceClass, is_deleting
from certwright.operators.managedresource.health import ResourceMetrics
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.messages import PendingDeletion
from certwright.operators.managedresource.ownership import Owners
from certwright.operators.managedresource.policy import delete_rules
from certwright.operators.managedresource.shards import (
    ShardStore,
    drop_shards,
    place,
    read_inventory,
    release_shards,
)
from certwright.operators.managedresource.state import Pass, ResourceState
from certwright.operators.managedresource.status import (
    APPLIED,
    ConditionUpdate,
    Report,
    Update,
)
from certwright.runtime import DONE, Backoff, Outcome, again

PENDING_SECONDS: Final = 5.0
"""How often objects that are being deleted are looked at, should no event come."""


class ResourceDeletion:
    """Deletes the objects of ManagedResources, and forgets these."""

    def __init__(
        self,
        settings: Controllers,
        kept: KeptSets[ResourceState],
        shards: ShardStore,
        owners: Owners,
        metrics: ResourceMetrics,
        backoff: Backoff,
    ) -> None:
        self._class = ResourceClass(settings.resource_class)
        self._label = settings.managed_resource.managed_by_label_value
        self._garbage_collected = settings.garbage_collector.runs
        self._kept = kept
        self._shards = shards
        self._owners = owners
        self._metrics = metrics
        self._backoff = backoff

    async def delete(self, pass_: Pass) -> Outcome:
        """Delete the objects, unless they are to be kept, and release the finalizer."""
        finalizers = self._class.held(pass_.resource)
        if not finalizers:
            await self._announce(pass_, finalizers)
            return self.forget(pass_.key)
        if pass_.resource.spec.keep_objects:
            self._kept.let_go(map(ref_of, recorded(pass_.resource)))
            await self._announce(pass_, finalizers)
            return await self._release(pass_, finalizers)
        try:
            inventory = await read_inventory(pass_, self._shards)
        except (InventoryError, ApiError, TransportError) as error:
            await self._report(pass_, messages.deletion_failed(str(error)))
            return pass_.later(self._backoff).as_failure()
        rest = [entry for entry in inventory if ref_of(entry) not in pass_.state.deleted]
        if rest and not messages.is_being_deleted(pass_.status):
            before = pass_.status.condition(APPLIED)
            await self._write_conditions(pass_, *messages.being_deleted(before))
        result = await self._delete(pass_, rest)
        pending = messages.pending_deletions(result)
        if any(item.failed for item in pending) and await self._loses_rights(pass_):
            pending = await self._let_go(pass_, pending)
        pass_.state.deleted |= {*map(ref_of, rest)} - {item.ref for item in pending}
        self._metrics.blocked(pass_.key, len(pending))
        if not pending:
            await self._announce(pass_, finalizers)
            return await self._release(pass_, finalizers)
        slow = ChangeSet.of(result.with_action(Action.BLOCKED, Action.FAILED))
        return await self._wait(pass_, pending, Report.of(slow, total=len(inventory)))

    async def _announce(self, pass_: Pass, finalizers: Sequence[str]) -> None:
        """Report that a deletion goes on, if finalizers of others will hold it after ours."""
        others = set(pass_.resource.metadata.finalizers).difference(finalizers)
        if is_deleting(pass_.resource) and others:
            keep = bool(pass_.resource.spec.keep_objects)
            await self._write_conditions(pass_, *messages.being_deleted(keep_objects=keep))

    async def _loses_rights(self, pass_: Pass) -> bool:
        """Return whether the account goes with its namespace, whose bindings cannot come back."""
        if not pass_.state.user or not is_deleting(pass_.resource):
            return False
        try:
            namespace = await pass_.ctx.client.get(Namespace, Key("", pass_.key.namespace))
        except NotFound:
            return True
        except (ApiError, TransportError):
            return False
        return "deletionTimestamp" in namespace["metadata"]

    async def _let_go(
        self, pass_: Pass, pending: Sequence[PendingDeletion]
    ) -> list[PendingDeletion]:
        """Leave what the account may not read any more, so that its namespace can go."""
        left = await pass_.actor.cluster.forbidden(item.ref for item in pending)
        if left:
            text = messages.left_behind([*left])
            pass_.ctx.log.warning(text, user=pass_.state.user)
            pass_.ctx.event(pass_.obj, "Warning", "ObjectsLeft", text)
        self._kept.let_go(left)
        return [item for item in pending if item.ref not in left]

    async def abandon(self, key: Key) -> Outcome:
        """Forget a ManagedResource that is gone; its shards are gone, or about to be."""
        known = self._kept.states.known(key)
        while known is not None and known.touched:  # of another it may be told meanwhile
            name = min(known.touched)
            await self._shards.release(Key(key.namespace, name))
            known.touched.discard(name)
        return self.forget(key)

    def forget(self, key: Key) -> Outcome:
        """Forget a ManagedResource that is gone or not ours."""
        for name in self._kept.states.of(key).shards:
            self._shards.forget(Key(key.namespace, name))
        self._kept.states.forget(key)
        self._metrics.forget(key)
        return DONE

    async def _delete(self, pass_: Pass, inventory: Sequence[ObjectReference]) -> ChangeSet:
        if inventory:
            await pass_.confirm()
        return await pass_.actor.engine.delete(
            [ref_of(entry) for entry in inventory],
            owner=self._owners.of(pass_.key, pass_.ctx.client),
            rules=delete_rules(
                pass_.resource, inventory, garbage_collected=self._garbage_collected
            ),
            on_entry=self._metrics.count,
        )

    async def _release(self, pass_: Pass, finalizers: Sequence[str]) -> Outcome:
        rest = [name for name in pass_.resource.metadata.finalizers if name not in finalizers]
        metadata: JsonObject = {"finalizers": rest}
        if not is_deleting(pass_.resource):  # the next instance has another target
            nothing = await place(pass_, self._shards, self._label, ())
            await pass_.status.write(Update(resources=nothing.entries))
            await drop_shards(pass_, self._shards, nothing)
            metadata["annotations"] = {keys.INTENT: None}
        else:
            await release_shards(pass_, self._shards)
        await pass_.ctx.patch(pass_.obj, {"metadata": metadata})
        return self.forget(pass_.key)

    async def _wait(
        self, pass_: Pass, pending: Sequence[PendingDeletion], report: Report
    ) -> Outcome:
        """Report what is still there; events and a timer lead to the next attempt."""
        now, state = pass_.ctx.clock.monotonic(), pass_.state
        condition = messages.deletion_pending(pending)
        if state.note_pending(frozenset(item.news for item in pending), now):
            await self._report(pass_, condition, report)
        if state.is_stuck(now):
            pass_.ctx.event(pass_.obj, "Warning", "DeletionBlocked", condition.message)
        if any(item.failed for item in pending):
            return pass_.later(self._backoff).as_failure()
        return again(PENDING_SECONDS)

    async def _report(
        self, pass_: Pass, condition: ConditionUpdate, report: Report | None = None
    ) -> None:
        updates = [condition, *messages.being_deleted(keep_objects=True)]
        await self._write_conditions(pass_, *updates, report=report)

    async def _write_conditions(
        self, pass_: Pass, *updates: ConditionUpdate, report: Report | None = None
    ) -> None:
        conditions = messages.with_summary(pass_.status, updates)
        await pass_.status.write(Update(conditions=conditions, report=report))

"""Taking leave: the objects of a ManagedResource go, and then our finalizer.

It happens when a ManagedResource is deleted, and when it changes to a class of another instance.
The inventory alone says what goes; the Secrets may be gone already.
"""

from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ObjectReference
from certwright.apply import Action, ChangeSet
from certwright.client import TransportError
from certwright.kube import ApiError, JsonObject
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.decision import is_deleting
from certwright.operators.managedresource.gathering import InventoryLost, known_inventory
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.keeper import Look
from certwright.operators.managedresource.messages import Lingering
from certwright.operators.managedresource.policy import delete_rules
from certwright.operators.managedresource.shards import drop_companions, place
from certwright.operators.managedresource.status import APPLIED, ConditionUpdate, Report, Update
from certwright.runtime import DONE, Outcome, again

LINGER_SECONDS: Final = 5.0
"""How often objects that are being deleted are looked at, should no event come."""


def lingering(result: ChangeSet) -> list[Lingering]:
    """Return what a deletion left, and why."""
    return [
        Lingering(change.ref, change.reason, failed=change.action is Action.FAILED)
        for change in result.with_action(Action.BLOCKED, Action.FAILED)
    ]


class Departure:
    """The end of our care for one ManagedResource."""

    def __init__(self, look: Look) -> None:
        self._look = look

    async def leave(self) -> Outcome:
        """Delete the objects, unless they are to be kept, and release the finalizer."""
        look = self._look
        held = look.keeper.our_class.held(look.resource)
        if not held:
            look.keeper.forget(look.key)
            return DONE
        if look.resource.spec.keep_objects:
            look.keeper.let_go(map(ref_of, recorded(look.resource)))
            return await self._release(held)
        try:
            inventory = await known_inventory(look)
        except (InventoryLost, ApiError, TransportError) as error:
            return await self._stuck(str(error))
        rest = [entry for entry in inventory if ref_of(entry) not in look.remembered.gone]
        result = await self._delete(rest)
        left = lingering(result)
        look.remembered.gone |= {*map(ref_of, rest)} - {item.ref for item in left}
        look.keeper.metrics.blocked(look.key, len(left))
        if not left:
            return await self._release(held)
        slow = ChangeSet.of(result.with_action(Action.BLOCKED, Action.FAILED))
        return await self._wait(left, Report.of(slow, total=len(inventory)))

    async def _delete(self, inventory: list[ObjectReference]) -> ChangeSet:
        look, keeper = self._look, self._look.keeper
        if inventory:
            await look.confirm()
        rules = delete_rules(look.resource, inventory, garbage_collected=keeper.garbage_collected)
        return await keeper.engine.delete(
            [ref_of(entry) for entry in inventory],
            owner=look.owner,
            rules=rules,
            on_entry=lambda entry, _live: keeper.metrics.applied(entry.action),
        )

    async def _release(self, held: list[str]) -> Outcome:
        look = self._look
        rest = [name for name in look.resource.metadata.finalizers if name not in held]
        metadata: JsonObject = {"finalizers": rest}
        if not is_deleting(look.resource):  # who comes next has another target
            nothing = await place(look, ())
            await look.write(Update(resources=(), companions=nothing.references))
            await drop_companions(look, nothing)
            metadata["annotations"] = {keys.INTENT: None}
        await look.ctx.patch(look.obj, {"metadata": metadata})
        look.keeper.forget(look.key)
        return DONE

    async def _wait(self, left: list[Lingering], report: Report) -> Outcome:
        """Return what is still there; events and a timer bring us back."""
        look, remembered, now = self._look, self._look.remembered, self._look.ctx.clock.monotonic()
        claim = messages.deletion_pending(left)
        if remembered.lingers(frozenset(item.news for item in left), now):
            await self._say(claim, report)
        if remembered.is_stuck(now):
            look.ctx.event(look.obj, "Warning", "DeletionBlocked", claim.message)
        if claim.status == "False":
            return look.later()
        return again(LINGER_SECONDS)

    async def _stuck(self, problem: str) -> Outcome:
        await self._say(ConditionUpdate(APPLIED, "False", "DeletionFailed", problem), None)
        return self._look.later()

    async def _say(self, claim: ConditionUpdate, report: Report | None) -> None:
        said = [claim, *messages.being_deleted(claim, keep_objects=True)]
        await self._look.write(Update(claims=[*said, self._look.summary(said)], report=report))

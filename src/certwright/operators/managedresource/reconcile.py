"""One pass over one ManagedResource: facts are gathered, decided on, acted upon, and reported.

The order protects what exists. The inventory is written before the first object, the objects
are applied before others are deleted, nothing is deleted while anything about the input is in
doubt, and one status write at the end says what became of it all.
"""

import asyncio

from certwright.api.managedresources import ManagedResource
from certwright.client import TransportError
from certwright.kube import ApiError, Conflict, Key, NotFound
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.applying import Application
from certwright.operators.managedresource.decision import Decision, Step, decide, hindrance
from certwright.operators.managedresource.deletion import LINGER_SECONDS, Departure
from certwright.operators.managedresource.gathering import (
    Facts,
    InventoryLost,
    gather,
    read_secrets,
)
from certwright.operators.managedresource.judging import judge
from certwright.operators.managedresource.keeper import Keeper, Look, OutOfDate
from certwright.operators.managedresource.shards import Unplaced, restore_companions
from certwright.operators.managedresource.state import Settled
from certwright.operators.managedresource.status import ConditionUpdate, Update
from certwright.runtime import DONE, WAIT, Context, Outcome, again


class Reconciler:
    """The function behind the controller ``managedresource``."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make the objects of a ManagedResource as they should be."""
        keeper = self._keeper
        if keeper.memories.is_settled(key):
            return DONE
        entry = ctx.store(ManagedResource).get(key)
        if entry is None:
            keeper.forget(key)
            return DONE
        look = await Look.at(keeper, ctx, entry)
        look.remembered.retry_at = 0.0
        decision = decide(look.resource, keeper.our_class)
        if look.remembered.touched and (problem := await self._restore(look, decision.step)):
            await self._say(look, messages.apply_failed([problem]))
            return look.later()
        match decision.step:
            case Step.NOTHING:
                keeper.forget(key)
                keeper.memories.of(key).settled = Settled(((look.store, entry),))
                return DONE
            case Step.WAIT_FOR_HANDOVER:
                return WAIT
            case Step.SAY_IGNORED:
                await look.write(Update(claims=messages.ignored()))
                return DONE
            case Step.DELETE:
                return await Departure(look).leave()
            case Step.JUDGE:
                return await self._judge(look)
            case Step.RECONCILE:
                return await self._reconcile(look, decision)

    async def _judge(self, look: Look) -> Outcome:
        try:
            await judge(look, hindrance=messages.suspended())
        except InventoryLost as error:
            await self._say(look, messages.apply_failed([str(error)]))
            return look.later()
        return DONE

    async def _restore(self, look: Look, step: Step) -> str:
        """Restore what others took from the inventory; return what keeps us from it.

        Whose objects go needs it only after a crash: whether it can be written, in a namespace
        that goes, too, must not keep them.
        """
        if step not in {Step.RECONCILE, Step.JUDGE, Step.DELETE}:
            return ""
        try:
            await restore_companions(look)
        except Unplaced as error:
            return "" if step is Step.DELETE else str(error)
        return ""

    async def _reconcile(self, look: Look, decision: Decision) -> Outcome:
        look.remembered.gone.clear()  # a class that was given up and asked for again
        look.remembered.disturbed = False
        blocked = self._hindrance(look)
        if blocked is not None:
            await look.write(Update(claims=[look.summary([], blocked)]))
            return WAIT
        try:
            secrets = await read_secrets(look)
        except NotFound as error:
            await self._say(look, messages.cannot_read_secret(str(error)))
            return WAIT  # its creation wakes us
        except (ApiError, TransportError) as error:
            await self._say(look, messages.cannot_read_secret(str(error)))
            return look.later()
        try:
            facts = await gather(look, secrets)
        except (InventoryLost, ApiError, TransportError) as error:
            await self._say(look, messages.apply_failed([str(error)]))
            return look.later()
        return await self._apply(look, facts, decision)

    def _hindrance(self, look: Look) -> ConditionUpdate | None:
        if not look.resource.spec.depends_on:
            return None
        namespace = look.key.namespace
        found = hindrance(
            look.resource, lambda name: look.ctx.get(ManagedResource, Key(namespace, name))
        )
        if found is None:
            return None
        return messages.dependency_not_ready(found.message, cyclic=found.cyclic)

    async def _say(self, look: Look, claim: ConditionUpdate) -> None:
        await look.write(Update(claims=[claim, look.summary([claim])]))

    async def _apply(self, look: Look, facts: Facts, decision: Decision) -> Outcome:
        application = Application(look, facts)
        try:
            await self._carry_out(application, decision)
        except OutOfDate as error:
            raise Conflict(str(error)) from error
        except Unplaced as error:
            await self._say(look, messages.apply_failed([str(error)]))
            return look.later()
        return self._outcome(look, application)

    async def _carry_out(self, application: Application, decision: Decision) -> None:
        await application.write_ahead(clear_operation=decision.clear_operation)
        await asyncio.sleep(0)  # between steps that may go over thousands of objects
        await application.apply()
        await asyncio.sleep(0)
        await application.prune()
        await asyncio.sleep(0)
        await application.report()

    def _outcome(self, look: Look, application: Application) -> Outcome:
        remembered = look.remembered
        if application.failed or application.waiting:
            return look.later()
        remembered.failures = 0
        waits = [LINGER_SECONDS] if application.lingering else []
        if application.damped_seconds:
            waits.append(application.damped_seconds)
        return again(min(waits)) if waits else DONE

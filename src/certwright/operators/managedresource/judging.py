"""Saying how the objects of a ManagedResource are: after each pass, and whenever they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certwright.api.managedresources import ManagedResource
from certwright.apply import Live, ObjectRef
from certwright.keep.health import Judgement
from certwright.kube import Key
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.decision import is_deleting, is_ignored
from certwright.operators.managedresource.gathering import InventoryLost, known_inventory
from certwright.operators.managedresource.inventory import in_order, ref_of
from certwright.operators.managedresource.keeper import Keeper, Look
from certwright.operators.managedresource.status import APPLIED, ConditionUpdate, Report, Update
from certwright.runtime import DONE, Context, Outcome, again


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to be said about the health of objects."""

    judgement: Judgement

    @property
    def claims(self) -> list[ConditionUpdate]:
        """What the two conditions say."""
        return messages.judged(self.judgement.health, self.judgement.progress)

    def added_to(self, report: Report) -> Report:
        """Return a report with what is known about health."""
        return report.with_health(self.judgement.health, self.judgement.progress)


async def judge_objects(
    look: Look, refs: Sequence[ObjectRef], known: Mapping[ObjectRef, Live] | None = None
) -> Judged:
    """Judge objects and count them; *known* are states that no store holds."""
    remembered = look.remembered
    judgement, remembered.unwatched = await look.keeper.checks.judge(
        refs, remembered.unwatched, known
    )
    look.keeper.metrics.judged(look.key, judgement.counts())
    return Judged(judgement)


async def judge(look: Look, *, hindrance: ConditionUpdate | None = None) -> bool:
    """Judge the whole inventory and write what changed, if it is applied and ours to judge.

    Returns whether everything is there but for what others keep deleting: that comes in its time.

    Raises:
        InventoryLost: a part of the inventory is gone, so nobody knows what to judge.
    """
    said: list[ConditionUpdate] = []
    complete = True
    report: Report | None = None
    if look.said(APPLIED).status == "True" and look.keeper.judges:
        refs = [ref_of(entry) for entry in in_order(await known_inventory(look))]
        judged = await judge_objects(look, refs)
        said = judged.claims
        report = judged.added_to(Report.recorded(look.obj.get("status") or {}))
        complete = not any(look.may_repair(ref) for ref in judged.judgement.missing())
    await look.write(Update(claims=[*said, look.summary(said, hindrance)], report=report))
    return complete


class Judge:
    """The function behind the controller ``health``."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Judge the objects of a ManagedResource that is applied."""
        memories = self._keeper.memories
        if memories.is_judged(key):
            return DONE
        settled = memories.is_settled(key)
        with memories.judging(key):
            return await self._judge(ctx, key, settled=settled)

    async def _judge(self, ctx: Context, key: Key, *, settled: bool) -> Outcome:
        entry = ctx.store(ManagedResource).get(key)
        if entry is None:
            return DONE
        look = await Look.at(self._keeper, ctx, entry)
        if not self._is_due(look):
            return DONE
        suspended = messages.suspended() if look.resource.spec.suspend else None
        try:
            complete = await judge(look, hindrance=suspended)
        except InventoryLost:
            return DONE  # whoever applies says so
        if not complete:
            self._keeper.memories.unsettle(key)
            self._keeper.wake_apply(key)
        elif settled:
            look.remembered.follow(entry, look.unchanged())
        period = self._keeper.configuration.controllers.health.sync_period
        return again(period) if look.remembered.unwatched is not None and period else DONE

    def _is_due(self, look: Look) -> bool:
        """Return whether the health of a ManagedResource is our business, and can be judged."""
        resource = look.resource
        return (
            self._keeper.our_class.responsible(resource)
            and not is_ignored(resource)
            and not is_deleting(resource)
            and look.said(APPLIED).status == "True"
        )

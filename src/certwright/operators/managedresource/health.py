"""How the objects of ManagedResources are: judged after each pass and whenever they change.

What drifted of a large set is repaired here as well, without a pass over all of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.apply import Action, Change, InventoryError, Live, ObjectRef
from certwright.apply.health import Health
from certwright.keep import KeptSets
from certwright.keep.health import Judgement
from certwright.keep.repair import repair_drift
from certwright.kube import Key
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.configuration import Controllers
from certwright.operators.managedresource.decision import (
    ResourceClass,
    is_deleting,
    is_ignored,
    is_suspended,
)
from certwright.operators.managedresource.inventory import in_order, ref_of
from certwright.operators.managedresource.ownership import Owners
from certwright.operators.managedresource.shards import ShardStore, read_inventory
from certwright.operators.managedresource.state import Actors, Pass, ResourceState
from certwright.operators.managedresource.status import APPLIED, ConditionUpdate, Report, Update
from certwright.runtime import DONE, Backoff, Context, Metrics, Outcome, again

_PREFIX: Final = "certwright_managed_resource_"


async def repair(
    ctx: Context,
    key: Key,
    kept: KeptSets[ResourceState],
    owners: Owners,
    metrics: "ResourceMetrics",
) -> bool:
    """Repair a few objects of a large set; return False if it takes a pass."""
    state = kept.states.known(key)
    if state is None or not state.declared:
        return False
    repairs = await repair_drift(kept, key, owners.of(key, ctx.client), metrics.count)
    if repairs is None:
        return False
    entry = ctx.store(ManagedResource).get(key)
    if repairs.changes and entry is not None:
        metrics.repairs.inc(len(repairs.changes))
        metrics.fights.inc(repairs.fights)
        # All that an event needs: to decode a large inventory would cost more than the repair.
        metadata = {"namespace": key.namespace, "name": key.name, "uid": entry.uid}
        kind = ManagedResource.resource
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        ctx.event(obj, "Normal", "Repaired", messages.restored(repairs.changes))
    return True


class HealthController:
    """Judges the objects of ManagedResources that are applied."""

    def __init__(
        self,
        settings: Controllers,
        kept: KeptSets[ResourceState],
        shards: ShardStore,
        metrics: "ResourceMetrics",
        actors: Actors,
        backoff: Backoff,
        *,
        wake: Callable[[Key], None],
        wake_apply: Callable[[Key], None],
    ) -> None:
        self._settings = settings.health
        self._alone = not settings.managed_resource.enabled  # another process applies
        self._class = ResourceClass(settings.resource_class)
        self._kept = kept
        self._shards = shards
        self._metrics = metrics
        self.actors = actors
        self._backoff = backoff
        self._wake = wake
        self._wake_apply = wake_apply

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Judge the objects of a ManagedResource, unless none changed since that was done."""
        states = self._kept.states
        if states.is_judged(key):
            return DONE
        settled = states.is_settled(key)
        with states.judging(key):
            entry = ctx.store(ManagedResource).get(key)
            if entry is None:
                return DONE
            pass_ = await Pass.read(ctx, entry, states.of(key), self.actors.of)
            if self._is_due(pass_):
                return await self._judge(pass_, settled=settled)
            return self._next(pass_)

    def wake(self, key: Key) -> None:
        """Let the health of a ManagedResource be judged, whatever is known of it."""
        self._kept.states.changed.add(key)
        self._wake(key)

    async def _judge(self, pass_: Pass, *, settled: bool) -> Outcome:
        suspended = messages.suspended() if is_suspended(pass_.resource) else None
        try:
            found = await self.judge(pass_, hindrance=suspended)
        except InventoryError:
            return DONE  # the controller that applies reports it
        # What others keep deleting comes in its time.
        if any(self._kept.may_repair(ref) for ref in found.missing()):
            self._kept.states.unsettle(pass_.key)
            self._wake_apply(pass_.key)
        elif settled:
            pass_.state.follow(pass_.entry, pass_.unchanged())
        if found.failed:
            self._kept.states.changed.add(pass_.key)
            return again(self._backoff.delay(pass_.state.check_failures))
        return self._next(pass_)

    def _next(self, pass_: Pass) -> Outcome:
        """Return when to look again: what no event tells is asked for once per period."""
        period = self._settings.sync_period
        blind = self._alone or pass_.state.unwatched is not None
        return again(period) if blind and period else DONE

    def _is_due(self, pass_: Pass) -> bool:
        """Return whether the health of a ManagedResource is ours to judge, and can be judged."""
        resource = pass_.resource
        return (
            self._class.responsible(resource)
            and not is_ignored(resource)
            and not is_deleting(resource)
            and pass_.status.condition(APPLIED).status == "True"
        )

    async def judge(self, pass_: Pass, *, hindrance: ConditionUpdate | None = None) -> Judgement:
        """Judge the whole inventory and write what changed, if it is applied and ours to judge.

        Raises `InventoryError` if a part of the inventory is gone, so what to judge is not known.
        """
        updates: list[ConditionUpdate] = []
        found = Judgement()
        report: Report | None = None
        if pass_.status.condition(APPLIED).status == "True" and self._settings.enabled:
            inventory = in_order(await read_inventory(pass_, self._shards))
            found = await self.look(pass_, [ref_of(entry) for entry in inventory])
            updates = messages.judged(found.health, found.progress)
            recorded = Report.recorded(pass_.status.status)
            report = recorded.with_health(found.health, found.progress)
        conditions = messages.with_summary(pass_.status, updates, hindrance)
        await pass_.status.write(Update(conditions=conditions, report=report))
        return found

    async def look(
        self, pass_: Pass, refs: Sequence[ObjectRef], known: Mapping[ObjectRef, Live] | None = None
    ) -> Judgement:
        """Judge objects and count them; *known* are states that no store holds."""
        state = pass_.state
        found, state.unwatched = await pass_.actor.health.judge(refs, state.unwatched, known)
        state.check_failures = state.check_failures + 1 if found.failed else 0
        self._metrics.judged(pass_.key, found.counts())
        return found


class ResourceMetrics:
    """What is counted about ManagedResources and their objects. Made once per process."""

    def __init__(self, metrics: Metrics) -> None:
        applied = metrics.counter(
            f"{_PREFIX}objects_applied_total",
            "Objects looked at while applying, by what became of them",
            ["result"],
        )
        self._applied = {action: applied.labels(action.value) for action in Action}
        self.repairs = metrics.counter(
            f"{_PREFIX}repairs_total", "Objects that others changed or deleted and we restored"
        )
        self.fights = metrics.counter(
            f"{_PREFIX}fights_total", "Objects found to be rewritten by another writer repeatedly"
        )
        self._blocked = metrics.gauge(
            f"{_PREFIX}deletions_blocked", "Objects that are to be deleted and are still there"
        )
        health = metrics.gauge(
            f"{_PREFIX}objects", "Objects of all ManagedResources by health", ["health"]
        )
        self._health = {state: health.labels(state.value) for state in Health}
        self._judgements = metrics.counter(
            f"{_PREFIX}judgements_total", "Looks at the health of all objects of a ManagedResource"
        )
        self._healths: dict[Key, Mapping[Health, int]] = {}
        self._blockers: dict[Key, int] = {}

    def count(self, entry: Change, live: Live | None) -> None:
        """Count an object that was looked at."""
        del live
        self._applied[entry.action].inc()

    def judged(self, key: Key, healths: Counter[Health]) -> None:
        """Note how the objects of a ManagedResource were found."""
        self._judgements.inc()
        self._count(key, healths)

    def _count(self, key: Key, healths: Counter[Health]) -> None:
        before = self._healths.get(key, {})
        if healths == before:
            return
        for state in Health:
            if change := healths.get(state, 0) - before.get(state, 0):
                self._health[state].inc(change)
        self._healths[key] = dict(healths)

    def blocked(self, key: Key, objects: int) -> None:
        """Note how many objects of a ManagedResource linger."""
        before = self._blockers.pop(key, 0)
        if objects:
            self._blockers[key] = objects
        if objects != before:
            self._blocked.inc(objects - before)

    def forget(self, key: Key) -> None:
        """Note that a ManagedResource is gone."""
        self._count(key, Counter())
        self._healths.pop(key, None)
        self.blocked(key, 0)

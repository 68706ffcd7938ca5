"""One pass over one ManagedResource: facts are read, decided on, acted upon, and reported.

The order protects what exists. The inventory is written before the first object, the objects
are applied before others are deleted, nothing is deleted while anything about the input is in
doubt, and one status write at the end says what became of it all. Only what that status does not
need any more goes after it: parts of the inventory, and the annotation that confirmed a deletion.
"""

import asyncio
from collections.abc import Sequence

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.apply import Action, Change, InventoryError
from certwright.client import Timeout, TransportError
from certwright.keep import DeclaredSet, KeptChanges, KeptSets, OutOfDate
from certwright.keep.state import Fingerprint
from certwright.kube import ApiError, Conflict, Key, NotFound
from certwright.managed.dependencies import blocked_by
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.configuration import Controllers
from certwright.operators.managedresource.decision import (
    Decision,
    ResourceClass,
    Step,
    decide,
    has_dependencies,
)
from certwright.operators.managedresource.declared import Decoder
from certwright.operators.managedresource.deletion import PENDING_SECONDS, ResourceDeletion
from certwright.operators.managedresource.health import HealthController, ResourceMetrics, repair
from certwright.operators.managedresource.input import Facts, Secrets, gather
from certwright.operators.managedresource.inventory import ref_of
from certwright.operators.managedresource.messages import PendingDeletion
from certwright.operators.managedresource.ownership import Owners
from certwright.operators.managedresource.shards import (
    ResourceInventory,
    ShardStore,
    ShardUnwritten,
    drop_shards,
    place,
    read_inventory,
    restore_shards,
)
from certwright.operators.managedresource.state import RECHECK_SECONDS, Pass, ResourceState
from certwright.operators.managedresource.status import (
    APPLIED,
    MANY,
    ConditionUpdate,
    Report,
    StatusUnwritten,
    Update,
)
from certwright.runtime import DONE, WAIT, Backoff, Context, Entry, Outcome, again


class ResourceController:
    """Keeps the objects of ManagedResources as declared, and reports how they are."""

    def __init__(
        self,
        settings: Controllers,
        kept: KeptSets[ResourceState],
        secrets: Secrets,
        shards: ShardStore,
        owners: Owners,
        health: HealthController,
        metrics: ResourceMetrics,
        backoff: Backoff,
    ) -> None:
        self._settings = settings
        self._label = settings.managed_resource.managed_by_label_value
        self._class = ResourceClass(settings.resource_class)
        self._garbage_collected = settings.garbage_collector.runs
        self._kept = kept
        self._states = kept.states
        self._secrets = secrets
        self._shards = shards
        self._owners = owners
        self._health = health
        self._actors = health.actors
        self._deletion = ResourceDeletion(settings, kept, shards, owners, metrics, backoff)
        self._decoder = Decoder()
        self._metrics = metrics
        self._backoff = backoff

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make the objects of a ManagedResource as they should be."""
        repaired = await repair(ctx, key, self._kept, self._owners, self._metrics)
        if repaired or self._states.is_settled(key):
            return DONE
        entry = ctx.store(ManagedResource).get(key)
        if entry is None:
            return await self._deletion.abandon(key)
        pass_ = await Pass.read(ctx, entry, self._states.of(key), self._actors.of)
        pass_.state.retry_at = 0.0
        decision = decide(pass_.resource, self._class)
        try:
            if problem := await self._restore_inventory(pass_, decision.step):
                return await self._fail(pass_, messages.apply_failed([problem]))
            match decision.step:
                case Step.NOTHING:
                    self._deletion.forget(key)
                    # All that is remembered from now on: until it changes it is not read again.
                    self._states.of(key).settled = Fingerprint(((pass_.store, entry),))
                    return DONE
                case Step.WAIT_FOR_HANDOVER:
                    return WAIT
                case Step.REPORT_IGNORED:
                    await pass_.status.write(Update(conditions=messages.ignored()))
                    return DONE
                case Step.DELETE:
                    return await self._deletion.delete(pass_)
                case Step.JUDGE:
                    return await self._judge_suspended(pass_)
                case Step.RECONCILE:
                    return await self._keep(pass_, decision)
        except OutOfDate as error:
            # A state that was read from a cache is old; the runtime repeats a Conflict at once.
            raise Conflict(str(error)) from error

    # Keeping: read, decide, act, report

    async def _keep(self, pass_: Pass, decision: Decision) -> Outcome:
        pass_.state.deleted.clear()  # a class that was given up and asked for again
        pass_.state.disturbed = False
        if (blocked := self._blocked(pass_)) is not None:
            await self._write_conditions(pass_, hindrance=blocked)
            return WAIT
        try:
            secrets = await self._secrets.read(pass_.store, pass_.resource)
        except NotFound as error:
            await self._write_conditions(pass_, messages.cannot_read_secret(str(error)))
            return WAIT.as_failure()  # its creation wakes us
        except (ApiError, TransportError) as error:
            return await self._fail(pass_, messages.cannot_read_secret(str(error)))
        try:
            facts = await self._gather(pass_, secrets)
        except (InventoryError, ApiError, TransportError) as error:
            return await self._fail(pass_, messages.apply_failed([str(error)]))
        # Without inventory (it is written ahead) and checksum nothing was ever applied, so no
        # earlier process can have acted upon later Secrets: these need no confirmation.
        first = not facts.inventory and not pass_.resource.status.secrets_data_checksum
        pass_ = pass_.with_inputs(() if first else self._secrets.checks(secrets))
        try:
            changes = await self._apply(pass_, facts, decision)
            self._announce(pass_, facts, changes)
            await asyncio.sleep(0)  # between steps that may go over thousands of objects
            applied = await self._report(pass_, facts, changes)
        except ShardUnwritten as error:
            return await self._fail(pass_, messages.apply_failed([str(error)]))
        except StatusUnwritten as unwritten:
            raise unwritten.error from unwritten
        self._settle(pass_, secrets, facts, changes, applied=applied)
        outcome = self._outcome(pass_, changes)
        failed = pass_.status.condition(APPLIED).status == "False"
        if len(facts.plan.inventory) > MANY:
            await asyncio.sleep(0)  # to let go of that many objects takes a while too
        return outcome.as_failure() if failed else outcome

    def _blocked(self, pass_: Pass) -> ConditionUpdate | None:
        """Return what `Ready` says while a ManagedResource waits for others."""
        if not has_dependencies(pass_.resource):
            return None
        namespace = pass_.key.namespace
        found = blocked_by(
            pass_.resource, lambda name: pass_.ctx.get(ManagedResource, Key(namespace, name))
        )
        if found is None:
            return None
        return messages.dependency_not_ready(found.message, cyclic=found.cyclic)

    async def _gather(self, pass_: Pass, secrets: Sequence[Entry]) -> Facts:
        cpu, seconds = pass_.ctx.cpu, self._kept.step_seconds
        decoded = await self._decoder.decode_all(secrets, cpu)
        inventory = await read_inventory(pass_, self._shards)
        try:
            async with asyncio.timeout(seconds):
                return await gather(
                    pass_.resource,
                    decoded,
                    inventory,
                    pass_.actor.cluster,
                    origin=self._owners.origin(pass_.key),
                    managed_by=self._label,
                    cpu=cpu,
                )
        except TimeoutError as error:
            raise Timeout(f"the target cluster did not answer within {seconds} s") from error

    async def _apply(self, pass_: Pass, facts: Facts, decision: Decision) -> KeptChanges:
        """Write the inventory ahead, apply what is declared, and prune what is not any more."""
        declared = DeclaredSet(
            facts.plan.declared,
            self._owners.of(pass_.key, pass_.ctx.client),
            facts.prune_options(
                pass_.resource,
                self._settings.managed_resource.prune_guard,
                garbage_collected=self._garbage_collected,
            ),
            known=[Change(r.ref, Action.FAILED, str(r)) for r in facts.plan.refused],
            unchanged=facts.unchanged_input(pass_.resource),
            always=self._settings.managed_resource.always_update,
            actor=pass_.actor,
        )
        metadata = decision.metadata(pass_.resource, self._class)
        inventory = ResourceInventory(
            pass_, self._shards, self._label, facts=facts, metadata=metadata
        )
        return await self._kept.apply(
            pass_.key,
            declared,
            inventory,
            on_entry=self._metrics.count,
            before_write=inventory.begin,
        )

    def _announce(self, pass_: Pass, facts: Facts, changes: KeptChanges) -> None:
        """Count repairs, and record events about what a pass found."""
        self._metrics.repairs.inc(len(changes.repaired))
        self._metrics.fights.inc(changes.fights)
        event, obj = pass_.ctx.event, pass_.obj
        for opponent in changes.opponents:
            told = messages.fight_detected(opponent, self._kept.ourselves.cluster.field_manager)
            event(obj, "Warning", "FightDetected", told)
        if changes.repaired:
            event(obj, "Normal", "Repaired", messages.restored(changes.repairs))
        if not facts.unchanged_input(pass_.resource):  # once for each input
            for remark in messages.remarks(facts, changes.done.applied):
                event(obj, "Warning", "QuestionableInput", remark)

    async def _report(self, pass_: Pass, facts: Facts, changes: KeptChanges) -> bool:
        """Write the status, once; return whether everything is as wanted."""
        pass_.state.reporting = True
        try:
            return await self._write_report(pass_, facts, changes)
        finally:
            pass_.state.reporting = False

    async def _write_report(self, pass_: Pass, facts: Facts, changes: KeptChanges) -> bool:
        done, before = changes.done, pass_.status.condition(APPLIED)
        pending = messages.pending_deletions(done.pruned)
        failures = messages.failures(facts, done)
        condition = self._condition(pass_, changes, failures, pending)
        applied = condition.status == "True"
        # Whether what could not be decoded is all that failed; the condition names it.
        readable_applied = applied or (len(failures) == 1 and bool(facts.declared.undecodable))
        left = facts.left(done)
        total = facts.changes.objects_before if left else len(facts.plan.inventory)
        report = Report.of(done.applied, total)
        await asyncio.sleep(0)
        health, report = await self._health_of(pass_, facts, changes, report, applied=applied)
        many, generation = len(facts.plan.inventory) > MANY, pass_.resource.metadata.generation
        after = facts.inventory_after
        entries = await pass_.ctx.cpu(after, done) if many else after(done)
        placed = await place(pass_, self._shards, self._label, entries)
        await pass_.status.write(
            Update(
                conditions=messages.with_summary(pass_.status, [condition, *health]),
                resources=placed.entries,
                checksum=facts.declared.checksum if readable_applied else None,
                observed_generation=generation if readable_applied else None,
                report=report,
            )
        )
        await drop_shards(pass_, self._shards, placed)
        if done.confirmed and not any(item.failed for item in pending):
            # The confirmation of a deletion holds for that one only.
            annotations = {keys.CONFIRM_PRUNE: None}
            await pass_.ctx.patch(pass_.obj, {"metadata": {"annotations": annotations}})
        self._metrics.blocked(pass_.key, len(pending))
        self._announce_pending(pass_, condition, pending=bool(pending))
        if (why := self._objection(changes)) and condition.message != before.message:
            pass_.ctx.event(pass_.obj, "Warning", "PruneUnconfirmed", why)
        if many:
            await asyncio.sleep(0)
        return applied

    def _condition(
        self,
        pass_: Pass,
        changes: KeptChanges,
        failures: Sequence[ConditionUpdate],
        pending: Sequence[PendingDeletion],
    ) -> ConditionUpdate:
        """Return what the status says about applying; note which pending deletions it reports."""
        before = pass_.status.condition(APPLIED)
        if failures:
            return messages.together(failures)
        if why := self._objection(changes):
            return messages.prune_unconfirmed(why)
        if pending:
            what = frozenset(item.news for item in pending)
            news = pass_.state.note_pending(what, pass_.ctx.clock.monotonic())
            # For how long it has been pending is told once a minute.
            told = before.reason == "DeletionPending" and not news
            return before if told else messages.deletion_pending(pending)
        if changes.waiting:
            return messages.apply_progressing(before)
        return messages.applied()

    def _objection(self, changes: KeptChanges) -> str:
        percent = self._settings.managed_resource.prune_guard.percent
        return messages.objection(changes.done.held, percent)

    async def _health_of(
        self, pass_: Pass, facts: Facts, changes: KeptChanges, report: Report, *, applied: bool
    ) -> tuple[list[ConditionUpdate], Report]:
        """Return what to say about health, and the report with it."""
        if applied and self._settings.health.enabled:
            found = await self._health.look(pass_, facts.refs, changes.unwatched)
            updates = messages.judged(found.health, found.progress)
            return updates, report.with_health(found.health, found.progress)
        if not facts.changes.same or not facts.unchanged_input(pass_.resource):
            return messages.checks_pending(), report
        told = Report.recorded(pass_.status.status)
        return [], report.with_health_of(told) if applied else report

    def _announce_pending(self, pass_: Pass, condition: ConditionUpdate, *, pending: bool) -> None:
        """Record an event about objects that are to be deleted and stay for long."""
        if not pending:
            pass_.state.pending = None
        elif pass_.state.is_stuck(pass_.ctx.clock.monotonic()):
            pass_.ctx.event(pass_.obj, "Warning", "DeletionBlocked", condition.message)

    def _settle(
        self,
        pass_: Pass,
        secrets: Sequence[Entry],
        facts: Facts,
        changes: KeptChanges,
        *,
        applied: bool,
    ) -> None:
        """Remember how things are, if all is well."""
        state = pass_.state
        if state.unwatched is not None or state.check_failures:
            self._health.wake(pass_.key)  # which looks at them now and then
        unknown = changes.failed and bool(self._kept.stores.unknown)
        state.awaits_kinds = unknown or changes.waiting
        state.awaits_namespaces = changes.missing_namespaces
        if state.awaits_namespaces:
            self._kept.stores.watch_namespaces()
        now = pass_.unchanged()
        always = self._settings.managed_resource.always_update
        if not applied or always or state.touched or now is None:
            state.settled = None
            return
        if state.user:
            state.recheck_at = pass_.ctx.clock.monotonic() + RECHECK_SECONDS
        sources = [(self._secrets.store(secret.key), secret) for secret in secrets]
        refs = [ref_of(entry) for entry in facts.plan.inventory]
        self._kept.settle(pass_.key, [(pass_.store, now), *sources], refs, changes)

    def _outcome(self, pass_: Pass, changes: KeptChanges) -> Outcome:
        if changes.failed or changes.waiting:
            pass_.state.failures *= not changes.gets_on
            return pass_.later(self._backoff)
        pass_.state.failures = 0
        pending = changes.done.pruned.with_action(Action.BLOCKED)
        waits = [PENDING_SECONDS] if pending else []
        if changes.postponed:
            waits.append(changes.postponed_seconds)
        return again(min(waits)) if waits else DONE

    # Other steps, and failures

    async def _judge_suspended(self, pass_: Pass) -> Outcome:
        try:
            await self._health.judge(pass_, hindrance=messages.suspended())
        except InventoryError as error:
            return await self._fail(pass_, messages.apply_failed([str(error)]))
        return DONE

    async def _restore_inventory(self, pass_: Pass, step: Step) -> str:
        """Restore what others took from the inventory; return what keeps us from it.

        A deletion needs it only after a crash: whether it can be written, in a namespace that
        goes, too, must not hold up the objects.
        """
        if not pass_.state.touched or step not in {Step.RECONCILE, Step.JUDGE, Step.DELETE}:
            return ""
        try:
            replace = step is not Step.DELETE
            await restore_shards(pass_, self._shards, self._label, replace=replace)
        except ShardUnwritten as error:
            return "" if step is Step.DELETE else str(error)
        return ""

    async def _fail(self, pass_: Pass, condition: ConditionUpdate) -> Outcome:
        """Report what went wrong; try again later."""
        await self._write_conditions(pass_, condition)
        return pass_.later(self._backoff).as_failure()

    async def _write_conditions(
        self, pass_: Pass, *updates: ConditionUpdate, hindrance: ConditionUpdate | None = None
    ) -> None:
        conditions = messages.with_summary(pass_.status, updates, hindrance)
        await pass_.status.write(Update(conditions=conditions))

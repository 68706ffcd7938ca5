"""The acting part of a pass: inventory, objects, leftovers, and the report about all of them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ObjectReference
from certwright.apply import (
    Action,
    ChangeSet,
    Live,
    ObjectRef,
)
from certwright.apply import Entry as Change
from certwright.apply.changeset import last_foreign_writer
from certwright.kube import JsonObject
from certwright.operators.managedresource import inventory, messages
from certwright.operators.managedresource.gathering import Facts
from certwright.operators.managedresource.inventory import ref_of
from certwright.operators.managedresource.judging import judge_objects
from certwright.operators.managedresource.keeper import MANY, Look
from certwright.operators.managedresource.messages import Lingering
from certwright.operators.managedresource.pruning import Pruning
from certwright.operators.managedresource.shards import drop_companions, place
from certwright.operators.managedresource.state import Settled
from certwright.operators.managedresource.status import APPLIED, ConditionUpdate, Report, Update
from certwright.runtime import Entry, Store

NAMED: Final = 5
"""How many objects an event names."""
REMARKS: Final = 10
"""How many remarks on one input are told."""
_WRITTEN: Final = frozenset({Action.CREATED, Action.CONFIGURED, Action.RECREATED})


class Application:
    """Carries out one pass and keeps account of it. Call the steps in the order they stand."""

    def __init__(self, look: Look, facts: Facts) -> None:
        self.damped_seconds = 0.0
        """When an object that others keep changing may be repaired again; 0 if there is none."""
        self._look = look
        look.rest_on(facts.secrets, first=not facts.inventory)
        self._facts = facts
        self._keeper = look.keeper
        self._changes: list[Change] = [
            Change(refusal.ref, Action.FAILED, str(refusal)) for refusal in facts.plan.refused
        ]
        self._put_off: set[ObjectRef] = set()
        self._unwatched: dict[ObjectRef, Live] = {}
        self._left_at: dict[ObjectRef, str] = {}  # resourceVersions, as this pass left them
        self._pruning = Pruning(look, facts)

    @property
    def lingering(self) -> list[Lingering]:
        """Objects that are no longer wanted and still there."""
        return self._pruning.lingering

    @property
    def failed(self) -> bool:
        """Whether something has to be tried again that no event announces."""
        return (
            any(change.action is Action.FAILED for change in self._changes)
            or bool(self._pruning.unreleased)
            or any(item.failed for item in self.lingering)
        )

    @property
    def waiting(self) -> bool:
        """Whether an object cannot be applied yet; not every reason is told by an event."""
        blocked = (c.ref for c in self._changes if c.action is Action.BLOCKED)
        return any(ref not in self._put_off for ref in blocked)

    # Before the first object

    async def write_ahead(self, *, clear_operation: bool) -> None:
        """Put into the inventory what is about to be created, together with the finalizer."""
        look, added = self._look, self._facts.changes.added
        metadata: JsonObject = {"annotations": {keys.OPERATION: None}} if clear_operation else {}
        finalizer = self._keeper.our_class.finalizer
        if finalizer not in look.resource.metadata.finalizers:
            metadata["finalizers"] = [*look.resource.metadata.finalizers, finalizer]
            if added and not self._facts.inventory:
                uid = look.resource.metadata.uid
                intent = inventory.encode_intent(self._facts.plan.inventory, uid)
                if intent is not None and not look.resource.status.secrets_data_checksum:
                    metadata.setdefault("annotations", {})[keys.INTENT] = intent
                    added = ()
        if metadata:
            await look.ctx.patch(look.obj, {"metadata": metadata})
            look.remembered.confirmed = True
        if added:
            reset = [messages.apply_progressing(look.said(APPLIED)), *messages.checks_pending()]
            parts = await place(look, inventory.write_ahead(self._facts.changes))
            await look.write(
                Update(
                    claims=[*reset, look.summary(reset)],
                    resources=parts.inline,
                    companions=parts.references,
                )
            )

    # Objects

    async def apply(self) -> None:
        """Apply what is wanted; what somebody else keeps changing has to wait."""
        now = self._look.ctx.clock.monotonic()
        wanted = []
        for item in self._facts.plan.wanted:
            wait = self._keeper.fights.wait(item.ref.identity, now)
            if wait:
                self.damped_seconds = min(self.damped_seconds or wait, wait)
                self._put_off.add(item.ref)
                self._changes.append(await self._damped(item.ref))
            else:
                wanted.append(item)
        await asyncio.sleep(0)
        result = await self._keeper.engine.apply(
            wanted,
            owner=self._look.owner,
            always=self._keeper.configuration.controllers.managed_resource.always_update,
            expected={ref_of(entry) for entry in self._facts.inventory},
            on_entry=self._applied,
            before_write=self._look.be_certain,
        )
        self._changes += result.entries
        self._note_repairs(result, now)
        self._note_remarks(result)

    def _note_remarks(self, result: ChangeSet) -> None:
        """Tell, once for each input, what was accepted and is probably a mistake."""
        if self._unchanged_input():
            return
        ignored = [
            f"{change.ref}: {change.reason}"
            for change in result.with_action(Action.UNCHANGED, Action.CONFIGURED)
            if change.reason.endswith("ignored")
        ]
        for remark in (*self._facts.desired.remarks, *self._facts.warnings, *ignored)[:REMARKS]:
            self._look.ctx.event(self._look.obj, "Warning", "QuestionableInput", remark)

    def _applied(self, entry: Change, live: Live | None) -> None:
        self._keeper.metrics.applied(entry.action)
        if live is not None:
            self._left_at[entry.ref] = live.resource_version
        if live is not None and live.labels.get(keys.MANAGED_BY) != self._keeper.managed_by:
            self._unwatched[entry.ref] = live

    def _note_repairs(self, result: ChangeSet, now: float) -> None:
        """Count what was written though nothing else was wanted than before."""
        if not self._unchanged_input():
            return
        before = {ref_of(entry).identity for entry in self._facts.inventory}
        repaired = [
            change for change in result.with_action(*_WRITTEN) if change.ref.identity in before
        ]
        for change in repaired:
            self._keeper.metrics.repairs.inc()
            if self._keeper.fights.repaired(change.ref.identity, now):
                self._keeper.metrics.fights.inc()
                self._look.remembered.opponents.pop(change.ref, None)  # of an earlier fight
        if repaired:
            note = f"Restored {_named([change.ref for change in repaired])}"
            self._look.ctx.event(self._look.obj, "Normal", "Repaired", note)

    def _unchanged_input(self) -> bool:
        resource = self._look.resource
        return (
            resource.status.observed_generation == resource.metadata.generation
            and resource.status.secrets_data_checksum == self._facts.desired.checksum
        )

    async def _damped(self, ref: ObjectRef) -> Change:
        """Say that an object is not repaired for a while, and against whom."""
        remembered = self._look.remembered
        if ref not in remembered.opponents:
            resource = await self._keeper.cluster.resource(ref.gvk)
            live = await self._keeper.cluster.read(resource, ref.key, fresh=True)
            writer = None
            if live is not None:
                fields = {"metadata": {"managedFields": list(live.managed)}}
                writer = last_foreign_writer(fields, {self._keeper.cluster.field_manager})
            remembered.opponents[ref] = writer
            name = writer.manager if writer else "somebody unknown"
            note = f"{ref} is changed again and again by {name}; it is repaired less often now"
            self._look.ctx.event(self._look.obj, "Warning", "FightDetected", note)
        writer = remembered.opponents[ref]
        return Change(
            ref,
            Action.BLOCKED,
            "somebody else keeps changing it; repairs are put off",
            writer=writer,
        )

    # What is no longer wanted

    async def prune(self) -> None:
        """Release or delete what is no longer wanted."""
        await self._pruning.release()
        await self._pruning.prune(self._changes)

    # What became of it

    async def report(self) -> None:
        """Write the status, once, and remember how things are if all is well."""
        self._look.remembered.telling = True
        try:
            await self._report()
        finally:
            self._look.remembered.telling = False

    async def _report(self) -> None:
        look, facts = self._look, self._facts
        claim = self._claim()
        applied = claim.status == "True"
        complete = applied or claim.reason == "DecodingFailed"
        total = self._pruning.before if self._pruning.left else len(facts.plan.inventory)
        report = Report.of(ChangeSet.of(self._changes), total=total)
        await asyncio.sleep(0)
        health, report = await self._health(report, applied=applied)
        said = [claim, *health]
        many = len(facts.plan.inventory) > MANY
        parts = await place(
            look, await look.ctx.cpu(self._inventory) if many else self._inventory()
        )
        before = look.said(APPLIED)
        await look.write(
            Update(
                claims=[*said, look.summary(said)],
                resources=parts.inline,
                companions=parts.references,
                checksum=facts.desired.checksum if complete else None,
                observed_generation=look.resource.metadata.generation if complete else None,
                report=report,
            )
        )
        await drop_companions(look, parts)
        await self._pruning.use_up()
        self._keeper.metrics.blocked(look.key, len(self.lingering))
        self._announce(claim, before)
        if many:
            await asyncio.sleep(0)
        self._remember(settled=applied)

    async def _health(
        self, report: Report, *, applied: bool
    ) -> tuple[list[ConditionUpdate], Report]:
        """Return what to say about health, and the report with it."""
        look = self._look
        if applied and self._keeper.judges:
            judged = await judge_objects(look, self._refs, self._unwatched)
            return judged.claims, judged.added_to(report)
        if not self._facts.changes.same or not self._unchanged_input():
            return messages.checks_pending(), report
        told = Report.recorded(look.obj.get("status") or {})
        return [], report.with_health_of(told) if applied else report

    def _announce(self, claim: ConditionUpdate, before: ConditionUpdate) -> None:
        """Record events about what is new."""
        look = self._look
        if claim.status == "True" and before.status == "False":
            look.ctx.event(look.obj, "Normal", "Applied", claim.message)
        if not self.lingering:
            look.remembered.lingering = None
        elif look.remembered.is_stuck(look.ctx.clock.monotonic()):
            look.ctx.event(look.obj, "Warning", "DeletionBlocked", claim.message)
        if self._pruning.objection and claim.message != before.message:
            look.ctx.event(look.obj, "Warning", "PruneUnconfirmed", self._pruning.objection)

    def _claim(self) -> ConditionUpdate:
        if failures := list(self._failures()):
            return messages.together(failures)
        if self._pruning.objection:
            return messages.prune_unconfirmed(self._pruning.objection)
        if self.lingering:
            return self._pending()
        if self.waiting:
            return messages.apply_progressing(self._look.said(APPLIED))
        return messages.applied()

    def _failures(self) -> Iterator[ConditionUpdate]:
        """Yield what went wrong, the worst first."""
        if errors := [c.reason for c in self._changes if c.action is Action.FAILED]:
            yield messages.apply_failed(errors)
        if self._pruning.unreleased:
            yield messages.release_failed(self._pruning.unreleased)
        if self._facts.desired.undecodable:
            yield messages.decoding_failed(self._facts.desired.undecodable)

    def _pending(self) -> ConditionUpdate:
        """Return what still lingers; how long it has been doing so is told once a minute."""
        what = frozenset(item.news for item in self.lingering)
        news = self._look.remembered.lingers(what, self._look.ctx.clock.monotonic())
        said = self._look.said(APPLIED)
        told = said.reason == "DeletionPending" and not news
        return said if told else messages.deletion_pending(self.lingering)

    def _inventory(self) -> list[ObjectReference]:
        """Return what belongs to the ManagedResource now, with the labels it really got."""
        unwritten = {
            change.ref.identity
            for change in self._changes
            if change.action in {Action.FAILED, Action.BLOCKED}
        }
        if not unwritten and not self._pruning.left:
            return inventory.in_order(self._facts.plan.inventory)
        before = {ref_of(entry).identity: entry for entry in self._facts.inventory}
        wanted = [
            before.get(ref_of(entry).identity, entry)
            if ref_of(entry).identity in unwritten
            else entry
            for entry in self._facts.plan.inventory
        ]
        return inventory.afterwards(wanted, self._pruning.left)

    @cached_property
    def _refs(self) -> list[ObjectRef]:
        return [ref_of(entry) for entry in inventory.in_order(self._facts.plan.inventory)]

    def _remember(self, *, settled: bool) -> None:
        remembered = self._look.remembered
        if remembered.unwatched is not None:
            self._keeper.wake_judge(self._look.key)  # who reads them now and then
        unknown = self.failed and bool(self._keeper.targets.unknown)
        remembered.awaits_kinds = unknown or self.waiting
        always = self._keeper.configuration.controllers.managed_resource.always_update
        now = self._look.unchanged()
        restless = always or self.damped_seconds or remembered.disturbed or bool(remembered.touched)
        held = list(self._keeper.targets.held(self._refs)) if settled else []
        if not settled or restless or now is None or not self._is_as_left(held):
            remembered.settled = None
            return
        remembered.settled = Settled(((self._look.store, now), *self._sources(), *held))

    def _is_as_left(self, held: Sequence[tuple[Store, Entry]]) -> bool:
        """Return whether nobody touched an object since this pass did, given what stores hold.

        Who did has woken us; but what is remembered as settled is not looked at again.
        """
        versions = {
            (store.resource.group, store.resource.kind, entry.key): entry.meta.resource_version
            for store, entry in held
        }
        return all(
            versions.get((ref.group, ref.kind, ref.key)) == version
            for ref, version in self._left_at.items()
            if ref not in self._unwatched
        )

    def _sources(self) -> Iterable[tuple[Store, Entry]]:
        """Yield the Secrets this pass was based on, as the stores hold them."""
        for secret in self._facts.secrets:
            yield self._keeper.secrets.store(secret.key), secret


def _named(refs: Sequence[ObjectRef]) -> str:
    """Return the names of some objects, for an event."""
    more = f" and {len(refs) - NAMED} more" if len(refs) > NAMED else ""
    return ", ".join(map(str, refs[:NAMED])) + more

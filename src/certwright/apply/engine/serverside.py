"""Writing by server-side apply: fields of the manifest become ours, others are left alone."""

from certwright.apply.changeset import LastWriter, last_foreign_writer
from certwright.apply.cluster import Live
from certwright.apply.engine.adoption import needs_transfer
from certwright.apply.engine.apply import Application, ApplyRun
from certwright.apply.engine.declared import Declared
from certwright.apply.engine.findings import (
    ObjectOutcome,
    configured,
    contested,
    created,
    field_conflict,
)
from certwright.apply.engine.leftovers import leftovers
from certwright.apply.engine.preserve import Sent, preserve
from certwright.apply.engine.takeover import TakeOver
from certwright.kube import Conflict, Invalid, Resource
from certwright.kube.patches import apply_merge_patch


class Cooperation(Application):
    """Applies an object beside others that apply the same one: for command lines."""

    def __init__(self, run: ApplyRun, wanted: Declared, resource: Resource) -> None:
        super().__init__(run, wanted, resource)
        self._foreseen: TakeOver | None = None
        """What a dry run did not do, and has to be thought of."""

    def contest(self, refusal: Conflict) -> ObjectOutcome | None:
        """Report fields that are left to other managers; None if that is not the conflict."""
        if self._rules.force:
            return None
        held = [held for cause in refusal.causes if (held := field_conflict(cause))]
        return contested(self._wanted, held) if held else None

    def _should_look(self) -> bool:
        rules = self._rules
        # Either it was deleted, or our view is older than it, and it may by now be another's.
        # What we had in view before is certainly the former.
        known = self._run.memory.get(self._resource, self._wanted.ref.key)
        careful = self._wanted.ref in self._run.expected and known is None
        careful |= rules.preserve_replicas or rules.preserve_resources
        return super()._should_look() or (careful and not self._run.cluster.sees_all)

    async def _create(self) -> ObjectOutcome:
        """Create the object without force: it is not in view, but may be there."""
        ref, run = self._wanted.ref, self._run
        cluster = await run.writable()
        try:
            with run.memory.creating(self._resource, ref.key):
                live = await cluster.apply(
                    self._resource, self._desired, force=False, dry_run=run.dry_run
                )
        except Invalid:
            existing = None if run.cluster.sees_all else await self._read(fresh=True)
            if existing is None:
                raise
            return await self._update(existing)
        if live.deleting or _is_shared(live, run.cluster.field_manager):
            return await self._update(live)  # it was there all the time
        self._remember(live, Sent(self._desired))
        return created(ref, live, dry_run=run.dry_run)

    async def _bring_in_line(self, before: Live) -> ObjectOutcome:
        """Write what differs; what apply cannot remove goes with a patch afterwards."""
        live = await self._take_over(before)
        own = live.own(self._run.cluster.field_manager)
        sent = preserve(self._desired, live.obj, own, self._rules)
        after = live
        memory, key = self._run.memory, self._wanted.ref.key
        known = memory.get(self._resource, key)
        if self._run.always or own is None or not memory.is_applied(known, live, own, sent.obj):
            try:
                after = await self._apply(live, sent)
            except Invalid as refusal:
                return await self._recreate(live, refusal)
        after = await self._clean(after)
        if not self._run.dry_run:
            self._remember(after, sent)
        writer = self._last_writer(before, after)
        return configured(self._wanted.ref, before, after, sent.ignored, writer)

    def _last_writer(self, before: Live, after: Live) -> LastWriter | None:
        manager = self._run.cluster.field_manager
        managed = {"metadata": {"managedFields": list(before.managed)}}
        return last_foreign_writer(managed, {manager}, after.own(manager))

    async def _apply(self, live: Live, sent: Sent) -> Live:
        body = sent.obj
        if sent.guarded:
            guard = {"uid": live.uid, "resourceVersion": live.resource_version}
            body = {**body, "metadata": {**body["metadata"], **guard}}
        if self._foreseen is not None:
            return await self._foreseen.foresee(live, body)
        cluster, force = await self._run.writable(), self._rules.force
        return await cluster.apply(self._resource, body, force=force, dry_run=self._run.dry_run)

    async def _take_over(self, live: Live) -> Live:
        """Make fields of a predecessor ours, so that those no longer wanted can go."""
        run, self._foreseen = self._run, None
        if not needs_transfer(live, self._rules, run.cluster.field_manager):
            return live
        wanted, desired = self._wanted, self._desired
        take_over = TakeOver(
            run.cluster, run.writable, self._resource, wanted, desired, run.owner, run.dry_run
        )
        self._foreseen = take_over if run.dry_run else None
        return await take_over(live)

    async def _clean(self, live: Live) -> Live:
        patch = leftovers(self._desired, live, self._rules)
        if patch is None:
            return live
        if self._run.dry_run:
            return Live.of(apply_merge_patch(live.obj, patch))
        cluster = await self._run.writable()
        return await cluster.patch(self._resource, self._wanted.ref.key, patch)

    def _remember(self, live: Live, sent: Sent) -> None:
        if not self._run.dry_run:
            own = live.own(self._run.cluster.field_manager)
            place = (self._resource, self._wanted.ref.key)
            self._run.memory.remember(place, live, own, self._digest, sent.obj, self._rules)


def _is_shared(live: Live, field_manager: str) -> bool:
    """Return whether an object we meant to create shows the hand of others, so was there before."""
    return any(writer.manager != field_manager for writer in live.writers())

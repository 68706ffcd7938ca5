"""Taking over an object from those who wrote it before: their fields become ours.

Then what they set and is not declared any more goes with our next apply. kubectl and its server
do the same when they move from client-side to server-side apply.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from certwright.apply.cluster import Cluster, Live
from certwright.apply.engine.adoption import has_legacy, is_unmanaged, predecessors, taken_over
from certwright.apply.engine.declared import Declared, Owner
from certwright.apply.engine.findings import field_conflict
from certwright.apply.engine.preserve import preserve
from certwright.kube import Conflict, Invalid, JsonObject, Resource
from certwright.kube.ownership import FieldSet, without
from certwright.kube.patches import create_merge_patch


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Takes one object over."""

    cluster: Cluster
    writable: Callable[[], Awaitable[Cluster]]
    """Returns the cluster as soon as it may be written to."""
    resource: Resource
    wanted: Declared
    desired: JsonObject
    owner: Owner | None
    dry_run: bool

    async def __call__(self, live: Live) -> Live:
        """Make fields of predecessors ours; in a dry run, return the object as if they were.

        Raises:
            Conflict: the object is gone, or has changed; or other managers hold fields that we
                want and do not force. In that case nothing has been written.
        """
        chosen, mine = self.wanted.rules.take_over_from, self.cluster.field_manager
        live = await self._noted(live) if is_unmanaged(live, chosen) else await self._fresh()
        managers = predecessors(live, chosen)
        if not has_legacy(live, mine, managers):
            return live
        ours = Live(live.obj, taken_over(live.managed, mine, managers))
        if not self.wanted.rules.force:
            await self._refuse_conflicts(ours, managers)
        if self.dry_run:
            return ours
        version = {"uid": live.uid, "resourceVersion": live.resource_version}
        metadata: JsonObject = {**version, "managedFields": ours.managed}
        owner = self.owner if self.wanted.rules.force else None
        if owner is not None and not owner.owns(live.annotations.get(owner.annotation) or ""):
            # else whose it was would put its fields back before ours are written; who does not
            # force must not hold the mark by update, which would be a conflict with oneself
            metadata["annotations"] = {owner.annotation: owner.value}
        cluster = await self.writable()
        return await cluster.patch(self.resource, self.wanted.ref.key, {"metadata": metadata})

    async def foresee(self, ours: Live, body: JsonObject) -> Live:
        """Return what an apply would make of an object, had it been taken over before.

        The server does not know that in a dry run: what would go is removed here, and then the
        server is asked for what it would fill in.
        """
        applied = await self.cluster.apply(self.resource, body, dry_run=True)
        left = relinquished(applied, ours, self.cluster.field_manager)
        patch = create_merge_patch(ours.obj, left)
        key = self.wanted.ref.key
        final = await self.cluster.patch(self.resource, key, patch, dry_run=True)
        return Live(final.obj, applied.managed)

    async def _fresh(self) -> Live:
        found = await self.cluster.read(self.resource, self.wanted.ref.key, fresh=True)
        if found is None:
            raise Conflict(f"{self.wanted.ref} is gone")
        return found

    async def _noted(self, live: Live) -> Live:
        """Let the server note the managers of an object that is older than their records."""
        version = {"uid": live.uid, "resourceVersion": live.resource_version}
        place = {
            name: live.metadata[name] for name in ("namespace", "name") if name in live.metadata
        }
        head = {name: live.obj[name] for name in ("apiVersion", "kind")}
        cluster = await self.writable()
        body: JsonObject = {**head, "metadata": {**place, **version}}
        return await cluster.apply(self.resource, body, dry_run=self.dry_run)

    async def _refuse_conflicts(self, ours: Live, managers: Collection[str]) -> None:
        """Ask by a dry run whether managers that we do not take over from hold what we want."""
        own = ours.own(self.cluster.field_manager)
        sent = preserve(self.desired, ours.obj, own, self.wanted.rules)
        try:
            await self.cluster.apply(self.resource, sent.obj, force=False, dry_run=True)
        except Invalid:
            return  # the write itself decides what follows from that
        except Conflict as refusal:
            causes = [
                cause
                for cause in refusal.causes
                if (held := field_conflict(cause)) and held.manager not in managers
            ]
            if causes:
                raise Conflict(refusal.message, causes=causes) from refusal


def relinquished(applied: Live, ours: Live, field_manager: str) -> JsonObject:
    """Return an object as our apply would leave it, had it been ours before.

    *ours* has the managers as they would have been by then; *applied* is what a dry run of the
    apply made of the object while the others still had their fields. Defaults are missing.
    """
    kept = applied.own(field_manager) or FieldSet()
    for entry in ours.managed:
        if entry.get("manager") != field_manager or entry.get("operation") != "Apply":
            kept |= FieldSet.parse(entry.get("fieldsV1") or {})
    return without(applied.obj, ours.own(field_manager) or FieldSet(), kept)

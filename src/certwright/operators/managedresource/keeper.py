"""What the controllers of one process share, and one look at one ManagedResource."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from certwright.api.managedresources import ManagedResource
from certwright.apply import Engine, Memory, ObjectRef, Owner
from certwright.keep.cluster import TargetCluster
from certwright.keep.fights import Fights
from certwright.keep.health import HealthChecks
from certwright.keep.stores import Targets
from certwright.kube import Conflict, JsonObject, Key
from certwright.kube.patches import create_merge_patch
from certwright.operators.managedresource import policy
from certwright.operators.managedresource.configuration import Configuration
from certwright.operators.managedresource.decision import ResourceClass
from certwright.operators.managedresource.messages import ready
from certwright.operators.managedresource.metrics import ResourceMetrics
from certwright.operators.managedresource.ownership import Origin, exists
from certwright.operators.managedresource.secrets import INLINE_BYTES, Decoder, Secrets
from certwright.operators.managedresource.shards import WatchedCompanions
from certwright.operators.managedresource.state import Memories, Remembered
from certwright.operators.managedresource.status import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    ConditionUpdate,
    Update,
    current,
    updated,
)
from certwright.runtime import Backoff, Context, Entry, Outcome, Store, again

MANY: Final = 100
"""Work on more objects than this is left to a thread."""
OUTCOME: Final = (APPLIED, HEALTHY, PROGRESSING)
"""What `Ready` sums up."""


@dataclass(frozen=True)
class Keeper:
    """Everything one process needs to keep ManagedResources."""

    configuration: Configuration
    cluster_id: str
    our_class: ResourceClass
    secrets: Secrets
    companions: WatchedCompanions
    targets: Targets
    cluster: TargetCluster
    engine: Engine
    memory: Memory
    checks: HealthChecks
    metrics: ResourceMetrics
    backoff: Backoff
    wake_apply: Callable[[Key], None]
    """Let the objects of a ManagedResource be applied."""
    wake_judge: Callable[[Key], None]
    """Let the health of a ManagedResource be judged."""
    decoder: Decoder = field(default_factory=Decoder)
    memories: Memories = field(default_factory=Memories)
    fights: Fights[tuple[str, str, str, str]] = field(default_factory=Fights)
    stores: dict[str, Store] = field(default_factory=dict)
    """The ManagedResources, by the namespace they are confined to; all under the empty one."""

    def may_exist(self, key: Key) -> bool:
        """Return whether there may be a ManagedResource: we see it, or cannot see it."""
        store = self.stores.get("") or self.stores.get(key.namespace)
        return store is None or key in store

    @property
    def managed_by(self) -> str:
        """The value of the label on everything we keep."""
        return self.configuration.controllers.managed_resource.managed_by_label_value

    @property
    def judges(self) -> bool:
        """Whether health is judged here, and not left to somebody else."""
        return self.configuration.controllers.health.enabled

    @property
    def garbage_collected(self) -> bool:
        """Whether a garbage collector decides about immutable ConfigMaps and Secrets."""
        return self.configuration.controllers.garbage_collector.runs

    def origin(self, key: Key) -> Origin:
        """Return how the objects of a ManagedResource name it."""
        return Origin(self.cluster_id, key)

    def let_go(self, refs: Iterable[ObjectRef]) -> None:
        """Forget objects that stay in the cluster and are not ours to keep any more."""
        for ref in refs:
            if (resource := self.targets.client.discovery.known(ref.gvk)) is not None:
                self.memory.forget(resource, ref.key)

    def forget(self, key: Key) -> None:
        """Forget a ManagedResource that is gone or not ours."""
        for name in self.memories.of(key).companions:
            self.companions.forget(Key(key.namespace, name))
        self.memories.forget(key)
        self.metrics.forget(key)


class OutOfDate(Exception):
    """What was seen of a ManagedResource is not how it is; look again."""


class Look:
    """One look at one ManagedResource: what it is, and what is to be said about it."""

    def __init__(
        self,
        keeper: Keeper,
        ctx: Context,
        entry: Entry,
        resource: ManagedResource,
        obj: JsonObject,
    ) -> None:
        self.keeper = keeper
        self.ctx = ctx
        self.entry = entry
        self.key = entry.key
        self.resource = resource
        self.obj = obj
        self.remembered: Remembered = keeper.memories.of(self.key)
        self._confirming = asyncio.Lock()
        self._others: dict[Key, bool] = {}
        self._doubtful: Sequence[Entry] | None = None  # Secrets; None if it is not about them

    @classmethod
    async def at(cls, keeper: Keeper, ctx: Context, entry: Entry) -> "Look":
        """Look at a ManagedResource.

        Raises:
            BadObject: it does not have the shape it should have.
        """
        if len(entry.raw) > INLINE_BYTES:
            resource, obj = await ctx.cpu(_read, entry)
        else:
            resource, obj = _read(entry)
        return cls(keeper, ctx, entry, resource, obj)

    @property
    def store(self) -> Store:
        """The ManagedResources of the same controller."""
        return self.ctx.store(ManagedResource)

    def unchanged(self) -> Entry | None:
        """Return the ManagedResource as it is now, if nobody but us changed it since."""
        now = self.store.get(self.key)
        return now if now is self.entry or (now is not None and self.ctx.wrote(now)) else None

    async def confirm(self) -> None:
        """Make sure, once in a process, that this is no old state of the ManagedResource.

        One that is long gone would leave behind what is created for it now; objects that a
        later state wants again must not be deleted. Every write to the ManagedResource
        confirms it, too. The Secrets a pass rests on are confirmed with it.

        Raises:
            Conflict: it is an old state; look again.
        """
        remembered = self.remembered
        if remembered.confirmed and (remembered.input_confirmed or self._doubtful is None):
            return
        async with self._confirming:
            if not remembered.confirmed:
                await self.ctx.confirm(self.obj)
                remembered.confirmed = True
            if not remembered.input_confirmed and self._doubtful is not None:
                for secret in self._doubtful:
                    await self.keeper.secrets.confirm(secret)
                remembered.input_confirmed = True

    def rest_on(self, secrets: Sequence[Entry], *, first: bool) -> None:
        """Note the Secrets of a pass; they are no old state if nothing was applied before.

        That they are those the status tells of proves nothing: who changed the objects since may
        be a predecessor that had seen more, and did not live to tell.
        """
        told = self.resource.status.secrets_data_checksum
        self._doubtful = () if first and not told else secrets

    async def be_certain(self) -> None:
        """Confirm, as the engine asks before it writes.

        Raises:
            OutOfDate: it is an old state. The engine takes a `Conflict` for one of its objects.
        """
        try:
            await self.confirm()
        except Conflict as error:
            raise OutOfDate(str(error)) from error

    @cached_property
    def origin(self) -> Origin:
        """How its objects name it."""
        return self.keeper.origin(self.key)

    @cached_property
    def owner(self) -> Owner:
        """Whose its objects are."""
        return policy.owner(self.origin, self._exists)

    async def _exists(self, key: Key) -> bool:
        """Return whether there is another ManagedResource; that there is none is asked, once."""
        if key not in self._others:
            there = self.keeper.may_exist(key) or await exists(self.ctx.client, key)
            self._others[key] = there
        return self._others[key]

    def may_repair(self, ref: ObjectRef) -> bool:
        """Return whether a pass would repair an object now; in a fight each repair is put off."""
        return not self.keeper.fights.wait(ref.identity, self.ctx.clock.monotonic())

    def later(self) -> Outcome:
        """Return when to try again, the later the more often in a row it went wrong."""
        remembered = self.remembered
        remembered.failures += 1
        delay = self.keeper.backoff.delay(remembered.failures)
        remembered.retry_at = self.ctx.clock.monotonic() + delay
        return again(delay)

    def said(self, type_: str) -> ConditionUpdate:
        """Return what a condition says."""
        return current((self.obj.get("status") or {}).get("conditions"), type_)

    def summary(
        self, claims: list[ConditionUpdate], hindrance: ConditionUpdate | None = None
    ) -> ConditionUpdate:
        """Return what `Ready` says once claims are made; what is not claimed stays as it is."""
        claimed = {claim.type: claim for claim in claims}
        status = self.obj.get("status") or {}
        known = {c.get("type") for c in status.get("conditions") or () if isinstance(c, dict)}
        kept = [self.said(type_) for type_ in OUTCOME if type_ in known and type_ not in claimed]
        return ready([*claims, *kept], hindrance)

    async def write(self, update: Update) -> None:
        """Write the status, if anything in it changes; a new failure is an event, too.

        Raises:
            Conflict: somebody else changed the ManagedResource meanwhile; look again.
        """
        before, now = self.obj.get("status"), self.ctx.clock.now()
        if len(update.resources or ()) > MANY:
            status, change = await self.ctx.cpu(_changed, before, update, now)
        else:
            status, change = _changed(before, update, now)
        if change:
            await self.ctx.patch(self.obj, {"status": change}, subresource="status")
            self.remembered.confirmed = True
            for claim in update.claims:
                if (claim.type, claim.status) == (APPLIED, "False") and claim != self.said(APPLIED):
                    self.ctx.event(self.obj, "Warning", claim.reason, claim.message)
        self.obj = {**self.obj, "status": status}


def _read(entry: Entry) -> tuple[ManagedResource, JsonObject]:
    return entry.as_(ManagedResource), entry.obj()


def _changed(before: Any, update: Update, now: datetime) -> tuple[JsonObject, JsonObject]:
    """Return a status after an update, and the merge patch that leads there."""
    status = updated(before, update, now)
    old = before if isinstance(before, dict) else {}
    fields = {name for name in (*old, *status) if old.get(name) is not status.get(name)}
    change: JsonObject = create_merge_patch(
        {name: old[name] for name in fields if name in old},
        {name: status[name] for name in fields if name in status},
    )
    return status, change

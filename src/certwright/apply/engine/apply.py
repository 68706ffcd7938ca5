"""Applying one object: look, decide, write at most what is needed, say what became of it."""

import asyncio
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field
from typing import Final

import orjson

from certwright.apply.changeset import Action, Change
from certwright.apply.cluster import POLL_SECONDS, Cluster, Live, UnknownKind
from certwright.apply.engine.adoption import Right, is_given_up, needs_transfer, ownership
from certwright.apply.engine.blockers import obstacles
from certwright.apply.engine.declared import Adopt, Declared, Owner, desired_of
from certwright.apply.engine.findings import (
    Definitions,
    ObjectOutcome,
    configured,
    contested,
    created,
    failed,
    field_conflict,
)
from certwright.apply.engine.leftovers import leftovers
from certwright.apply.engine.memory import Memory, digest_of
from certwright.apply.engine.preserve import Sent, preserve
from certwright.apply.engine.recreation import recreation
from certwright.apply.engine.takeover import TakeOver
from certwright.apply.refs import ObjectRef
from certwright.client import TransportError
from certwright.kube import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    Resource,
)
from certwright.kube.patches import apply_merge_patch
from certwright.kube.redaction import without_values_of

ATTEMPTS: Final = 5
"""How often an object is looked at anew when it changed between look and write."""
YOUNG_ATTEMPTS: Final = 20
"""How often a kind or namespace that was created a moment ago is tried again."""

BeforeWrite = Callable[[], Awaitable[None]]
"""Is awaited before an object is written; what it raises ends the run, but for an `ApiError`."""


@dataclass(frozen=True)
class ApplyRun:
    """What all objects of one apply share."""

    cluster: Cluster
    memory: Memory
    owner: Owner | None
    dry_run: bool
    always: bool
    expected: Container[ObjectRef]
    definitions: Definitions = field(default_factory=Definitions)
    before_write: BeforeWrite | None = None

    async def writable(self) -> Cluster:
        """Return the cluster as soon as it may be written to; a dry run always may."""
        if self.before_write is not None and not self.dry_run:
            await self.before_write()
        return self.cluster


async def apply_one(run: ApplyRun, wanted: Declared) -> ObjectOutcome:
    """Bring one object to the cluster; failures are part of the answer."""
    try:
        if waiting := run.definitions.waits_for(wanted.ref):
            return ObjectOutcome(Change(wanted.ref, Action.BLOCKED, waiting))
        resource = await _resource(run, wanted)
        return await _patiently(run, _Application(run, wanted, resource))
    except (UnknownKind, NotFound) as error:
        if run.dry_run and run.definitions.brings(wanted.ref):
            return created(wanted.ref, None, dry_run=True)
        return failed(wanted, error)
    except (ApiError, TransportError, ValueError, orjson.JSONEncodeError) as error:
        return failed(wanted, error)
    except RecursionError:
        return failed(wanted, ValueError("the object in the cluster is nested too deeply"))


async def _resource(run: ApplyRun, wanted: Declared) -> Resource:
    gvk = wanted.ref.gvk
    try:
        return await run.cluster.resource(gvk)
    except UnknownKind:
        if (just_defined := run.definitions.resource(gvk)) is None:
            raise
        return just_defined


async def _patiently(run: ApplyRun, application: "_Application") -> ObjectOutcome:
    """Try again with a fresh look when the object changed meanwhile, or its place is young."""
    conflicts = missing = 0
    while True:
        try:
            return await application.attempt(fresh=conflicts > 0)
        except Conflict as refusal:
            if (contest := application.contest(refusal)) is not None:
                return contest
            conflicts += 1
            if conflicts == ATTEMPTS:
                raise
            await asyncio.sleep(0.01 * 2**conflicts)
        except NotFound:
            missing += 1
            if run.dry_run or not run.definitions.young or missing == YOUNG_ATTEMPTS:
                raise
            await asyncio.sleep(POLL_SECONDS[min(missing, len(POLL_SECONDS)) - 1])


class _Application:
    """One attempt at one object."""

    def __init__(self, run: ApplyRun, wanted: Declared, resource: Resource) -> None:
        self._run = run
        self._wanted = wanted
        self._rules = wanted.rules
        self._resource = resource
        self._desired = desired_of(wanted, run.owner)
        self._digest = digest_of(self._desired)
        self._foreseen: TakeOver | None = None
        """What a dry run did not do, and has to be thought of."""

    def contest(self, refusal: Conflict) -> ObjectOutcome | None:
        """Report fields that are left to other managers; None if that is not the conflict."""
        if self._rules.force:
            return None
        held = [held for cause in refusal.causes if (held := field_conflict(cause))]
        return contested(self._wanted, held) if held else None

    async def attempt(self, *, fresh: bool) -> ObjectOutcome:
        """Look at the object and do what is needed; *fresh* when the last look was stale."""
        live = await self._read(fresh=fresh)
        if live is None and self._should_look() and not fresh:
            live = await self._read(fresh=True)
        if self._rules.create_only:
            return await self._create_only(live)
        if live is None:
            return await self._create()
        return await self._update(live)

    async def _read(self, *, fresh: bool) -> Live | None:
        return await self._run.cluster.read(self._resource, self._wanted.ref.key, fresh=fresh)

    def _should_look(self) -> bool:
        """Return whether an object nobody sees must be looked for before it is created."""
        rules = self._rules
        careful = rules.adopt is not Adopt.ALWAYS or rules.fall_back
        if self._wanted.ref in self._run.expected:
            # Either somebody deleted it, or our view is older than it, and it may by now be
            # somebody else's. What we had in view before is certainly the former.
            known = self._run.memory.get(self._resource, self._wanted.ref.key)
            careful |= rules.create_only or known is None
        preserving = rules.preserve_replicas or rules.preserve_resources
        return (careful or preserving) and not self._run.cluster.sees_all

    async def _create_only(self, live: Live | None) -> ObjectOutcome:
        if live is None:
            try:
                cluster = await self._run.writable()
                live = await cluster.create(
                    self._resource, self._desired, dry_run=self._run.dry_run
                )
                return created(self._wanted.ref, live, dry_run=self._run.dry_run)
            except AlreadyExists:
                live = await self._read(fresh=True)
        return ObjectOutcome(Change(self._wanted.ref, Action.UNCHANGED, "only ever created"), live)

    async def _create(self) -> ObjectOutcome:
        """Create the object, without force: nobody has seen one, but there may be one."""
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

    async def _update(self, live: Live) -> ObjectOutcome:
        ref, run = self._wanted.ref, self._run
        if live.deleting:
            waiting = f"it is being deleted, and comes back afterwards; {obstacles(live)}"
            return ObjectOutcome(Change(ref, Action.BLOCKED, waiting), live)
        manager, given_up = run.cluster.field_manager, await self._is_given_up(live)
        allowed = ownership(live, run.owner, self._rules, manager, given_up=given_up)
        if allowed.right is Right.REFUSE:
            return failed(self._wanted, Conflict(allowed.reason), live)
        if allowed.right is Right.LEAVE:
            return ObjectOutcome(Change(ref, Action.UNCHANGED, allowed.reason), live)
        if not run.always and self._is_known(live):
            return ObjectOutcome(Change(ref, Action.UNCHANGED), live)
        return await self._bring_in_line(live)

    async def _is_given_up(self, live: Live) -> bool:
        """Return whether an object names another owner that does not hold it."""
        run, ref, owner = self._run, self._wanted.ref, self._run.owner
        marked = live.annotations.get(owner.annotation) if owner is not None else None
        if owner is None or not marked or owner.owns(marked):
            return False
        if self._rules.take_over and not owner.withheld(marked, live.annotations):
            return False  # it is ours anyway
        applied = run.memory.get(self._resource, ref.key) is not None
        return await is_given_up(ref, live, owner, applied=applied, listed=ref in run.expected)

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
        return configured(self._wanted.ref, before, after, sent, self._run.cluster.field_manager)

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

    async def _recreate(self, live: Live, refusal: Invalid) -> ObjectOutcome:
        ref, run = self._wanted.ref, self._run
        way = recreation(self._wanted, live, refusal)
        if way is None:
            raise refusal
        refused = without_values_of(refusal.message, self._wanted.obj)
        reason = f"it could not be changed: {refused}"
        if run.dry_run:
            return ObjectOutcome(Change(ref, Action.RECREATED, reason), live)
        left = await run.cluster.delete(self._resource, live, propagation=way.propagation)
        if left is not None:
            waiting = f"{reason}; it was deleted and comes back; {obstacles(left)}"
            return ObjectOutcome(Change(ref, Action.BLOCKED, waiting), left)
        finding = await self._create()
        if finding.entry.action is not Action.CREATED:
            return finding
        return ObjectOutcome(Change(ref, Action.RECREATED, reason), finding.live)

    def _is_known(self, live: Live) -> bool:
        """Return whether this is the very state that was found to be right before."""
        known = self._run.memory.get(self._resource, self._wanted.ref.key)
        return (
            known is not None
            and known.version == live.resource_version
            and known.digest == self._digest
            and known.rules == self._rules
        )

    def _remember(self, live: Live, sent: Sent) -> None:
        if not self._run.dry_run:
            own = live.own(self._run.cluster.field_manager)
            place = (self._resource, self._wanted.ref.key)
            self._run.memory.remember(place, live, own, self._digest, sent.obj, self._rules)


def _is_shared(live: Live, field_manager: str) -> bool:
    """Return whether an object we meant to create shows the hand of others, so was there before."""
    return any(writer.manager != field_manager for writer in live.writers())

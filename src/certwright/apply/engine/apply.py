"""Bringing one object to the cluster: look, decide, write what is needed, say what became of it.

How it is written is up to a subclass of `Application`: see `replace` and `serverside`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field
from typing import Final

import orjson

from certwright.apply.changeset import Action, Change
from certwright.apply.cluster import POLL_SECONDS, Cluster, Live
from certwright.apply.engine.adoption import Right, is_given_up, ownership
from certwright.apply.engine.blockers import obstacles
from certwright.apply.engine.declared import Adopt, Declared, Owner, desired_of
from certwright.apply.engine.findings import Definitions, ObjectOutcome, created, failed
from certwright.apply.engine.memory import Memory, digest_of
from certwright.apply.engine.preserve import becomes_headless
from certwright.apply.kinds import UnknownKind
from certwright.apply.refs import ObjectRef
from certwright.client import Propagation, TransportError
from certwright.kube import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    Resource,
)
from certwright.kube.redaction import without_values_of

ATTEMPTS: Final = 5
"""How often an object is looked at anew when it changed between look and write."""
YOUNG_ATTEMPTS: Final = 20
"""How often a kind or namespace that was created a moment ago is tried again."""
_CONFIGURATION: Final = frozenset({("v1", "ConfigMap"), ("v1", "Secret")})
_IMMUTABLE: Final = "field is immutable when `immutable` is set"

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
    application: "type[Application]"
    """How objects are written."""
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
        return await _patiently(run, run.application(run, wanted, resource))
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


async def _patiently(run: ApplyRun, application: "Application") -> ObjectOutcome:
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


class Application(ABC):
    """One object, and how it is brought to the cluster."""

    def __init__(self, run: ApplyRun, wanted: Declared, resource: Resource) -> None:
        self._run = run
        self._wanted = wanted
        self._rules = wanted.rules
        self._resource = resource
        self._desired = desired_of(wanted, run.owner)
        self._digest = digest_of(self._desired)

    def contest(self, _refusal: Conflict) -> ObjectOutcome | None:
        """Report fields that are left to other managers; None if that is not the conflict."""
        return None

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
        """Return whether an object that is not in view is looked for before it is created.

        One that we leave alone is there for long without being in view.
        """
        rules = self._rules
        careful = rules.adopt is not Adopt.ALWAYS or rules.fall_back
        careful |= rules.create_only and self._wanted.ref in self._run.expected
        return careful and not self._run.cluster.sees_all

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

    @abstractmethod
    async def _create(self) -> ObjectOutcome:
        """Create an object that is not known to exist; there may be one all the same."""

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

    @abstractmethod
    async def _bring_in_line(self, before: Live) -> ObjectOutcome:
        """Write what differs, and report it."""

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


@dataclass(frozen=True, slots=True)
class Recreation:
    """How an object goes before it comes back."""

    propagation: Propagation | None = None


def recreation(wanted: Declared, live: Live, refusal: Invalid) -> Recreation | None:
    """Decide whether the refusal of an update ends with a new object; None if it does not.

    Without being told so, only where nothing can be lost: immutable configuration, which is a
    value, and a Service that gives up its address, which has no other way. Raises `ValueError` if
    it should, but how its dependents go is not one of the possible ways.
    """
    ref, rules = wanted.ref, wanted.rules
    if not (rules.recreate or _is_harmless(ref, wanted, live, refusal)):
        return None
    if not rules.recreate_propagation:
        return Recreation()
    try:
        return Recreation(Propagation(rules.recreate_propagation))
    except ValueError as error:
        raise ValueError(
            f'invalid deletion propagation policy on object "{ref.id}": '
            f'"{rules.recreate_propagation}" is invalid, '
            f"supported values: [{' '.join(sorted(Propagation))}]"
        ) from error


def _is_harmless(ref: ObjectRef, wanted: Declared, live: Live, refusal: Invalid) -> bool:
    kind = (ref.api_version, ref.kind)
    if kind in _CONFIGURATION:
        return any(
            cause.reason == "FieldValueForbidden" and _IMMUTABLE in cause.message
            for cause in refusal.causes
        )
    return kind == ("v1", "Service") and becomes_headless(live.obj, wanted.obj)

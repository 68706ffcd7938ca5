"""Deleting one object: look, decide, delete exactly that, say what is left of it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from certwright.apply.changeset import Action, Change
from certwright.apply.cluster import Cluster, Live
from certwright.apply.engine.blockers import blockers, events_text
from certwright.apply.engine.declared import Owner
from certwright.apply.engine.deleterules import (
    DeleteRules,
    claims_selector,
    is_overdue,
    other_owner,
    propagation_for,
    reason_to_keep,
)
from certwright.apply.engine.findings import ObjectOutcome
from certwright.apply.engine.memory import Memory
from certwright.apply.kinds import UnknownKind
from certwright.apply.refs import ObjectRef
from certwright.client import TransportError
from certwright.clock import Clock
from certwright.kube import (
    ApiError,
    Conflict,
    GroupVersionKind,
    JsonObject,
    NotFound,
    Resource,
    ServiceUnavailable,
)
from certwright.kube.kinds import CoreEvent, PersistentVolumeClaim

ATTEMPTS: Final = 5

T = TypeVar("T")


@dataclass(frozen=True)
class Removal:
    """What all objects of one deletion share."""

    cluster: Cluster
    memory: Memory
    clock: Clock
    owner: Owner | None
    rules: DeleteRules
    dry_run: bool
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    doubtful: dict[GroupVersionKind, Resource | None] = field(default_factory=dict)
    """Kinds that seemed not to be served, and what the server said when asked again."""

    async def existing_kind(self, gvk: GroupVersionKind) -> Resource | None:
        """Return how a kind is served that did not seem to be; None if there certainly is none.

        Many objects may be of that kind: the server is asked once.
        """
        async with self.asking:
            if gvk not in self.doubtful:
                self.doubtful[gvk] = await self.cluster.existing_kind(gvk)
        return self.doubtful[gvk]


async def delete_one(run: Removal, ref: ObjectRef) -> ObjectOutcome:
    """Remove one object from the cluster; failures are part of the answer."""
    try:
        done = await _where_served(run, ref, partial(_patiently, run, ref))
        return done or _gone(ref)  # it went with its kind
    except (ApiError, TransportError, ValueError) as error:
        return not_deleted(ref, error)


async def _where_served(
    run: Removal, ref: ObjectRef, act: Callable[[Resource], Awaitable[T]]
) -> T | None:
    """Do something about an object where its kind is served; None if there is no such kind.

    Raises:
        ServiceUnavailable: there is, and the server does not serve it right now.
    """
    with suppress(UnknownKind):
        return await act(await run.cluster.resource(ref.gvk, any_version=True))
    if (existing := await run.existing_kind(ref.gvk)) is None:
        return None
    try:
        return await act(existing)
    except UnknownKind as error:
        raise ServiceUnavailable(
            f"there is a kind {ref.gvk}, but the server does not serve it right now; try again, and"
            " if that does not help, look at the conditions of its CustomResourceDefinition"
        ) from error


def not_deleted(ref: ObjectRef, error: Exception) -> ObjectOutcome:
    """Report an object that could not be deleted."""
    return ObjectOutcome(Change(ref, Action.FAILED, str(error)), error=error)


async def release_one(run: Removal, ref: ObjectRef) -> ObjectOutcome:
    """Take the owner's mark off an object that stays, unless it carries another one by now."""
    try:
        if not run.dry_run:
            await _where_served(run, ref, partial(_release, run, ref))
    except NotFound:
        pass  # it is gone
    except (ApiError, TransportError) as error:
        return ObjectOutcome(Change(ref, Action.FAILED, str(error)))
    return ObjectOutcome(Change(ref, Action.KEPT, "it is released"))


async def _release(run: Removal, ref: ObjectRef, resource: Resource) -> None:
    await _take_mark_off(run, ref, resource)
    run.memory.forget(resource, ref.key)


async def _take_mark_off(run: Removal, ref: ObjectRef, resource: Resource) -> None:
    owner = run.owner
    for fresh in (False, True):
        live = await run.cluster.read(resource, ref.key, fresh=fresh)
        if live is None and not fresh:
            continue  # it may have lost the label by which a cache selects
        if owner is None or live is None or live.annotations.get(owner.annotation) != owner.value:
            return
        version = {"uid": live.uid, "resourceVersion": live.resource_version}
        marks = dict.fromkeys((owner.annotation, *owner.marks, *filter(None, (owner.origin,))))
        patch: JsonObject = {"metadata": {**version, "annotations": marks}}
        if owner.labels:
            patch["metadata"]["labels"] = dict.fromkeys(owner.labels)
        try:
            await run.cluster.patch(resource, ref.key, patch)
            return
        except Conflict:
            if fresh:
                raise


async def _patiently(run: Removal, ref: ObjectRef, resource: Resource) -> ObjectOutcome:
    for attempt in range(ATTEMPTS):
        live = await _look(run, ref, resource, fresh=attempt > 0)
        if live is None:
            run.memory.forget(resource, ref.key)
            return _gone(ref)
        try:
            return await _delete(run, ref, resource, live)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.01 * 2**attempt)
    raise AssertionError("unreachable")


async def _look(run: Removal, ref: ObjectRef, resource: Resource, *, fresh: bool) -> Live | None:
    """Return an object; what would let it stay, that it is gone or another's, is asked for."""
    live = await run.cluster.read(resource, ref.key, fresh=fresh)
    if fresh or run.cluster.sees_all:
        return live
    if live is None:
        in_doubt = not run.memory.was_deleted(resource, ref.key)
    else:
        in_doubt = bool(other_owner(live, run.owner))
    return await run.cluster.read(resource, ref.key, fresh=True) if in_doubt else live


async def _delete(run: Removal, ref: ObjectRef, resource: Resource, live: Live) -> ObjectOutcome:
    if why := await reason_to_keep(ref, live, run.owner, run.rules):
        if not run.dry_run:
            run.memory.forget(resource, ref.key)
        return ObjectOutcome(Change(ref, Action.KEPT, why), live)
    if run.rules.claims:
        await _delete_claims(run, ref, live)
    if live.deleting:
        return await _await_end(run, ref, resource, live)
    left = await run.cluster.delete(
        resource, live, propagation=propagation_for(ref), dry_run=run.dry_run
    )
    if run.dry_run:
        return ObjectOutcome(Change(ref, Action.DELETED), live)
    if left is None:
        run.memory.forget(resource, ref.key)
        return ObjectOutcome(Change(ref, Action.DELETED))
    run.memory.note_deleted(resource, ref.key)
    return await _blocked(run, ref, left)


async def _await_end(run: Removal, ref: ObjectRef, resource: Resource, live: Live) -> ObjectOutcome:
    """Report an object that is going already, and clear its finalizers when that took too long."""
    if run.dry_run:
        return await _blocked(run, ref, live)
    run.memory.note_deleted(resource, ref.key)
    try:
        overdue = is_overdue(live, run.rules, run.clock.now())
    except ValueError as error:
        return await _blocked(run, ref, live, str(error))
    if not overdue:
        return await _blocked(run, ref, live)
    left = await run.cluster.finalize(resource, live)
    if left is not None:
        return await _blocked(run, ref, left)
    reason = f"its finalizers were cleared: {', '.join(live.finalizers)}"
    return ObjectOutcome(Change(ref, Action.DELETED, reason))


async def _delete_claims(run: Removal, ref: ObjectRef, live: Live) -> None:
    selector = claims_selector(ref, live)
    if not selector:
        return
    try:
        kind = PersistentVolumeClaim
        for claim in await run.cluster.list(kind, ref.namespace, labels=selector):
            if not claim.deleting:
                await run.cluster.delete(kind, claim, dry_run=run.dry_run)
    except NotFound:
        return
    except ApiError as error:
        raise type(error)(
            f"failed cleaning up PersistentVolumeClaims of StatefulSet: {error.message}"
        ) from error


async def _blocked(run: Removal, ref: ObjectRef, live: Live, problem: str = "") -> ObjectOutcome:
    reason = "; ".join(filter(None, [problem, blockers(live, run.clock.now())]))
    if (ref.api_version, ref.kind) == ("v1", "Service"):
        reason += await warnings_about(run.cluster, ref, run.clock)
    return ObjectOutcome(Change(ref, Action.BLOCKED, reason), live)


async def warnings_about(cluster: Cluster, ref: ObjectRef, clock: Clock) -> str:
    """Return warnings about an object to append to a message; empty if none can be read."""
    about = f"involvedObject.kind={ref.kind},involvedObject.name={ref.name},type=Warning"
    try:
        events = await cluster.list(CoreEvent, ref.namespace, fields=about)
    except (ApiError, TransportError):
        return ""
    text = events_text((event.obj for event in events), clock.now())
    return f"\n\n{text}" if text else ""


def _gone(ref: ObjectRef) -> ObjectOutcome:
    return ObjectOutcome(Change(ref, Action.UNCHANGED, "it is gone already"))

"""One pass of the garbage collector: list, assess, annotate, list again, delete.

Between the last list and a deletion lie milliseconds, and a deletion applies only to the version
of the object that was assessed. So a client that begins to use an old object is entirely safe if
it removes the annotation first: `certwright.managed.ensure` does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Conflict, Key, NotFound, Resource, kinds
from certwright.kube.timestamps import format_micro_time
from certwright.managed.unique import UNUSED_SINCE
from certwright.operators.garbagecollector.decision import (
    Candidate,
    GarbageVerdict,
    ObjectKey,
    Survey,
    assess_all,
    confirmed,
    needs_mark,
    needs_unmark,
)
from certwright.operators.garbagecollector.settings import CollectorSettings
from certwright.operators.garbagecollector.snapshot import take_snapshot

FIELD_MANAGER: Final = "certwright-garbage-collector"
CONCURRENCY: Final = 8
"""How many objects are written or deleted at a time."""

MANY_NAMESPACES: Final = 8
"""From how many namespaces on the second list covers all of them at once."""

_RESOURCES: Final[Mapping[str, Resource]] = {"ConfigMap": kinds.ConfigMap, "Secret": kinds.Secret}

InUse = Callable[[], Awaitable[Mapping[ObjectKey, str]]]
"""Returns what is in use for reasons the cluster does not show, and what uses it."""


async def no_further_users() -> Mapping[ObjectKey, str]:
    """Return no further users."""
    return {}


@dataclass(frozen=True, slots=True)
class Failure:
    """An object that could not be deleted or annotated, and why."""

    candidate: Candidate
    error: ApiError | TransportError

    def __str__(self) -> str:
        return f"{self.candidate.key}: {self.error}"


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """What one pass found and did."""

    survey: Survey
    deleted: tuple[Candidate, ...] = ()
    failures: tuple[Failure, ...] = ()
    """What could not be deleted or annotated."""


async def survey(
    client: Client,
    settings: CollectorSettings,
    clock: Clock,
    in_use: InUse = no_further_users,
    namespaces: tuple[str, ...] = (),
) -> Survey:
    """Assess everything collectable, in some namespaces or in all, and change nothing."""
    now = clock.now()  # before the lists: what is old enough now is listed with all that uses it
    snapshot = await take_snapshot(client, settings, namespaces)
    users = {**await in_use(), **snapshot.users}
    return assess_all(snapshot.candidates, users, now, settings.minimum_lifetime)


async def collect(
    client: Client, settings: CollectorSettings, clock: Clock, in_use: InUse = no_further_users
) -> CollectionResult:
    """Assess everything collectable, annotate what is unused, delete what has been for long enough.

    Raises:
        ApiError, TransportError, ValueError: something could not be read; then nothing was
            deleted.
    """
    first = await survey(client, settings, clock, in_use)
    if settings.dry_run:
        return CollectionResult(first)
    failures = tuple(await _annotate_unused(client, first, clock))
    garbage = first.of(GarbageVerdict.COLLECTABLE)
    if not garbage:
        return CollectionResult(first, failures=failures)
    namespaces = {assessment.candidate.key.namespace for assessment in garbage}
    scope = tuple(sorted(namespaces)) if len(namespaces) < MANY_NAMESPACES else ()
    second = await survey(client, settings, clock, in_use, scope)
    garbage_now = confirmed(first, second)
    done = await _each(garbage_now, lambda candidate: _delete(client, candidate))
    return CollectionResult(first, tuple(done.acted), (*failures, *done.failures))


async def _annotate_unused(client: Client, found: Survey, clock: Clock) -> list[Failure]:
    """Annotate objects with the time since when they are unused; remove it from used ones."""
    now = clock.now()
    unmark = [one.candidate for one in found.assessments if needs_unmark(one)]
    mark = [one.candidate for one in found.assessments if needs_mark(one, now)]
    since = format_micro_time(now)
    unmarked = await _each(unmark, lambda candidate: _annotate(client, candidate, None))
    marked = await _each(mark, lambda candidate: _annotate(client, candidate, since))
    return unmarked.failures + marked.failures


async def _annotate(client: Client, candidate: Candidate, since: str | None) -> None:
    key = candidate.key
    metadata = {"uid": candidate.uid, "annotations": {UNUSED_SINCE: since}}
    if since:  # removing it is right whatever else has changed
        metadata["resourceVersion"] = candidate.resource_version
    name = Key(key.namespace, key.name)
    patch = {"metadata": metadata}
    await client.patch(_RESOURCES[key.kind], name, patch, field_manager=FIELD_MANAGER)


async def _delete(client: Client, candidate: Candidate) -> None:
    key = candidate.key
    await client.delete(
        _RESOURCES[key.kind],
        Key(key.namespace, key.name),
        uid=candidate.uid,
        resource_version=candidate.resource_version,
    )


@dataclass(frozen=True, slots=True)
class _Done:
    acted: list[Candidate] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


async def _each(
    candidates: Iterable[Candidate], act: Callable[[Candidate], Awaitable[None]]
) -> _Done:
    """Act on each, a few at a time. One that has changed or is gone is left for the next pass."""
    slots = asyncio.Semaphore(CONCURRENCY)
    done = _Done()

    async def one(candidate: Candidate) -> None:
        async with slots:
            try:
                await act(candidate)
                done.acted.append(candidate)
            except (Conflict, NotFound):
                pass
            except (ApiError, TransportError) as error:
                done.failures.append(Failure(candidate, error))

    async with asyncio.TaskGroup() as group:
        for candidate in candidates:
            group.create_task(one(candidate))
    return done

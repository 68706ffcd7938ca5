"""One pass of the garbage collector: look, judge, note, look again, delete.

Between the last look and a deletion lie milliseconds, and a deletion hits only the very version
of the object that was judged. So whoever wants to be entirely safe when beginning to use an old
object takes its note away first: `certwright.managed.ensure` does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Conflict, Key, NotFound, Resource, kinds
from certwright.kube.timestamps import format_micro_time
from certwright.managed import UNUSED_SINCE
from certwright.operators.garbagecollector.decision import (
    Candidate,
    Place,
    Report,
    Verdict,
    confirmed,
    judge_all,
    needs_mark,
    needs_unmark,
)
from certwright.operators.garbagecollector.settings import Settings
from certwright.operators.garbagecollector.snapshot import look

FIELD_MANAGER: Final = "certwright-garbage-collector"
CONCURRENCY: Final = 8
"""How many objects are written or deleted at a time."""

MANY_NAMESPACES: Final = 8
"""From how many namespaces on the second look is at all of them at once."""

_RESOURCES: Final[Mapping[str, Resource]] = {"ConfigMap": kinds.ConfigMap, "Secret": kinds.Secret}

InUse = Callable[[], Awaitable[Mapping[Place, str]]]
"""Finds out what is in use for reasons the cluster does not show, and by whom."""


async def nothing_else() -> Mapping[Place, str]:
    """Know of no further users."""
    return {}


@dataclass(frozen=True, slots=True)
class Failure:
    """An object that could not be deleted or noted, and why."""

    candidate: Candidate
    error: ApiError | TransportError

    def __str__(self) -> str:
        return f"{self.candidate.place}: {self.error}"


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did."""

    report: Report
    deleted: tuple[Candidate, ...] = ()
    failures: tuple[Failure, ...] = ()
    """What could not be deleted or noted."""


async def survey(
    client: Client, settings: Settings, clock: Clock, in_use: InUse = nothing_else
) -> Report:
    """Judge everything collectable, and change nothing.

    Raises:
        ApiError, TransportError, ValueError: something could not be read.
    """
    return await _judged(client, settings, clock, in_use)


async def collect(
    client: Client, settings: Settings, clock: Clock, in_use: InUse = nothing_else
) -> Pass:
    """Judge everything collectable, note what is unused, delete what has been for long enough.

    Raises:
        ApiError, TransportError, ValueError: something could not be read; then nothing was
            deleted.
    """
    report = await _judged(client, settings, clock, in_use)
    if settings.dry_run:
        return Pass(report)
    failures = tuple(await _note(client, report, clock))
    garbage = report.of(Verdict.COLLECTABLE)
    if not garbage:
        return Pass(report, failures=failures)
    namespaces = {judgement.candidate.place.namespace for judgement in garbage}
    scope = tuple(sorted(namespaces)) if len(namespaces) < MANY_NAMESPACES else ()
    again = await _judged(client, settings, clock, in_use, scope)
    going = confirmed(report, again)
    done = await _each(going, lambda candidate: _delete(client, candidate))
    return Pass(report, tuple(done.acted), (*failures, *done.failures))


async def _judged(
    client: Client,
    settings: Settings,
    clock: Clock,
    in_use: InUse,
    namespaces: tuple[str, ...] = (),
) -> Report:
    now = clock.now()  # what is old enough by now is seen with all that uses it by now
    snapshot = await look(client, settings, namespaces)
    users = {**await in_use(), **snapshot.users}
    return judge_all(snapshot.candidates, users, now, settings.minimum_lifetime)


async def _note(client: Client, report: Report, clock: Clock) -> list[Failure]:
    """Write on the objects since when nothing uses them, and take it back where something does."""
    now = clock.now()
    unmark = [one.candidate for one in report.judgements if needs_unmark(one)]
    mark = [one.candidate for one in report.judgements if needs_mark(one, now)]
    since = format_micro_time(now)
    unmarked = await _each(unmark, lambda candidate: _annotate(client, candidate, None))
    marked = await _each(mark, lambda candidate: _annotate(client, candidate, since))
    return unmarked.failures + marked.failures


async def _annotate(client: Client, candidate: Candidate, since: str | None) -> None:
    place = candidate.place
    metadata = {"uid": candidate.uid, "annotations": {UNUSED_SINCE: since}}
    if since:  # to take a note back is right whatever else has changed
        metadata["resourceVersion"] = candidate.resource_version
    key = Key(place.namespace, place.name)
    patch = {"metadata": metadata}
    await client.patch(_RESOURCES[place.kind], key, patch, field_manager=FIELD_MANAGER)


async def _delete(client: Client, candidate: Candidate) -> None:
    place = candidate.place
    await client.delete(
        _RESOURCES[place.kind],
        Key(place.namespace, place.name),
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
    """Act on each, a few at a time. One that changed or is gone was somebody else's turn."""
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

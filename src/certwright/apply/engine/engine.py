"""Bring objects to a cluster and take them away again.

`Engine.apply` makes the cluster hold what is wanted, stage by stage; `Engine.delete` removes
what is not wanted any more, in the opposite order. Neither waits for other controllers for
longer than a moment: what has to wait is reported as blocked, and the caller comes again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import suppress
from typing import Final, Protocol, TypeVar

from certwright.apply.changeset import Action, Change, ChangeSet
from certwright.apply.cluster import Cluster, Live
from certwright.apply.engine.apply import ApplyRun, BeforeWrite, apply_one
from certwright.apply.engine.declared import Declared, Owner
from certwright.apply.engine.delete import Removal, delete_one, release_one
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.engine.findings import (
    Definitions,
    ObjectOutcome,
    failed,
    is_decided,
    is_definition,
    is_established,
)
from certwright.apply.engine.memory import Memory
from certwright.apply.ordering import is_awaited, stages, waves
from certwright.apply.refs import ObjectRef
from certwright.client import TransportError
from certwright.clock import SYSTEM, Clock
from certwright.kube import ApiError

CONCURRENCY: Final = 8
ESTABLISHED_SECONDS: Final = 10.0
"""How long a definition is waited for; servers take a fraction of a second, or five."""

_LINGERS: Final = frozenset({Action.BLOCKED, Action.FAILED})

T = TypeVar("T")


class OnEntry(Protocol):
    """Is told about each object as soon as it is done, with its state if it is still there."""

    def __call__(self, entry: Change, live: Live | None) -> None:
        """Take note."""
        ...


class Engine:
    """Applies and deletes objects of one cluster."""

    def __init__(
        self, cluster: Cluster, memory: Memory | None = None, *, clock: Clock = SYSTEM
    ) -> None:
        self._cluster = cluster
        self._memory = memory if memory is not None else Memory()
        self._clock = clock

    async def apply(
        self,
        wanted: Iterable[Declared],
        *,
        owner: Owner | None = None,
        dry_run: bool = False,
        always: bool = False,
        expected: Container[ObjectRef] = (),
        concurrency: int = CONCURRENCY,
        on_entry: OnEntry | None = None,
        before_write: BeforeWrite | None = None,
    ) -> ChangeSet:
        """Make the cluster hold these objects; what fails does not keep the others.

        *owner* is written on each object, and respected where another one is. *always* writes
        also what does not differ. What is *expected* to be there is looked for before it is
        created, where it is only ever created. *dry_run* lets the server judge and changes nothing.
        *before_write* is awaited before anything is written, so never if nothing differs.
        """
        once, ambiguous = _by_ref(wanted)
        definitions = Definitions(once.values())
        run = ApplyRun(
            self._cluster, self._memory, owner, dry_run, always, expected, definitions, before_write
        )
        report = _Report(on_entry)
        for one in ambiguous:
            report.add(failed(one, ValueError("it is wanted twice, in different forms")))

        async def bring(ref: ObjectRef) -> None:
            finding = await apply_one(run, once[ref])
            if is_awaited(ref) and not dry_run:
                finding = await self._await(finding)
                definitions.note(once[ref].obj, finding)
            report.add(finding)

        planned = stages(once)
        for stage in planned:
            await _each(stage, bring, concurrency)
        refs = [ref for stage in planned for ref in stage]
        return report.in_order([*refs, *(one.ref for one in ambiguous)])

    async def delete(
        self,
        refs: Iterable[ObjectRef],
        *,
        owner: Owner | None = None,
        rules: DeleteRules = KEEP_NOTHING,
        dry_run: bool = False,
        concurrency: int = CONCURRENCY,
        on_entry: OnEntry | None = None,
    ) -> ChangeSet:
        """Delete objects, users before what they use; one that lingers keeps what it needs.

        Objects of another owner, and those the rules keep, are ``kept``; what is not gone at
        once is ``blocked``, with what holds it.
        """
        run = Removal(self._cluster, self._memory, self._clock, owner, rules, dry_run)
        report = _Report(on_entry)
        waiting_for = ""

        async def remove(ref: ObjectRef) -> None:
            report.add(await delete_one(run, ref))

        planned = waves(refs)
        for wave in planned:
            if waiting_for and not dry_run:
                for ref in wave:
                    report.add(ObjectOutcome(Change(ref, Action.BLOCKED, waiting_for)))
                continue
            await _each(wave, remove, concurrency)
            waiting_for = report.lingering(wave)
        return report.in_order([ref for wave in planned for ref in wave])

    async def release(
        self, refs: Iterable[ObjectRef], *, owner: Owner, dry_run: bool = False
    ) -> ChangeSet:
        """Take the owner's mark off objects, which stay; ``failed`` where that is not possible."""
        run = Removal(self._cluster, self._memory, self._clock, owner, KEEP_NOTHING, dry_run)
        return ChangeSet.of([(await release_one(run, ref)).entry for ref in refs])

    async def is_terminating(self, ref: ObjectRef) -> bool:
        """Return whether an object is gone, or on its way out, which nothing can stop."""
        with suppress(ApiError, TransportError, ValueError):  # deleting it tells
            resource = await self._cluster.resource(ref.gvk)
            live = await self._cluster.read(resource, ref.key)
            if live is None and not self._cluster.sees_all:  # or it has lost its label
                live = await self._cluster.read(resource, ref.key, fresh=True)
            return live is None or live.deleting
        return False

    async def _await(self, finding: ObjectOutcome) -> ObjectOutcome:
        """Wait a moment until the server serves a new kind; if it does not, its objects fail."""
        live, ref = finding.live, finding.entry.ref
        if not is_definition(ref) or live is None or is_established(live):
            return finding
        if finding.entry.action in _LINGERS:
            return finding
        try:
            resource = await self._cluster.resource(ref.gvk)
            later = await self._cluster.until(resource, ref.key, is_decided, ESTABLISHED_SECONDS)
        except (ApiError, TransportError):
            return finding
        return ObjectOutcome(finding.entry, later or live)


class _Report:
    """Collects what became of objects as they are done."""

    def __init__(self, on_entry: OnEntry | None) -> None:
        self._on_entry = on_entry
        self._found: dict[ObjectRef, ObjectOutcome] = {}

    def add(self, finding: ObjectOutcome) -> None:
        self._found[finding.entry.ref] = finding
        if self._on_entry is not None:
            self._on_entry(finding.entry, finding.live)

    def lingering(self, wave: Sequence[ObjectRef]) -> str:
        """Return what of a wave has to be gone before the next; empty if nothing."""
        for ref in wave:
            if self._found[ref].entry.action in _LINGERS:
                return f"it waits for {ref} to be gone"
        return ""

    def in_order(self, refs: Sequence[ObjectRef]) -> ChangeSet:
        return ChangeSet.of(self._found[ref].entry for ref in refs)


def _by_ref(wanted: Iterable[Declared]) -> tuple[dict[ObjectRef, Declared], list[Declared]]:
    """Return each object once, and those that are wanted in several forms: nobody knows which."""
    forms: dict[tuple[str, str, str, str], list[Declared]] = {}
    for one in wanted:
        known = forms.setdefault(one.ref.identity, [])
        if one not in known:
            known.append(one)
    once = {known[0].ref: known[0] for known in forms.values() if len(known) == 1}
    return once, [known[0] for known in forms.values() if len(known) > 1]


async def _each(items: Sequence[T], work: Callable[[T], Awaitable[None]], concurrency: int) -> None:
    """Do the work for all items, several at a time; the first exception ends it."""
    rest = iter(items)

    async def worker() -> None:
        for item in rest:
            await work(item)
            await asyncio.sleep(0)  # work that finds nothing to do never waits by itself

    if len(items) == 1:
        await work(items[0])
        return
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(items))):
                group.create_task(worker())
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several

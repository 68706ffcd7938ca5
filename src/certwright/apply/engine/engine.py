"""Bring objects to a cluster and take them away again.

`Engine.apply` makes the cluster hold what is wanted, stage by stage; `Engine.delete` removes
what is not wanted any more, in the opposite order. Neither waits for other controllers for
longer than a moment: what has to wait is reported as blocked, and the caller comes again. Nor does
either go on asking a server that fails every time, or for longer than it may take. What was not
tried then comes first in the next run, and what failed comes last.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Sequence, Sized
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol, TypeVar

from certwright.apply.changeset import Action, Change, ChangeSet
from certwright.apply.cluster import Cluster, Live
from certwright.apply.engine.apply import ApplyRun, BeforeWrite, apply_one
from certwright.apply.engine.declared import Declared, Owner
from certwright.apply.engine.delete import Removal, delete_one, not_deleted, release_one
from certwright.apply.engine.deleterules import KEEP_NOTHING, DeleteRules
from certwright.apply.engine.findings import (
    Definitions,
    ObjectOutcome,
    failed,
    is_decided,
    is_definition,
    is_established,
    is_refusal,
)
from certwright.apply.engine.memory import Memory
from certwright.apply.engine.replace import Replacement
from certwright.apply.engine.serverside import Cooperation
from certwright.apply.kinds import UnknownKind
from certwright.apply.ordering import Lingering, is_awaited, stages, waves
from certwright.apply.refs import ObjectRef
from certwright.client import Timeout, TransportError
from certwright.clock import SYSTEM, Clock
from certwright.kube import ApiError

CONCURRENCY: Final = 8
ESTABLISHED_SECONDS: Final = 10.0
"""How long a definition is waited for; servers take a fraction of a second, or five."""
MANY: Final = 500
"""From so many objects on, other tasks run between two steps over all of them."""

_LINGERS: Final = frozenset({Action.BLOCKED, Action.FAILED})

T = TypeVar("T")


class OnEntry(Protocol):
    """Is told about each object as soon as it is done, with its state if it is still there."""

    def __call__(self, entry: Change, live: Live | None) -> None:
        """Take note."""
        ...


class Engine:
    """Applies and deletes objects of one cluster.

    Objects are written by server-side apply, beside what others write to them. With *replaces*
    they are exactly as declared: what others add goes, but for what `keptfields` lists.
    """

    def __init__(
        self,
        cluster: Cluster,
        memory: Memory | None = None,
        *,
        clock: Clock = SYSTEM,
        seconds: float | None = None,
        replaces: bool = False,
    ) -> None:
        self._application = Replacement if replaces else Cooperation
        self._cluster = cluster
        self._memory = memory if memory is not None else Memory()
        self._clock = clock
        self._seconds = seconds
        """After how long no further objects are begun with; what takes half as long again ends."""
        self._failed: set[ObjectRef] = set()

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
        await give_way(once)
        definitions = Definitions(once.values())
        await give_way(once)
        run = ApplyRun(
            self._cluster,
            self._memory,
            owner,
            dry_run,
            always,
            expected,
            self._application,
            definitions,
            before_write,
        )
        report = _Report(on_entry, self._failed, self._seconds)
        for one in ambiguous:
            report.add(failed(one, ValueError("it is wanted twice, in different forms")))

        async def bring(ref: ObjectRef) -> None:
            if report.gives_up(ref):
                return
            finding = await apply_one(run, once[ref])
            if is_awaited(ref) and not dry_run:
                finding = await self._await(finding)
                definitions.note(once[ref].obj, finding)
            report.add(finding)

        planned = stages(once)
        await give_way(once)
        refs = [ref for stage in planned for ref in stage]
        async with self._in_time(report, refs, lambda ref, error: failed(once[ref], error)):
            for stage in planned:
                await _each(report.untried_first(stage), bring, concurrency)
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
        report = _Report(on_entry, self._failed, self._seconds)
        lingering = Lingering()

        async def remove(ref: ObjectRef) -> None:
            if not report.gives_up(ref):
                report.add(await delete_one(run, ref))

        planned = waves(refs)
        refs = [ref for wave in planned for ref in wave]
        async with self._in_time(report, refs, not_deleted):
            for wave in planned:
                may_go = []
                for ref in wave:
                    needed_by = None if dry_run else lingering.holds_back(ref)
                    if needed_by is None:
                        may_go.append(ref)
                    else:
                        report.wait(ref, f"it waits for {needed_by} to be gone")
                await _each(report.untried_first(may_go), remove, concurrency)
                for ref in report.lingering(wave):
                    lingering.add(ref)
        return report.in_order(refs)

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

    async def missing(self, refs: Sequence[ObjectRef], owner: Owner) -> list[ObjectRef]:
        """Return which objects certainly are not there, or do not carry the owner's mark."""
        found: set[ObjectRef] = set()

        async def look(ref: ObjectRef) -> None:
            with suppress(ApiError, TransportError, ValueError):
                try:
                    resource = await self._cluster.resource(ref.gvk)
                    live = await self._cluster.read(resource, ref.key, fresh=True)
                except UnknownKind:
                    live = None
                if live is None or not owner.owns(live.annotations.get(owner.annotation) or ""):
                    found.add(ref)

        await _each(refs, look, CONCURRENCY)
        return [ref for ref in refs if ref in found]

    @asynccontextmanager
    async def _in_time(
        self,
        report: "_Report",
        refs: Sequence[ObjectRef],
        fail: Callable[[ObjectRef, Exception], ObjectOutcome],
    ) -> AsyncIterator[None]:
        """End what takes too long, and report what was not done by then."""
        try:
            async with asyncio.timeout(report.patience) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            report.end(refs, fail)

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


MOST_FAILURES: Final = 10
"""How often in a row a server may fail with objects of one kind in one namespace."""
MOST_FAILURES_IN_ALL: Final = 50
"""How often in a row it may fail with any objects."""


class _Report:
    """Collects what became of objects as they are done, and sees when to give up."""

    def __init__(
        self, on_entry: OnEntry | None, failed_before: set[ObjectRef], seconds: float | None
    ) -> None:
        self.patience = None if seconds is None else seconds * 1.5
        self._seconds = seconds
        self._began = asyncio.get_running_loop().time()
        self._on_entry = on_entry
        self._failed = failed_before
        self._found: dict[ObjectRef, ObjectOutcome] = {}
        self._tried: set[ObjectRef] = set()
        self._failures: dict[tuple[str, ...], tuple[str, int]] = {}

    def add(self, finding: ObjectOutcome) -> None:
        ref, error = finding.entry.ref, finding.error
        self._found[ref] = finding
        if error is not None:
            self._note(ref, error)
        elif self._failures or self._failed:
            self._note_answer(ref)
        if self._on_entry is not None:
            self._on_entry(finding.entry, finding.live)

    def _note(self, ref: ObjectRef, error: Exception) -> None:
        """Count failures of the server; what it refuses or does not know are none."""
        if is_refusal(error):
            self._note_answer(ref)
        elif isinstance(error, (ApiError, TransportError)) and not isinstance(error, UnknownKind):
            self._failed.add(ref)
            for place in (_place(ref), ()):
                _, times = self._failures.get(place, ("", 0))
                self._failures[place] = (str(error), times + 1)

    def _note_answer(self, ref: ObjectRef) -> None:
        self._failed.discard(ref)
        self._failures.pop(_place(ref), None)
        self._failures.pop((), None)

    def gives_up(self, ref: ObjectRef) -> bool:
        """Return whether to ask no more about objects like this one; it is reported then."""
        if self._seconds is not None:
            if asyncio.get_running_loop().time() - self._began > self._seconds:
                self._leave(ref)
                return True
            self._tried.add(ref)
        if not self._failures:
            return False
        for place, most in ((_place(ref), MOST_FAILURES), ((), MOST_FAILURES_IN_ALL)):
            said, times = self._failures.get(place, ("", 0))
            if times >= most:
                self.wait(ref, f"it was not tried, for the server failed {times} times: {said}")
                return True
        return False

    def wait(self, ref: ObjectRef, why: str, *, unreached: bool = False) -> None:
        """Report an object about which the server was not asked."""
        change = Change(ref, Action.BLOCKED, why, unreached=unreached)
        self._found[ref] = ObjectOutcome(change)
        if self._on_entry is not None:
            self._on_entry(change, None)

    def end(
        self, refs: Iterable[ObjectRef], fail: Callable[[ObjectRef, Exception], ObjectOutcome]
    ) -> None:
        """Report what was not done when the time was up."""
        for ref in refs:
            if ref in self._found:
                continue
            if ref in self._tried:
                self.add(fail(ref, Timeout(f"no result within {self.patience:g} s")))
            else:
                self._leave(ref)

    def _leave(self, ref: ObjectRef) -> None:
        why = f"it was not reached within {self._seconds:g} s; the next pass begins with it"
        self.wait(ref, why, unreached=True)

    def untried_first(self, refs: Sequence[ObjectRef]) -> Sequence[ObjectRef]:
        """Return objects in an order in which those that failed before come last."""
        return sorted(refs, key=self._failed.__contains__) if self._failed else refs

    def lingering(self, wave: Sequence[ObjectRef]) -> list[ObjectRef]:
        """Return what of a wave is still there."""
        return [ref for ref in wave if self._found[ref].entry.action in _LINGERS]

    def in_order(self, refs: Sequence[ObjectRef]) -> ChangeSet:
        return ChangeSet.of(self._found[ref].entry for ref in refs)


async def give_way(objects: Sized) -> None:
    """Let other tasks run between two steps over many objects, each of which takes a while."""
    if len(objects) >= MANY:
        await asyncio.sleep(0)


def _place(ref: ObjectRef) -> tuple[str, ...]:
    return (ref.group, ref.kind, ref.namespace)


def _by_ref(wanted: Iterable[Declared]) -> tuple[dict[ObjectRef, Declared], list[Declared]]:
    """Return each object once, and those that are wanted in several forms, unclear in which."""
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

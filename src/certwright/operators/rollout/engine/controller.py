"""The whole pass over one workload: what it consumes, what changed, may it restart, the patch.

What a new process would need is on the workload: digests that differ are a restart that is due,
and the time of the last restart and the status of the workload tell what is under way. In memory
is only for how long contents have been quiet, and what was told.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from certwright.client import TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Conflict, JsonObject, Key, parse_time
from certwright.operators.rollout.decision.compare import (
    ContentComparison,
    SourceChange,
    compare,
)
from certwright.operators.rollout.decision.restraint import (
    Circumstances,
    RestartObstacle,
    RestartWait,
    obstacles,
)
from certwright.operators.rollout.engine.consumers import Consumers, chosen
from certwright.operators.rollout.engine.jobs import instantiate, recreate
from certwright.operators.rollout.engine.metrics import RolloutMetrics
from certwright.operators.rollout.engine.patches import (
    is_strategic,
    record_patch,
    restart_patch,
    resume_patch,
)
from certwright.operators.rollout.engine.registry import (
    RestartRegistry,
    last_restart,
)
from certwright.operators.rollout.engine.reporter import RolloutReporter, WorkloadPass
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.engine.sources import SourceStores
from certwright.operators.rollout.engine.surroundings import RolloutSurroundings
from certwright.operators.rollout.engine.views import RESOURCES, identity_of
from certwright.operators.rollout.policy import RestartMode
from certwright.operators.rollout.workload import WorkloadKind, WorkloadRef
from certwright.runtime import DONE, WAIT, BadObject, Context, Entry, Outcome, again

LIMIT_SECONDS: Final = 30.0
"""How often a workload that waits for its turn looks again, besides being woken."""
LONGEST_SECONDS: Final = 300.0
"""How long a key sleeps at most: clocks are set, and laptops sleep."""
QUIET_PERIODS: Final = 6
"""After how many quiet windows a restart happens although contents keep changing."""
QUIET_TOLERANCE: Final = 0.02
"""Which part of a quiet window may be missing: Secrets of a workload that are renewed together are
not written in the same instant, and one pass at the end is enough for all."""
SOON_SECONDS: Final = 0.001
_SECOND: Final = timedelta(seconds=1)
MOST_REWRITES: Final = 3
"""How often a record is written again that another client removes."""


@dataclass(slots=True)
class _Due:
    """A restart that is due, and since when."""

    digest: str
    since: float
    """When contents other than those on record were noticed first, by the monotonic clock."""
    changed: float
    """When they changed last."""
    waits_for: RestartWait | None = None
    """What the last pass found; the quiet window if there was none yet."""


class _Written(NamedTuple):
    """What this process wrote on a workload, to notice that it is undone."""

    mark: int
    """The hash of the digest: one is kept for each workload, and a digest has thrice the size."""
    times: int = 0


class RolloutController:
    """Restarts the workloads of one kind."""

    def __init__(
        self,
        kind: WorkloadKind,
        settings: RolloutSettings,
        consumers: Consumers,
        sources: SourceStores,
        registry: RestartRegistry,
        surroundings: RolloutSurroundings,
        metrics: RolloutMetrics,
        clock: Clock,
    ) -> None:
        self._kind = kind
        self._settings = settings
        self._consumers = consumers
        self._sources = sources
        self._registry = registry
        self._surroundings = surroundings
        self._metrics = metrics
        self._clock = clock
        self._reporter = RolloutReporter()
        self._due: dict[WorkloadRef, _Due] = {}
        self._written: dict[Key, _Written] = {}
        self._writing: set[Key] = set()
        self._own_windows: set[WorkloadRef] = set()
        """Workloads with a quiet window other than that of the settings."""

    # What takes a pass

    def source_changed(self, ref: WorkloadRef, change: SourceChange) -> float | None:
        """Take note that a source of a workload changed; return after how long that takes a pass.

        With new contents the quiet window begins, and one pass at its end is enough. If it is in
        one already, the window ends later from now on, and None is returned: no other pass.
        """
        moment, due = self._clock.monotonic(), self._due.get(ref)
        if due is None and change is SourceChange.CONTENTS and ref not in self._own_windows:
            self._due[ref] = _Due("", moment, moment, RestartWait.QUIET)
            self._metrics.waits(ref, RestartWait.QUIET)
            return self._settings.quiet / _SECOND
        if due is not None and due.waits_for is RestartWait.QUIET:
            due.digest, due.changed = "", moment
            return None if change is SourceChange.CONTENTS else 0.0
        return 0.0

    def held_by_budgets(self, namespace: str) -> list[Key]:
        """Return the workloads of a namespace whose restart waits for a disruption budget."""
        return [
            ref.key
            for ref, due in self._due.items()
            if due.waits_for is RestartWait.BUDGET and ref.key.namespace == namespace
        ]

    def workload_changed(self, old: Entry | None, new: Entry | None) -> bool:
        """Return whether a change of a workload takes a pass.

        What is being written here does not: the pass that writes looks at the result. Neither does
        a new status of a workload that was healthy and still is.
        """
        if old is None or new is None:
            return True
        if new.key in self._writing:
            return False
        ref = WorkloadRef(self._kind, new.key)
        if ref in self._due or self._registry.follows(ref) or not _is_status_update(old, new):
            return True
        try:
            workload, policies = self._consumers.read(self._kind, new)
        except BadObject:
            return True
        return bool(policies) and (not workload.progress.healthy or workload.progress.stalled)

    # The pass

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one pass over the workload at a key."""
        if (due := self._due.get(WorkloadRef(self._kind, key))) is not None:
            due.waits_for = None  # what changes from here on takes another pass
        await self._sources.ready()
        await self._surroundings.ready()
        entry = ctx.store(RESOURCES[self._kind]).get(key)
        workload, policies = (
            (None, ()) if entry is None else self._consumers.read(self._kind, entry)
        )
        policy = chosen(policies, self._surroundings.namespace(key.namespace))
        if workload is None or workload.deleting or policy is None:
            self._forget(WorkloadRef(self._kind, key))
            return DONE
        now = WorkloadPass(ctx, identity_of(workload), workload, policy, ctx.clock.now())
        (self._own_windows.discard if policy.quiet is None else self._own_windows.add)(now.ref)
        self._observe(now)
        found = compare(workload, policy, await self._sources.present(policy), self._sources.key)
        self._reporter.doubtful(now, found)
        if (until := _paused_until(now)) is not None and until <= now.now:
            return await self._resume(now)
        if not found.changed:
            return await self._record(now, found)
        found = await self._confirmed(found)
        obstacle = next(obstacles(workload, policy, found.changed, self._around(now, found)), None)
        if obstacle is not None:
            return self._wait(now, found, obstacle)
        return await self._restart(now, found)

    # Deciding

    def _observe(self, now: WorkloadPass) -> None:
        """Take note of how far a workload is, and tell what is wrong with it."""
        self._registry.observe(now.workload, now.policy, now.now)
        self._reporter.invalid(now)
        stalled = self._registry.is_stalled(now.workload, now.now)
        if stalled and self._reporter.stalled(now):
            self._metrics.outcome(now.policy.dialect, "stalled")

    async def _confirmed(self, found: ContentComparison) -> ContentComparison:
        """Ask about sources that seem older than the record; `Conflict` if the view was late."""
        if not any(source.stale for source in found.changed):
            return found
        for source in found.changed:
            if source.stale and source.contents is not None:
                version = source.contents.resource_version
                await self._sources.confirm(source.use.ref, version)
        return replace(
            found, changed=tuple(replace(source, stale=False) for source in found.changed)
        )

    def _around(self, now: WorkloadPass, found: ContentComparison) -> Circumstances:
        written = self._written.get(now.ref.key)
        failed = self._registry.failed_with(now.workload, found.changed, found.record.sources)
        in_namespace, in_cluster = self._registry.busy(now.ref)
        return Circumstances(
            now=now.now,
            quiet_until=self._quiet_until(now, found),
            last_restart=last_restart(now.workload),
            stalled=self._registry.is_stalled(now.workload, now.now),
            fought=written is not None and written.mark == hash(found.digest),
            budget=self._surroundings.forbidding_budget(now.workload),
            failed_elsewhere=str(failed or ""),
            busy_in_namespace=in_namespace,
            busy_in_cluster=in_cluster,
            limits=self._settings.limits,
        )

    def _quiet_until(self, now: WorkloadPass, found: ContentComparison) -> datetime:
        """Return when the contents of a workload will have been unchanged for long enough."""
        moment = now.ctx.clock.monotonic()
        due = self._due.setdefault(now.ref, _Due(found.digest, moment, moment))
        if due.digest and due.digest != found.digest:
            due.changed = moment
        due.digest = found.digest
        quiet = self._settings.quiet if now.policy.quiet is None else now.policy.quiet
        seconds = quiet / _SECOND
        until = min(due.changed + seconds, due.since + QUIET_PERIODS * seconds)
        left = until - moment
        return now.now + timedelta(seconds=left if left > QUIET_TOLERANCE * seconds else 0)

    # Acting

    async def _restart(self, now: WorkloadPass, found: ContentComparison) -> Outcome:
        """Write the one patch of a restart, and report it."""
        ref, dialect = now.ref, now.policy.dialect
        if self._settings.dry_run:
            self._reporter.would_restart(now, found)
            return DONE
        self._registry.begin(ref)
        written: Entry | None = None
        try:
            if now.policy.mode is RestartMode.INSTANTIATE:
                await instantiate(now.ctx, now.workload, found.digest)
            patch = restart_patch(now.workload, now.policy, found, now.now)
            if now.policy.mode is RestartMode.RECREATE:
                await recreate(now.ctx, now.workload, patch, found.digest)
            else:
                written = await self._write(now, patch, strategic=is_strategic(now.policy))
        except Conflict:
            self._registry.end(ref)
            raise  # decided anew, on what is there now
        except (ApiError, TransportError) as error:
            self._registry.end(ref)
            self._metrics.outcome(dialect, "failed")
            self._reporter.failed(now, found, error)
            raise
        self._metrics.outcome(dialect, "restarted")
        if (due := self._due.get(ref)) is not None:
            self._metrics.delayed(dialect, now.ctx.clock.monotonic() - due.since)
        self._reporter.restarted(now, found.changed)
        self._rest(ref)
        self._written[ref.key] = _Written(hash(found.digest))
        if written is None:
            return again(SOON_SECONDS)
        after = replace(now, workload=self._consumers.read(self._kind, written)[0])
        self._registry.observe(after.workload, after.policy, after.now)
        return self._until([_paused_until(after), self._patience_ends(after)], after, DONE)

    async def _record(self, now: WorkloadPass, found: ContentComparison) -> Outcome:
        """Write down what the pods consume, if that is not on record yet."""
        self._rest(now.ref)
        rest = self._until([_paused_until(now), self._patience_ends(now)], now, DONE)
        if found.recorded:
            return rest
        before = self._written.get(now.ref.key)
        mark = hash(found.digest)
        written = before if before is not None and before.mark == mark else _Written(mark)
        if written.times > MOST_REWRITES:
            self._reporter.fought(now, found)
            return rest
        left = await self._write(now, record_patch(now.workload, now.policy, found, now.now))
        self._metrics.outcome(now.policy.dialect, "recorded")
        self._written[now.ref.key] = _Written(mark, written.times + 1)
        return again(SOON_SECONDS) if left is None else rest

    async def _resume(self, now: WorkloadPass) -> Outcome:
        """End the pause that came with a restart."""
        assert now.policy.pause_period is not None
        await self._write(now, resume_patch(now.policy.pause_period.annotation))
        return again(SOON_SECONDS)  # contents may have changed meanwhile

    async def _write(
        self, now: WorkloadPass, patch: JsonObject, *, strategic: bool = False
    ) -> Entry | None:
        """Patch a workload; return how that left it, None if it has changed again since."""
        key = now.ref.key
        self._writing.add(key)
        try:
            await now.ctx.patch(now.obj, patch, strategic=strategic)
        finally:
            self._writing.discard(key)
        entry = now.ctx.store(RESOURCES[self._kind]).get(key)
        return entry if entry is not None and now.ctx.wrote(entry) else None

    # Waiting

    def _wait(
        self, now: WorkloadPass, found: ContentComparison, obstacle: RestartObstacle
    ) -> Outcome:
        """Report what a restart waits for, and return when to look again."""
        self._metrics.waits(now.ref, obstacle.reason)
        self._reporter.waits(now, found, obstacle)
        self._due[now.ref].waits_for = obstacle.reason
        if obstacle.reason in {RestartWait.LIMIT, RestartWait.FAILED_ELSEWHERE}:
            self._registry.wait(now.ref)
            return again(LIMIT_SECONDS)
        self._registry.stay(now.ref)
        return self._until(
            [obstacle.until, _paused_until(now), self._patience_ends(now)], now, WAIT
        )

    def _patience_ends(self, now: WorkloadPass) -> datetime | None:
        """Return when a restart that is under way counts as failed, if that is not over."""
        ends = self._registry.patience_ends(now.workload)
        return ends if ends is not None and now.now < ends else None

    def _until(self, moments: list[datetime | None], now: WorkloadPass, else_: Outcome) -> Outcome:
        """Return the outcome that looks again at the first of some moments, if there is one."""
        seconds = [(one - now.now) / _SECOND for one in moments if one is not None]
        return again(min(max(min(seconds), 0.001), LONGEST_SECONDS)) if seconds else else_

    def _rest(self, ref: WorkloadRef) -> None:
        """Forget what was only needed while a restart was due."""
        self._due.pop(ref, None)
        self._metrics.waits(ref, None)
        self._registry.stay(ref)

    def _forget(self, ref: WorkloadRef) -> None:
        self._rest(ref)
        self._written.pop(ref.key, None)
        self._own_windows.discard(ref)
        self._reporter.forget(ref)
        self._registry.forget(ref)


def _is_status_update(old: Entry, new: Entry) -> bool:
    """Return whether nothing changed but the status of an object."""
    before, after = old.meta, new.meta
    return (
        before.generation == after.generation
        and before.label_pairs == after.label_pairs
        and before.deletion_timestamp == after.deletion_timestamp
        and old.annotations == new.annotations
    )


def _paused_until(now: WorkloadPass) -> datetime | None:
    """Return when the pause ends that came with a restart."""
    period = now.policy.pause_period
    if period is None or not now.workload.progress.paused:
        return None
    try:
        return parse_time(now.workload.annotations.get(period.annotation, "")) + period.duration
    except ValueError:
        return None  # a user paused it

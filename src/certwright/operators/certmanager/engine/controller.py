"""The whole pass: what is wanted, what is there, what is in the way, the steps, the report.

Nothing is remembered between two passes that a new process would need: each derives the next step
from what it observes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from certwright.apply import Action, Change
from certwright.apply.objectset.prune import NO_PRUNE
from certwright.keep import Installer, KeptChanges, StatusInventory
from certwright.keep.retry import Retries
from certwright.kube import Key, Object
from certwright.operators.certmanager.engine.claim import Claims
from certwright.operators.certmanager.engine.deletion import delete_in_order
from certwright.operators.certmanager.engine.gates import EVIDENCE_SECONDS, Finding, Gates, is_0_x
from certwright.operators.certmanager.engine.migration import migrate, migrations
from certwright.operators.certmanager.engine.plan import (
    InstallPlan,
    labels_of,
    seen_report,
    unread,
)
from certwright.operators.certmanager.engine.planner import make_plan, surplus_of
from certwright.operators.certmanager.engine.port import (
    InstallKind,
    InstallReport,
    Previous,
    Source,
    SourceError,
    Trouble,
)
from certwright.operators.certmanager.engine.preflight import (
    Hindrance,
)
from certwright.operators.certmanager.engine.removal import CHALLENGE_SECONDS, Uninstaller
from certwright.operators.certmanager.engine.steps import (
    PREREQUISITES,
    UPWARDS,
    Wanted,
)
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import (
    DeletionPolicy,
    InstallRequest,
    Management,
)
from certwright.runtime import DONE, Backoff, Context, Outcome, again

POLL_SECONDS: Final = 1.0
"""How often evidence is asked for that no event brings."""
RECHECK_SECONDS: Final = 60.0
"""How often obstacles are looked at again that no event removes."""
STATUS_SECONDS: Final = 10.0
"""How often counts in the status are brought up to date while pods are replaced."""

T = TypeVar("T", bound=Object)


class InstallController(Generic[T]):
    """Installs, upgrades, repairs and removes cert-manager for one kind of custom resource."""

    def __init__(
        self,
        kind: InstallKind[T],
        source: Source,
        installer: Installer,
        view: ClusterView,
        gates: Gates,
        claims: Claims,
        backoff: Backoff,
        *,
        field_manager: str,
    ) -> None:
        self._kind = kind
        self._source = source
        self._installer = installer
        self._view = view
        self._gates = gates
        self._claims = claims
        self._retries = Retries[Key](backoff)
        self._field_manager = field_manager
        self._told: dict[Key, float] = {}

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one pass over the custom resource at a key."""
        obj = ctx.get(self._kind.kind, key)
        if obj is None:
            return DONE
        before = self._kind.previous(obj)
        if obj.metadata.deletion_timestamp is not None:
            return await self._delete(ctx, obj, before)
        if (trouble := self._kind.rejected(obj)) is not None:
            await self._installer.let_go(ctx, obj)
            await self._tell(ctx, obj, InstallReport(troubles=(trouble,)))
            return DONE
        await self._installer.hold(ctx, obj)
        if holder := await self._claims.acquire(ctx, obj):
            report = InstallReport(holder=holder, inventory=before.inventory)
            return await self._tell(ctx, obj, report)
        try:
            request = self._kind.request(obj, self._source.default)
            if request.management is Management.REMOVED:
                removed = await self._remove(ctx, obj, before, request.deletion)
                report = replace(removed, request=request, version=request.version)
            else:
                report = await self._install(ctx, obj, before, request)
            report = replace(report, asked=request.version)
        except SourceError as error:
            report = unread(before, Trouble(error.reason, str(error)))
        return await self._tell(ctx, obj, report)

    # Installing

    async def _install(
        self, ctx: Context, obj: T, before: Previous, request: InstallRequest
    ) -> InstallReport:
        """Read, decide, and take the steps there are to take."""
        plan = await make_plan(self._source, self._view, obj.key, before, request)
        wanted = plan.wanted
        refs = [one.ref for one in wanted.objects]
        inventory = StatusInventory(ctx, obj, before.inventory, refs)
        if plan.halted or request.management is Management.UNMANAGED:
            findings = await self._judge(wanted, UPWARDS)
            return await self._report(before, plan, inventory, [], findings)
        if plan.course.staged:
            await self._announce(ctx, obj, before, plan)
        if unmigrated := await self._migrate(wanted):
            report = await self._report(before, plan, inventory, [], [])
            return replace(report, unmigrated=tuple(unmigrated))
        done: list[Change] = []
        findings, meanwhile = [], plan.meanwhile
        if plan.beforehand is not None and not await self._has_begun(wanted):
            done += await self._apply(ctx, obj, inventory, plan.beforehand, [InstallStep.ROLES])
        for steps in plan.course.parts(cautious=plan.cautious):
            if not await self._may_begin(plan, steps, findings, done):
                break
            done += await self._apply(ctx, obj, inventory, meanwhile, steps)
            findings += await self._judge(wanted, steps)
        works = len(findings) == len(UPWARDS) and all(finding.passed for finding in findings)
        if works and meanwhile is not wanted:
            done += await self._apply(ctx, obj, inventory, wanted, [InstallStep.ROLES])
        if works or (plan.cautious and not plan.course.staged and not plan.blocked):
            done += await self._prune(ctx, obj, wanted, inventory)
        return await self._report(before, plan, inventory, done, findings)

    async def _apply(
        self,
        ctx: Context,
        obj: T,
        inventory: StatusInventory,
        wanted: Wanted,
        steps: Sequence[InstallStep],
    ) -> Sequence[Change]:
        """Bring the objects of steps to the cluster, and tell of it by events."""
        changes = await self._installer.install(
            ctx, obj, inventory, wanted.of(*steps), options=NO_PRUNE, part=steps[0]
        )
        self._record(ctx, obj, changes)
        return changes.done.all.entries

    async def _announce(self, ctx: Context, obj: T, before: Previous, plan: InstallPlan) -> None:
        """Say that the version is about to change, before anything is written."""
        if before.progress is not None and before.progress.version == plan.wanted.version:
            return
        seen, now = await self._view.observe(plan.wanted), ctx.clock.now()
        report = seen_report(before, plan, seen, plan.course.steps[0], now)
        serving = await self._gates.serving(plan.wanted, seen)
        report = replace(report, inventory=before.inventory, asked=plan.asked, serving=serving)
        self._record_report(ctx, obj, before, report)
        await ctx.status(obj, self._kind.status(obj, report, now))

    async def _migrate(self, wanted: Wanted) -> list[str]:
        """Store objects anew whose version is about to go; return what stands in the way."""
        seen = await self._view.observe(wanted)
        refused: list[str] = []
        for migration in migrations(seen.definitions, wanted.versions):
            refused += await migrate(self._view.client, migration, self._field_manager)
        return refused

    async def _may_begin(
        self,
        plan: InstallPlan,
        steps: Sequence[InstallStep],
        findings: Sequence[Finding],
        done: Sequence[Change],
    ) -> bool:
        """Return whether it is the turn of steps: those before are over, or these have begun."""
        if plan.blocked and not set(steps) <= set(PREREQUISITES):
            return False
        failed = {change.ref for change in done if change.action is Action.FAILED}
        if plan.cautious and failed:
            return False
        if plan.course.staged:
            if failed and failed & {one.ref for one in plan.meanwhile.of(*PREREQUISITES)}:
                return False  # pods of another version would lack what they need
            return all(finding.passed for finding in findings)
        if steps != (InstallStep.REGISTRATIONS,):
            return True
        reachable = not failed & {one.ref for one in plan.wanted.of(InstallStep.WEBHOOK)}
        answers = reachable and all(
            one.passed for one in findings if one.step is InstallStep.WEBHOOK
        )
        seen = await self._view.observe(plan.wanted)
        return answers or len(seen.registrations) == len(plan.wanted.registrations)

    async def _has_begun(self, wanted: Wanted) -> bool:
        """Return whether a component is written for the wanted version."""
        seen = await self._view.observe(wanted)
        return any(one.version == wanted.version for one in seen.components)

    async def _judge(self, wanted: Wanted, steps: Sequence[InstallStep]) -> list[Finding]:
        return await self._gates.judge(wanted, await self._view.observe(wanted), steps)

    async def _prune(
        self, ctx: Context, obj: T, wanted: Wanted, inventory: StatusInventory
    ) -> list[Change]:
        """Delete what is not wanted any more, now that what is wanted works.

        Definitions and namespaces stay: with them would go what users have created.
        """
        surplus = surplus_of(wanted, inventory.listed)
        if not surplus or wanted.problems:
            return []
        changes = await delete_in_order(ctx, obj, self._installer, inventory, surplus)
        for change in changes.entries:
            for event in self._kind.events.changed(change, repaired=False):
                ctx.event(obj, *event)
        return list(changes.entries)

    async def _report(
        self,
        before: Previous,
        plan: InstallPlan,
        inventory: StatusInventory,
        done: Sequence[Change],
        findings: Sequence[Finding],
    ) -> InstallReport:
        passed = {finding.step for finding in findings if finding.passed}
        late = next((step for step in plan.course.steps if step not in passed), None)
        seen = await self._view.observe(plan.wanted)
        report = seen_report(before, plan, seen, late, self._view.clock.now())
        unfinished, stuck = late is not None and bool(before.installed), report.overdue
        problems = plan.wanted.problems
        return replace(
            report,
            findings=tuple(findings),
            serving=unfinished and await self._gates.serving(plan.wanted, seen, stuck=stuck),
            failed=tuple(one for one in done if one.action in {Action.FAILED, Action.BLOCKED}),
            obstacles=plan.obstacles,
            pull_secret=plan.pull_secret,
            left_alone=plan.around.left_alone,
            namespace_labels=labels_of(plan.around.namespace),
            troubles=tuple(Trouble(problem.reason, problem.message) for problem in problems),
            inventory=inventory.listed,
        )

    # Removing

    async def _delete(self, ctx: Context, obj: T, before: Previous) -> Outcome:
        """Hand the installation over, or remove it; then let the custom resource go."""
        successor = await self._claims.successor(ctx, obj)
        if not successor and before.inventory:
            try:
                policy = self._kind.request(obj, self._source.default).deletion
            except SourceError:
                policy = DeletionPolicy()
            report = await self._remove(ctx, obj, before, policy)
            if report.remains is not None and not report.remains.done:
                return await self._tell(ctx, obj, report)
        await self._claims.hand_over(ctx, obj, successor)
        await self._installer.let_go(ctx, obj)
        self._view.forget(obj.key)
        self._gates.forget()
        self._retries.forget(obj.key)
        return DONE

    async def _remove(
        self, ctx: Context, obj: T, before: Previous, policy: DeletionPolicy
    ) -> InstallReport:
        """Remove what was installed, as far as it goes now."""
        inventory = StatusInventory(ctx, obj, before.inventory)
        since = obj.metadata.deletion_timestamp
        waited = (ctx.clock.now() - since).total_seconds() if since is not None else 0.0
        patient = since is not None and waited < CHALLENGE_SECONDS
        uninstaller = Uninstaller(self._installer, self._view.client, self._kind.events.removed)
        remains = await uninstaller.remove(ctx, obj, inventory, policy, patient=patient)
        return InstallReport(
            management=Management.REMOVED,
            was_installed=before.installed,
            remains=remains,
            inventory=inventory.listed,
        )

    # Telling

    async def _tell(self, ctx: Context, obj: T, report: InstallReport) -> Outcome:
        """Write the status if it says something else, and return when to look again."""
        now, key = ctx.clock.monotonic(), obj.key
        live = ctx.store(self._kind.kind).get(key)
        if live is None:
            return DONE
        told, latest = live.obj().get("status") or {}, live.as_(self._kind.kind)
        status = self._kind.status(latest, report, ctx.clock.now())
        urgent = self._kind.is_urgent(told, status)
        recent = now - self._told.get(key, float("-inf")) < STATUS_SECONDS
        if urgent:
            self._record_report(ctx, obj, self._kind.previous(latest), report)
        if told != status and (urgent or report.settled or not recent):
            self._told[key] = now
            await ctx.status(obj, status)
        return self._outcome(key, report, ctx.clock.monotonic())

    def _outcome(self, key: Key, report: InstallReport, now: float) -> Outcome:
        remains = report.remains
        if remains is not None and remains.blocked:
            return again(RECHECK_SECONDS)
        if remains is not None and remains.pending and remains.challenges:
            return again(POLL_SECONDS)
        if any(one.action is Action.FAILED for one in report.failed):
            return again(self._retries.failed(key, now))
        if report.failed:
            return again(self._retries.waits(key, now))
        if remains is not None and not remains.done:
            return again(max(self._retries.failed(key, now), POLL_SECONDS))
        self._retries.forget(key)
        if any(one.reason is Hindrance.NAMESPACE_TERMINATING for one in report.obstacles):
            return again(POLL_SECONDS)
        blocked = report.pull_secret is not None and report.pull_secret.blocks  # it is watched
        if report.troubles or report.obstacles or report.holder or report.unmigrated or blocked:
            return again(RECHECK_SECONDS)
        if report.progress is not None:
            # Of 0.x all evidence is watched; of others some has to be asked for.
            patient = RECHECK_SECONDS if is_0_x(report.version) else STATUS_SECONDS
            return again(patient if report.announced or is_0_x(report.version) else POLL_SECONDS)
        return again(EVIDENCE_SECONDS) if report.remains is None else DONE

    def _record(self, ctx: Context, obj: T, changes: KeptChanges) -> None:
        repaired = set(changes.repaired)
        for change in changes.done.applied.entries:  # others are the concern of other parts
            for event in self._kind.events.changed(change, repaired=change.ref in repaired):
                ctx.event(obj, *event)

    def _record_report(self, ctx: Context, obj: T, before: Previous, report: InstallReport) -> None:
        for event in self._kind.events.reported(before, report):
            ctx.event(obj, *event)

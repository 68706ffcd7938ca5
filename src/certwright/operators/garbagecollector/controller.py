"""The garbage collector as a controller with a single key: the Lease of its schedule."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from certwright.client import Client, TransportError
from certwright.kube import ApiError, Key, kinds
from certwright.operators.garbagecollector.collect import (
    CollectionResult,
    collect,
    no_further_users,
)
from certwright.operators.garbagecollector.decision import GarbageVerdict, ObjectKey
from certwright.operators.garbagecollector.schedule import RETRY, ROLE, ROLE_LABEL, due_in, lease_of
from certwright.operators.garbagecollector.settings import CollectorSettings
from certwright.operators.garbagecollector.snapshot import COLLECTED, USERS, inventories
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Metrics,
    Outcome,
    PolicyRule,
    RequeueAfter,
    again,
    allow,
    select,
)
from certwright.runtime.writes.events import EventType

NAME: Final = "garbage-collector"
DEADLINE: Final = timedelta(minutes=10)
"""How long a pass may take."""
_SHOWN: Final = 10
"""How many objects an event names."""
_PREFIX: Final = "certwright_garbage_collector_"


class GarbageMetrics:
    """What is counted about passes. Made once per process."""

    def __init__(self, metrics: Metrics) -> None:
        self._deleted = metrics.counter(
            f"{_PREFIX}deleted_total", "Objects that were collected", ["kind"]
        )
        self._failures = metrics.counter(
            f"{_PREFIX}failures_total", "Objects that could not be deleted or annotated as unused"
        )
        objects = metrics.gauge(
            f"{_PREFIX}objects", "Collectable objects of the last pass by verdict", ["verdict"]
        )
        self._objects = {verdict: objects.labels(verdict.value) for verdict in GarbageVerdict}
        self._last = metrics.gauge(
            f"{_PREFIX}last_pass_timestamp_seconds", "When a pass last ended"
        )

    def passed(self, done: CollectionResult, now: datetime) -> None:
        """Count a pass that ended."""
        for candidate in done.deleted:
            self._deleted.labels(candidate.key.kind).inc()
        self._failures.inc(len(done.failures))
        for verdict, count in done.survey.counts().items():
            self._objects[verdict].set(count)
        self._last.set(now.timestamp())


def garbage_collector(
    settings: CollectorSettings,
    *,
    target: Client | None = None,
    sources: tuple[str, ...] = (),
    metrics: GarbageMetrics | None = None,
) -> Controller:
    """Return the controller that collects in the cluster of *target*, or else in its manager's.

    Its Lease is in the manager's cluster. With a *target*, what the ManagedResources of the
    manager's cluster keep there counts as used; they are in the namespaces *sources*, or in any.
    """

    async def start(_ctx: Context) -> AsyncIterator[Key]:
        yield settings.home

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        if key != settings.home:
            return DONE  # of another instance
        wait = due_in(ctx.get(kinds.Lease, key), ctx.clock.now(), settings.period)
        if not wait:
            await ctx.apply(lease_of(key, ctx.clock.now(), settings.period))
            await _Pass(ctx, settings, target, sources, metrics).run()
            wait = settings.period
        return again(wait)

    return Controller(
        select(kinds.Lease, namespace=settings.home.namespace, labels=f"{ROLE_LABEL}={ROLE}"),
        reconcile,
        name=NAME,
        sources=[start],
        workers=1,
        deadline=DEADLINE,
        rbac=_rules(settings),
    )


def _rules(settings: CollectorSettings) -> list[PolicyRule]:
    return [
        allow(kinds.Lease, "create", "patch"),
        *(allow(kind, "list", "patch", "delete") for kind in COLLECTED),
        allow(kinds.ConfigMap, "get"),  # parts of inventories
        *(allow(kind, "list") for kind in (*USERS, *settings.further_kinds)),
    ]


@dataclass(frozen=True)
class _Pass:
    """One pass with its log lines, event and metrics."""

    ctx: Context
    settings: CollectorSettings
    target: Client | None
    sources: tuple[str, ...]
    metrics: GarbageMetrics | None

    async def run(self) -> None:
        """Make the pass.

        What could not be deleted waits for the next pass. If a list failed, that one comes sooner.
        """
        clock = self.ctx.clock
        began = clock.now()
        try:
            done = await collect(self.target or self.ctx.client, self.settings, clock, self._in_use)
        except (ApiError, TransportError, ValueError) as error:
            self._event("Warning", "CollectionFailed", str(error))
            soon = min(RETRY, self.settings.period)
            await self.ctx.apply(lease_of(self.settings.home, began, soon))
            if isinstance(error, ValueError):  # a broken inventory, not a defect of ours
                raise RequeueAfter(str(error), after=soon) from error
            raise
        if self.metrics is not None:
            self.metrics.passed(done, clock.now())
        self._report(done)
        if done.failures:
            named = "; ".join(map(str, done.failures[:_SHOWN]))
            text = "Could not delete all unused resources"
            self._event("Warning", "CollectionFailed", f"{text}: {named}")
            raise ExceptionGroup(text, [failure.error for failure in done.failures])

    async def _in_use(self) -> Mapping[ObjectKey, str]:
        if self.target is None or self.target is self.ctx.client:
            return await no_further_users()  # they are listed with everything else
        return await inventories(self.ctx.client, self.sources)

    def _report(self, done: CollectionResult) -> None:
        """Log the pass, and record an event if something was deleted, or would be."""
        log = self.ctx.log
        if self.settings.dry_run:
            gone = [
                assessment.candidate for assessment in done.survey.of(GarbageVerdict.COLLECTABLE)
            ]
            reason, what = "WouldCollect", "would be deleted"
            for assessment in done.survey.assessments:
                log.info("dry run", assessment=str(assessment))
        else:
            gone = [*done.deleted]
            reason, what = "Collected", "deleted"
            for candidate in gone:
                log.info("collected", object=str(candidate.key), uid=candidate.uid)
        log.info("pass done", deleted=len(done.deleted), found=str(done.survey))
        if gone:
            named = ", ".join(str(candidate.key) for candidate in gone[:_SHOWN])
            more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
            self._event("Normal", reason, f"{what}: {named}{more}")

    def _event(self, type_: EventType, reason: str, note: str) -> None:
        lease = lease_of(self.settings.home, self.ctx.clock.now(), self.settings.period)
        self.ctx.event(lease, type_, reason, note)

"""Whether a workload whose contents changed may restart now, and if not, what it waits for.

All obstacles are found, in a fixed order: the first one is reported, and all of them are what
``certwright rollout why`` shows. What has a time to it carries the time; everything else ends with
a change that is watched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from certwright.operators.rollout.decision.certificates import CertificateFlaw, flaw_of, moment
from certwright.operators.rollout.decision.compare import ChangedSource
from certwright.operators.rollout.policy import RolloutPolicy
from certwright.operators.rollout.workload import Workload


class RestartWait(StrEnum):
    """Why a restart has to wait; the values are labels of a metric."""

    INVALID = "invalid-settings"
    PAUSED = "paused"
    QUIET = "quiet-window"
    STALE = "stale-view"
    FIGHT = "fight"
    STALLED = "stalled"
    ROLLING = "rolling-out"
    CERTIFICATE = "certificate"
    INTERVAL = "minimum-interval"
    WINDOW = "maintenance-window"
    BUDGET = "disruption-budget"
    FAILED_ELSEWHERE = "failed-elsewhere"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class RestartObstacle:
    """One thing that a restart waits for."""

    reason: RestartWait
    until: datetime | None = None
    """When it ends; None if that takes a change."""
    about: str = ""
    """The object or the setting in the way."""
    flaw: CertificateFlaw | None = None


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """How many workloads may be on their way to health at the same time; 0 is no limit."""

    per_namespace: int = 0
    per_cluster: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What besides the workload itself decides whether it may restart."""

    now: datetime
    quiet_until: datetime | None = None
    """When its contents will have been unchanged for long enough."""
    last_restart: datetime | None = None
    stalled: bool = False
    """Whether its last restart has taken too long."""
    fought: bool = False
    """Whether others undid a restart with these very contents."""
    budget: str = ""
    """A PodDisruptionBudget over its pods that allows no disruption."""
    failed_elsewhere: str = ""
    """A workload that did not become healthy with the same contents."""
    busy_in_namespace: int = 0
    busy_in_cluster: int = 0
    limits: RolloutLimits = RolloutLimits()


def obstacles(
    workload: Workload,
    policy: RolloutPolicy,
    changed: tuple[ChangedSource, ...],
    around: Circumstances,
) -> Iterator[RestartObstacle]:
    """Yield what a restart waits for, in the order in which it is told."""
    yield from _by_wish(workload, policy, around)
    yield from _by_view(changed, around)
    if around.stalled or workload.progress.stalled:
        yield RestartObstacle(RestartWait.STALLED)
    elif workload.progress.rolling:
        yield RestartObstacle(RestartWait.ROLLING)
    if policy.check_certificates:
        yield from _flaws(changed, around.now)
    yield from _by_time(policy, around)
    yield from _by_others(workload, around)


def _by_wish(
    workload: Workload, policy: RolloutPolicy, around: Circumstances
) -> Iterator[RestartObstacle]:
    if policy.problems:
        yield RestartObstacle(RestartWait.INVALID, about=policy.problems[0])
    if policy.paused or workload.progress.paused:
        yield RestartObstacle(RestartWait.PAUSED, about=policy.paused or "spec.paused")
    if around.quiet_until is not None and around.now < around.quiet_until:
        yield RestartObstacle(RestartWait.QUIET, around.quiet_until)


def _by_view(
    changed: tuple[ChangedSource, ...], around: Circumstances
) -> Iterator[RestartObstacle]:
    for source in changed:
        if source.stale:
            yield RestartObstacle(RestartWait.STALE, about=str(source.use.ref))
    if around.fought:
        yield RestartObstacle(RestartWait.FIGHT)


def _flaws(changed: tuple[ChangedSource, ...], now: datetime) -> Iterator[RestartObstacle]:
    for source in changed:
        facts = source.contents.certificate if source.contents is not None else None
        flaw = flaw_of(facts, now) if facts is not None else None
        if facts is not None and flaw is not None:
            early = flaw is CertificateFlaw.NOT_YET_VALID
            until = moment(facts.not_before) if early else None
            yield RestartObstacle(RestartWait.CERTIFICATE, until, str(source.use.ref), flaw)


def _by_time(policy: RolloutPolicy, around: Circumstances) -> Iterator[RestartObstacle]:
    now = around.now
    if around.last_restart is not None and policy.minimum_interval > timedelta():
        last, interval = around.last_restart, policy.minimum_interval
        # Clocks differ a little. What is further ahead than that was written by a clock that has
        # been set back since, and must not hold restarts back until that time comes again.
        if last <= now + interval and now < last + interval:
            yield RestartObstacle(RestartWait.INTERVAL, last + interval)
    if policy.window is not None and not policy.window.is_open(now):
        yield RestartObstacle(RestartWait.WINDOW, policy.window.opens(now))


def _by_others(workload: Workload, around: Circumstances) -> Iterator[RestartObstacle]:
    if around.budget:
        yield RestartObstacle(RestartWait.BUDGET, about=around.budget)
    if around.failed_elsewhere:
        yield RestartObstacle(RestartWait.FAILED_ELSEWHERE, about=around.failed_elsewhere)
    limits = around.limits
    if 0 < limits.per_namespace <= around.busy_in_namespace:
        yield RestartObstacle(RestartWait.LIMIT, about=workload.ref.key.namespace)
    elif 0 < limits.per_cluster <= around.busy_in_cluster:
        yield RestartObstacle(RestartWait.LIMIT)

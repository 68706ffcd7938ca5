"""Which restarts are under way, and which have failed."""

from datetime import UTC, datetime, timedelta

from certwright.kube import Key
from certwright.kube.timestamps import format_micro_time
from certwright.operators.rollout.engine.registry import LONGEST, RestartRegistry
from certwright.operators.rollout.policy import RESTARTED_AT, RolloutPolicy
from certwright.operators.rollout.workload import (
    RolloutProgress,
    Workload,
    WorkloadKind,
    WorkloadRef,
)

NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)
PATIENCE = timedelta(minutes=10)
POLICY = RolloutPolicy(dialect="test")
ROLLING = RolloutProgress(rolling=True, healthy=False)


def workload(
    progress: RolloutProgress,
    name: str = "a",
    *,
    restarted: datetime | None = NOW,
    kind: WorkloadKind = WorkloadKind.STATEFUL_SET,
) -> Workload:
    annotations = {} if restarted is None else {RESTARTED_AT: format_micro_time(restarted)}
    ref = WorkloadRef(kind, Key("ns", name))
    return Workload(ref=ref, progress=progress, annotations=annotations, generation=2)


class Woken(list[str]):
    def __call__(self, ref: WorkloadRef) -> None:
        self.append(ref.key.name)


def registry() -> tuple[RestartRegistry, Woken]:
    woken = Woken()
    return RestartRegistry(PATIENCE, woken), woken


OTHER = WorkloadRef(WorkloadKind.STATEFUL_SET, Key("ns", "other"))


def test_a_restart_counts_until_it_is_healthy_and_then_the_next_is_woken() -> None:
    restarts, woken = registry()
    restarts.observe(workload(ROLLING), POLICY, NOW)
    assert restarts.busy(OTHER) == (1, 1)
    restarts.wait(OTHER)
    restarts.observe(workload(RolloutProgress()), POLICY, NOW)
    assert restarts.busy(OTHER) == (0, 0)
    assert woken == ["other"]


def test_a_rollout_that_does_not_move_is_stalled_after_a_while() -> None:
    restarts, _ = registry()
    seen = workload(ROLLING)
    restarts.observe(seen, POLICY, NOW)
    assert restarts.patience_ends(seen) == NOW + PATIENCE
    assert not restarts.is_stalled(seen, NOW + PATIENCE / 2)
    assert restarts.is_stalled(seen, NOW + PATIENCE)
    restarts.observe(seen, POLICY, NOW + PATIENCE)
    assert restarts.busy(OTHER) == (0, 0)  # it holds no place


def test_a_rollout_that_moves_is_not_stalled_however_long_it_takes() -> None:
    restarts, _ = registry()
    for done in range(20):
        seen = workload(RolloutProgress(rolling=True, healthy=False, done=done))
        moment = NOW + done * PATIENCE * 0.9
        restarts.observe(seen, POLICY, moment)
        assert not restarts.is_stalled(seen, moment + PATIENCE / 2)


def test_a_rollout_by_others_long_after_a_restart_is_not_stalled() -> None:
    restarts, _ = registry()
    seen = workload(ROLLING, restarted=NOW - timedelta(days=7))
    restarts.observe(seen, POLICY, NOW)
    assert not restarts.is_stalled(seen, NOW)
    assert restarts.busy(OTHER) == (0, 0)
    assert timedelta(days=7) > LONGEST * PATIENCE


def test_deployments_say_themselves_that_they_failed() -> None:
    restarts, _ = registry()
    slow = workload(ROLLING, kind=WorkloadKind.DEPLOYMENT)
    restarts.observe(slow, POLICY, NOW)
    assert not restarts.is_stalled(slow, NOW + 9 * PATIENCE)
    failed = RolloutProgress(rolling=True, healthy=False, stalled=True)
    assert restarts.is_stalled(workload(failed, kind=WorkloadKind.DEPLOYMENT), NOW)
    by_others = workload(failed, restarted=None, kind=WorkloadKind.DEPLOYMENT)
    assert not restarts.is_stalled(by_others, NOW)


def test_a_workload_that_is_gone_gives_its_place_to_the_next() -> None:
    restarts, woken = registry()
    seen = workload(ROLLING)
    restarts.observe(seen, POLICY, NOW)
    restarts.wait(OTHER)
    restarts.forget(seen.ref)
    assert woken == ["other"]
    assert restarts.busy(OTHER) == (0, 0)


def test_one_that_does_not_need_its_turn_passes_it_on() -> None:
    restarts, woken = registry()
    first = workload(ROLLING, "first").ref
    restarts.wait(first)
    restarts.wait(OTHER)
    restarts.stay(first)
    assert woken == ["other"]

"""What a restart waits for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.operators.rollout.decision.conftest import contents, policy, source, use, workload

from certwright.operators.rollout.decision.certificates import UNREADABLE, CertificateFacts
from certwright.operators.rollout.decision.compare import ChangedSource
from certwright.operators.rollout.decision.restraint import (
    Circumstances,
    RestartWait,
    RolloutLimits,
    obstacles,
)
from certwright.operators.rollout.decision.window import MaintenanceWindow
from certwright.operators.rollout.workload import RolloutProgress

NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
HOUR = timedelta(hours=1)
LATER = MaintenanceWindow.parse("0 14 * * *", HOUR)


def changed(certificate: CertificateFacts | None = None, *, stale: bool = False) -> ChangedSource:
    return ChangedSource(use(), contents(source(), {"a": "1"}, certificate=certificate), (), stale)


def found(
    *sources: ChangedSource,
    rules: Any = None,
    progress: RolloutProgress | None = None,
    **around: Any,
) -> list[tuple[RestartWait, datetime | None]]:
    subject = workload(progress=progress or RolloutProgress())
    circumstances = Circumstances(now=NOW, **around)
    rules = rules or policy()
    return [
        (one.reason, one.until)
        for one in obstacles(subject, rules, sources or (changed(),), circumstances)
    ]


def test_nothing_is_in_the_way() -> None:
    limits = RolloutLimits(2, 3)
    assert found(limits=limits, busy_in_namespace=1, busy_in_cluster=2, quiet_until=NOW) == []


@pytest.mark.parametrize(
    ("expected", "until", "around"),
    [
        (RestartWait.QUIET, NOW + HOUR, {"quiet_until": NOW + HOUR}),
        (RestartWait.FIGHT, None, {"fought": True}),
        (RestartWait.STALLED, None, {"stalled": True}),
        (RestartWait.BUDGET, None, {"budget": "careful"}),
        (RestartWait.FAILED_ELSEWHERE, None, {"failed_elsewhere": "Deployment ns/other"}),
        (RestartWait.LIMIT, None, {"limits": RolloutLimits(1, 0), "busy_in_namespace": 1}),
        (RestartWait.LIMIT, None, {"limits": RolloutLimits(0, 1), "busy_in_cluster": 1}),
        (RestartWait.INVALID, None, {"rules": policy(problems=("no",))}),
        (RestartWait.PAUSED, None, {"rules": policy(paused="annotation x")}),
        (RestartWait.PAUSED, None, {"progress": RolloutProgress(paused=True)}),
        (RestartWait.ROLLING, None, {"progress": RolloutProgress(rolling=True, healthy=False)}),
        (RestartWait.STALLED, None, {"progress": RolloutProgress(rolling=True, stalled=True)}),
        (RestartWait.WINDOW, NOW + 2 * HOUR, {"rules": policy(window=LATER)}),
        (
            RestartWait.INTERVAL,
            NOW + HOUR / 2,
            {"rules": policy(minimum_interval=HOUR), "last_restart": NOW - HOUR / 2},
        ),
        (  # the clock of another machine
            RestartWait.INTERVAL,
            NOW + 1.5 * HOUR,
            {"rules": policy(minimum_interval=HOUR), "last_restart": NOW + HOUR / 2},
        ),
    ],
)
def test_one_thing_is(
    expected: RestartWait, until: datetime | None, around: dict[str, Any]
) -> None:
    assert found(**around) == [(expected, until)]


def test_a_clock_that_was_set_back_holds_nothing_back() -> None:
    assert found(rules=policy(minimum_interval=HOUR), last_restart=NOW + 9 * HOUR) == []


@pytest.mark.parametrize(
    ("facts", "until"),
    [
        (CertificateFacts(SECONDS - 9, SECONDS - 1), None),
        (CertificateFacts(SECONDS + 3600, SECONDS + 7200), NOW + HOUR),
        (CertificateFacts(SECONDS - 9, SECONDS + 9, mismatch=True), None),
        (UNREADABLE, None),
    ],
)
def test_certificates(facts: CertificateFacts, until: datetime | None) -> None:
    assert found(changed(facts)) == [(RestartWait.CERTIFICATE, until)]
    assert found(changed(facts), rules=policy(check_certificates=False)) == []


def test_a_certificate_that_serves() -> None:
    assert found(changed(CertificateFacts(SECONDS - 9, SECONDS + 9))) == []


def test_a_view_that_is_late() -> None:
    assert found(changed(stale=True)) == [(RestartWait.STALE, None)]


def test_they_come_in_the_order_in_which_they_are_told() -> None:
    reasons = [
        reason
        for reason, _ in found(
            changed(UNREADABLE),
            rules=policy(problems=("no",), paused="x", window=LATER),
            progress=RolloutProgress(rolling=True),
            quiet_until=NOW + HOUR,
            budget="b",
        )
    ]
    assert reasons == [
        RestartWait.INVALID,
        RestartWait.PAUSED,
        RestartWait.QUIET,
        RestartWait.ROLLING,
        RestartWait.CERTIFICATE,
        RestartWait.WINDOW,
        RestartWait.BUDGET,
    ]

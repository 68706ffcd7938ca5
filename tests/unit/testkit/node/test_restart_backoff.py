"""Containers are started again later each time: kubelet's times, exactly."""

from datetime import timedelta

import pytest
from tests.support.node.playedpod import BIRTH, PlayedPod, pod

from certwright.testkit.node.pod.facts import RestartBackoff


def test_delays_double_up_to_five_minutes() -> None:
    played = PlayedPod(pod(), {"main": [(1, 1)] * 12})
    played.play(3600)
    times = [at for _, at in played.starts]
    ends = [at + 1 for at in times]
    waits = [start - end for start, end in zip(times[1:], ends, strict=False)]
    assert waits[:8] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_run_of_more_than_ten_minutes_starts_the_delays_over() -> None:
    played = PlayedPod(pod(), {"main": [(1, 1), (1, 1), (1, 1), (601, 1), (1, 1), (1, 1)]})
    played.play(3600)
    times = [at for _, at in played.starts]
    assert times[:4] == [0, 1, 12, 33]
    assert times[4] == 33 + 601, "at once: the delays are forgotten"
    assert times[5] == times[4] + 1 + 10


def test_a_run_of_ten_minutes_does_not() -> None:
    played = PlayedPod(pod(), {"main": [(1, 1), (1, 1), (600, 1), (1, 1)]})
    played.play(3600)
    times = [at for _, at in played.starts]
    assert times[3] == times[2] + 600 + 20


def test_the_status_says_how_long_it_waits() -> None:
    played = PlayedPod(pod(), {"main": [(1, 1), (1, 2), (1, 3)]})
    played.play(5)
    main = played.container()
    assert main["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=main pod=p_ns(u)",
        }
    }
    assert main["lastState"]["terminated"]["exitCode"] == 2
    assert main["restartCount"] == 1
    assert played.status["phase"] == "Running"


@pytest.mark.parametrize(
    ("code", "policy", "starts"),
    [(0, "Always", 2), (1, "Always", 2), (0, "OnFailure", 1), (1, "OnFailure", 2), (1, "Never", 1)],
)
def test_the_policy_says_whether(code: int, policy: str, starts: int) -> None:
    played = PlayedPod(pod(restartPolicy=policy), {"main": [(1, code)]})
    played.play(5)
    assert len(played.starts) == starts


def test_pulls_are_repeated_by_the_same_times() -> None:
    backoff = RestartBackoff()
    now, waits = BIRTH, []
    for _ in range(4):
        backoff = backoff.after_try(now, now)
        waits.append((backoff.retry_at(now) - now) / timedelta(seconds=1))
        now = backoff.retry_at(now)
    assert waits == [10, 20, 40, 80]

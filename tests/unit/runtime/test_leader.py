"""Leader election: the rules."""

from datetime import timedelta

import pytest

from certwright.runtime import LeaderElection
from certwright.runtime.leader import LeaseAction, LeaseRecord, decide


def record(holder: str, seconds: float = 15.0) -> LeaseRecord:
    return LeaseRecord(holder=holder, seconds=seconds, transitions=0, resource_version="1")


CASES = {
    "no lease": (None, 0, LeaseAction.CREATE),
    "ours": (record("me"), 3, LeaseAction.RENEW),
    "ours, and long not renewed": (record("me"), 300, LeaseAction.RENEW),
    "released": (record(""), 0, LeaseAction.TAKE),
    "held and fresh": (record("you"), 14.9, LeaseAction.STAND_BY),
    "held and just expired": (record("you"), 15, LeaseAction.TAKE),
    "held longer by its own word": (record("you", 60), 59, LeaseAction.STAND_BY),
    "a lease without a duration": (record("you", 0), 0, LeaseAction.TAKE),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_decide(case: tuple[LeaseRecord | None, float, LeaseAction]) -> None:
    seen, unchanged, step = case
    assert decide(seen, unchanged, "me") is step


def test_time_stamps_of_others_are_not_part_of_the_decision() -> None:
    lease = {
        "metadata": {"resourceVersion": "1"},
        "spec": {
            "holderIdentity": "you",
            "leaseDurationSeconds": 15,
            "renewTime": "1999-01-01T00:00:00.000000Z",
        },
    }
    assert decide(LeaseRecord.read(lease), 0, "me") is LeaseAction.STAND_BY


def test_a_lease_of_any_shape_can_be_read() -> None:
    assert LeaseRecord.read({"metadata": {"resourceVersion": "1"}}).holder == ""
    assert LeaseRecord.read({"metadata": {"resourceVersion": "1"}, "spec": None}).seconds == 0


def test_periods_that_would_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="renew_deadline < lease_duration"):
        LeaderElection(name="x", namespace="y", renew_deadline=timedelta(seconds=15))


def test_two_processes_never_share_an_identity() -> None:
    first, second = (LeaderElection(name="x", namespace="y") for _ in range(2))
    assert first.identity != second.identity

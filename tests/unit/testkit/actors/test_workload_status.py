"""The status a simulated workload gets, by kind and result."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright.testkit.actors.workloads import ANNOTATION, status_of
from certwright.testkit.builders import daemon_set, deployment, job, stateful_set

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def seen(obj: dict[str, Any], result: str = "", generation: int = 4) -> dict[str, Any]:
    annotations = {ANNOTATION: result} if result else {}
    obj["metadata"] |= {"generation": generation, "annotations": annotations}
    return obj


def test_a_deployment_becomes_available() -> None:
    assert status_of(seen(deployment("web", replicas=3)), NOW) == {
        "observedGeneration": 4,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "reason": "MinimumReplicasAvailable",
                "lastUpdateTime": "2031-05-06T07:08:09Z",
                "lastTransitionTime": "2031-05-06T07:08:09Z",
            },
            {
                "type": "Progressing",
                "status": "True",
                "reason": "NewReplicaSetAvailable",
                "lastUpdateTime": "2031-05-06T07:08:09Z",
                "lastTransitionTime": "2031-05-06T07:08:09Z",
            },
        ],
    }


@pytest.mark.parametrize(
    ("result", "progressing", "reason"),
    [("fail", "False", "ProgressDeadlineExceeded"), ("hang", "True", "ReplicaSetUpdated")],
)
def test_a_deployment_that_does_not(result: str, progressing: str, reason: str) -> None:
    status = status_of(seen(deployment("web", replicas=2), result), NOW)
    assert status["unavailableReplicas"] == 2
    assert "readyReplicas" not in status
    found = {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}
    assert found == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": (progressing, reason),
    }


def test_the_other_sets_count_their_pods() -> None:
    status = status_of(seen(stateful_set("db", replicas=2)), NOW)
    assert (status["readyReplicas"], status["currentRevision"]) == (2, "db-4")
    waiting = status_of(seen(stateful_set("db", replicas=2), "hang"), NOW)
    assert "readyReplicas" not in waiting
    status = status_of(seen(daemon_set("agent")), NOW)
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (1, 1)
    assert status_of(seen(daemon_set("agent"), "fail"), NOW)["numberUnavailable"] == 1


@pytest.mark.parametrize(("result", "condition"), [("", "Complete"), ("fail", "Failed")])
def test_a_job_ends_and_stays_ended(result: str, condition: str) -> None:
    ended = seen(job("once", completions=2), result)
    ended["status"] = status_of(ended, NOW)
    assert {c["type"] for c in ended["status"]["conditions"]} >= {condition}
    ended["metadata"]["annotations"] = {ANNOTATION: "hang"}
    assert status_of(ended, NOW + timedelta(hours=1)) == ended["status"]


def test_a_job_that_hangs_is_active_and_can_still_end() -> None:
    hanging = seen(job("once", completions=2), "hang")
    hanging["status"] = status_of(hanging, NOW)
    assert hanging["status"] == {"startTime": "2031-05-06T07:08:09Z", "active": 2, "ready": 0}
    hanging["metadata"]["annotations"] = {}
    status = status_of(hanging, NOW + timedelta(hours=1))
    assert (status["startTime"], status["completionTime"]) == (
        "2031-05-06T07:08:09Z",
        "2031-05-06T08:08:09Z",
    )


@pytest.mark.parametrize("build", [deployment, stateful_set, daemon_set, job])
@pytest.mark.parametrize("result", ["", "fail", "hang", "nonsense"])
def test_the_same_state_gives_the_same_status(build: Any, result: str) -> None:
    """Otherwise the simulator would write for ever."""
    obj = seen(build("x"), result)
    obj["status"] = status_of(obj, NOW)
    assert status_of(obj, NOW + timedelta(hours=3)) == obj["status"]


def test_times_move_when_the_condition_does() -> None:
    obj = seen(deployment("web"), "hang")
    obj["status"] = status_of(obj, NOW)
    obj["metadata"]["annotations"] = {}
    later = status_of(obj, NOW + timedelta(hours=1))
    times = {
        c["type"]: (c["lastUpdateTime"][11:13], c["lastTransitionTime"][11:13])
        for c in later["conditions"]
    }
    assert times == {"Available": ("08", "08"), "Progressing": ("08", "07")}

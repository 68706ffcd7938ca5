"""The status of a pod, written from facts: phases, conditions, states of containers."""

from datetime import timedelta

import pytest
from tests.support.node.playedpod import PlayedPod, pod

from certwright.kube import JsonObject
from certwright.testkit.node.pod.facts import Waiting
from certwright.testkit.node.pod.status import go_duration, qos_class

SIDECAR = {"name": "side", "restartPolicy": "Always"}


def statuses(played: PlayedPod) -> dict[str, str]:
    return {one["type"]: one["status"] for one in played.status["conditions"]}


def test_a_pod_that_waits_for_volumes() -> None:
    played = PlayedPod(pod())
    assert played.status["phase"] == "Pending"
    assert played.container()["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert statuses(played) == {
        "PodReadyToStartContainers": "False",
        "Initialized": "True",
        "Ready": "False",
        "ContainersReady": "False",
        "PodScheduled": "True",
    }
    assert "podIP" not in played.status


def test_a_pod_with_init_containers_that_waits() -> None:
    played = PlayedPod(pod(init=[{"name": "one"}]), {"one": [(5, 0)]})
    assert played.container()["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert played.container("one")["state"] == {"waiting": {"reason": "PodInitializing"}}
    played.play(1)
    assert played.status["phase"] == "Pending"
    assert "running" in played.container("one")["state"]
    assert played.condition("Initialized")["reason"] == "ContainersNotInitialized"
    assert played.condition("Initialized")["message"] == "containers with incomplete status: [one]"
    played.play(10)
    assert played.container("one")["state"]["terminated"]["reason"] == "Completed"
    assert played.container("one")["ready"]
    assert played.status["phase"] == "Running"
    assert played.condition("Initialized")["status"] == "True"


def test_a_pod_that_runs() -> None:
    played = PlayedPod(pod())
    played.play(3)
    main = played.container()
    assert main["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert main["lastState"] == {}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert set(statuses(played).values()) == {"True"}
    assert played.status["podIP"] == "10.244.0.2"
    assert played.status["startTime"] == "2026-01-01T00:00:00Z"
    assert played.status["observedGeneration"] == 1


def test_a_container_that_is_not_ready_is_named() -> None:
    played = PlayedPod(pod({"name": "a"}, {"name": "b"}))
    played.play(1)
    played.facts.containers["b"].ready = False
    for type_ in ("Ready", "ContainersReady"):
        assert played.condition(type_)["reason"] == "ContainersNotReady"
        assert played.condition(type_)["message"] == "containers with unready status: [b]"


def test_an_unready_sidecar_counts() -> None:
    played = PlayedPod(pod(init=[SIDECAR]))
    played.play(1)
    played.facts.containers["side"].ready = False
    assert played.condition("Ready")["message"] == "containers with unready status: [side]"


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [(0, "Succeeded", "PodCompleted"), (3, "Failed", "PodFailed")]
)
def test_a_pod_that_is_done(code: int, phase: str, reason: str) -> None:
    played = PlayedPod(pod(restartPolicy="Never"), {"main": [(1, code)]})
    played.play(2)
    assert played.status["phase"] == phase
    assert played.condition("Ready")["reason"] == reason
    assert played.condition("PodReadyToStartContainers")["status"] == "False"
    ended = played.container()["state"]["terminated"]
    assert ended["exitCode"] == code
    assert ended["reason"] == ("Error" if code else "Completed")
    assert ended["startedAt"] == "2026-01-01T00:00:00Z"
    assert ended["finishedAt"] == "2026-01-01T00:00:01Z"


def test_one_failure_among_successes_is_a_failure() -> None:
    played = PlayedPod(
        pod({"name": "a"}, {"name": "b"}, restartPolicy="Never"), {"a": [(1, 0)], "b": [(1, 1)]}
    )
    played.play(2)
    assert played.status["phase"] == "Failed"


def test_a_pod_one_of_whose_containers_is_done_still_runs() -> None:
    played = PlayedPod(pod({"name": "a"}, {"name": "b"}, restartPolicy="Never"), {"a": [(1, 0)]})
    played.play(2)
    assert played.status["phase"] == "Running"
    assert played.condition("Ready")["message"] == "containers with unready status: [a]"


def test_the_end_of_the_run_before_is_shown() -> None:
    played = PlayedPod(pod(), {"main": [(1, 5), (1, 6)]})
    played.play(1.5)
    assert played.container()["lastState"]["terminated"]["exitCode"] == 5
    assert played.container()["restartCount"] == 1


def test_times_of_transitions_stay() -> None:
    played = PlayedPod(pod())
    played.play(5)
    since = played.condition("Ready")["lastTransitionTime"]
    played.play(60)
    assert played.condition("Ready")["lastTransitionTime"] == since
    played.facts.containers["main"].ready = False
    assert played.condition("Ready")["lastTransitionTime"] != since


def test_conditions_of_others_stay() -> None:
    played = PlayedPod(pod(readinessGates=[{"conditionType": "example.com/on"}]))
    played.play(1)
    assert played.condition("Ready")["reason"] == "ReadinessGatesNotReady"
    assert "does not exist" in played.condition("Ready")["message"]
    assert played.condition("ContainersReady")["status"] == "True"
    played.pod["status"]["conditions"].append({"type": "example.com/on", "status": "True"})
    assert played.condition("Ready")["status"] == "True"
    assert played.condition("example.com/on")["status"] == "True"


def test_a_pull_that_failed_becomes_a_back_off() -> None:
    played = PlayedPod(pod())
    one = played.facts.containers["main"]
    played.facts.mounted = True
    one.fail_to_start(Waiting("ErrImagePull", "no"), played.now, played.now + timedelta(seconds=10))
    assert played.container()["state"]["waiting"] == {"reason": "ErrImagePull", "message": "no"}
    played.now += timedelta(seconds=2)
    assert played.container()["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "stub": ErrImagePull: no',
    }
    assert played.status["phase"] == "Pending"


def test_a_rejected_pod() -> None:
    played = PlayedPod(pod())
    played.facts.failed, played.facts.rejected = Waiting("NodePorts", "taken"), True
    status = played.status
    assert (status["phase"], status["reason"]) == ("Failed", "NodePorts")
    assert status["message"] == "Pod was rejected: taken"


def test_a_deleted_pod_ends_as_its_containers_did() -> None:
    played = PlayedPod(pod())
    played.play(1)
    played.delete()
    played.play(0.1)
    assert played.status["phase"] == "Running"
    played.play(2)
    assert played.status["phase"] == "Failed", "its container ended with 143"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.3, "300ms"), (10, "10s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s")],
)
def test_durations_are_printed_as_go_does(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_class_of_service(resources: JsonObject, expected: str) -> None:
    assert qos_class(pod({"name": "a", "resources": resources})) == expected

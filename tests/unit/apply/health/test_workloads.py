"""Deployments, StatefulSets, DaemonSets, ReplicaSets: every state and its exact text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.health import check_health, check_progress
from certwright.apply.health.pods import belonging
from certwright.kube import JsonObject

pytestmark = pytest.mark.scenario("MR-73")


def obj(
    api_version: str,
    kind: str,
    spec: JsonObject | None = None,
    status: JsonObject | None = None,
    generation: int = 3,
    **metadata: Any,
) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "generation": generation, **metadata},
        "spec": spec or {},
        "status": status or {},
    }


def condition(
    type_: str, status: str, reason: str = "Why", message: str = "because", **more: Any
) -> JsonObject:
    return {"type": type_, "status": status, "reason": reason, "message": message, **more}


def health(one: JsonObject) -> str:
    """The text after `is unhealthy: `, or nothing."""
    return check_health(one).message.partition(": ")[2]


def progress(one: JsonObject, pods: list[JsonObject] | None = None) -> str:
    return check_progress(one, pods).message.partition(": ")[2]


def deployment(
    *conditions: JsonObject, observed: int = 3, replicas: int | None = None, **metadata: Any
) -> JsonObject:
    spec: JsonObject = {"selector": {"matchLabels": {"app": "web"}}}
    if replicas is not None:
        spec["replicas"] = replicas
    status = {"observedGeneration": observed, "conditions": list(conditions)}
    return obj("apps/v1", "Deployment", spec, status, **metadata)


AVAILABLE = condition("Available", "True")
ROLLED_OUT = condition("Progressing", "True", "NewReplicaSetAvailable")


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (deployment(AVAILABLE), ""),
        (deployment(AVAILABLE, ROLLED_OUT, condition("ReplicaFailure", "False")), ""),
        (deployment(AVAILABLE, observed=4), ""),
        (deployment(AVAILABLE, observed=2), "observed generation outdated (2/3)"),
        (obj("apps/v1", "Deployment"), "observed generation outdated (0/3)"),
        (deployment(), 'condition "Available" is missing'),
        (
            deployment(condition("Available", "False", "MinimumReplicasUnavailable", "no pods")),
            'condition "Available" has invalid status False (expected True) due to MinimumReplicasUnavailable: no pods',
        ),
        (
            deployment(
                AVAILABLE, condition("Progressing", "False", "ProgressDeadlineExceeded", "stuck")
            ),
            'condition "Progressing" has invalid status False (expected True) due to ProgressDeadlineExceeded: stuck',
        ),
        (
            deployment(AVAILABLE, condition("ReplicaFailure", "True", "FailedCreate", "quota")),
            'condition "ReplicaFailure" has invalid status True (expected False) due to FailedCreate: quota',
        ),
    ],
)
def test_health_of_deployments(one: JsonObject, problem: str) -> None:
    assert health(one) == problem


def test_a_verdict_names_the_object() -> None:
    verdict = check_health(deployment())
    assert verdict.reason == "DeploymentUnhealthy"
    assert verdict.message == 'Deployment "shop/web" is unhealthy: condition "Available" is missing'
    verdict = check_progress(deployment())
    assert verdict.reason == "DeploymentProgressing"
    assert (
        verdict.message
        == 'Deployment "shop/web" is progressing: condition "Progressing" is missing'
    )


def pod(
    phase: str = "Running",
    *conditions: JsonObject,
    namespace: str = "shop",
    labels: dict[str, str] | None = None,
    **status: str,
) -> JsonObject:
    return {
        "metadata": {"namespace": namespace, "labels": labels or {"app": "web", "x": "y"}},
        "status": {"phase": phase, "conditions": list(conditions), **status},
    }


@pytest.mark.parametrize(
    ("one", "description"),
    [
        (deployment(ROLLED_OUT), ""),
        (deployment(ROLLED_OUT, observed=2), "observed generation outdated (2/3)"),
        (deployment(), 'condition "Progressing" is missing'),
        (deployment(condition("Progressing", "True", "ReplicaSetUpdated", "2 of 3")), "2 of 3"),
        (deployment(condition("Progressing", "False", "NewReplicaSetAvailable", "odd")), "odd"),
        (deployment(condition("Progressing", "Unknown", "DeploymentPaused", "")), "its condition says DeploymentPaused"),
    ],
)  # fmt: skip
def test_progress_of_deployments(one: JsonObject, description: str) -> None:
    assert progress(one) == description


OLD = "there are still non-terminated old pods"


@pytest.mark.scenario("MR-77")
@pytest.mark.parametrize(
    ("replicas", "pods", "description"),
    [
        (1, [pod()], ""),
        (None, [pod()], ""),
        (1, [pod(), pod()], OLD),
        (2, [pod()], OLD),
        (1, [pod(), pod("Succeeded"), pod("Failed")], ""),
        (1, [pod(), pod(reason="Evicted")], ""),
        (
            1,
            [pod(), pod(reason="NodeAffinity"), pod(reason="NodeLost"), pod(reason="Preempting")],
            "",
        ),
        (1, [pod(), pod(reason="OutOfcpu")], ""),
        (1, [pod(), pod(reason="RanOutOf")], OLD),
        (1, [pod(), pod("Running", condition("Ready", "False", "PodCompleted"))], ""),
        (1, [pod(), pod("Running", condition("Ready", "False", "ContainersNotReady"))], OLD),
        (1, [pod(), pod("Running", condition("DisruptionTarget", "True"))], ""),
        (1, [pod(), pod("Running", condition("DisruptionTarget", "False"))], OLD),
        (1, [pod(), pod(namespace="other"), pod(labels={"app": "api"})], ""),
    ],
)
def test_old_pods_keep_a_deployment_progressing(
    replicas: int | None, pods: list[JsonObject], description: str
) -> None:
    assert progress(deployment(ROLLED_OUT, replicas=replicas), pods) == description


@pytest.mark.scenario("MR-78")
def test_nothing_is_fully_rolled_out() -> None:
    one = deployment(AVAILABLE, ROLLED_OUT, replicas=0)
    assert progress(one, []) == ""
    assert health(one) == ""


def test_expressions_of_selectors_count_too() -> None:
    one = deployment(ROLLED_OUT)
    one["spec"]["selector"]["matchExpressions"] = [
        {"key": "x", "operator": "NotIn", "values": ["y"]}
    ]
    assert belonging(one, [pod()]) == []


@pytest.mark.parametrize(
    ("spec", "status", "problem", "description"),
    [
        ({"replicas": 2}, {"readyReplicas": 2, "updatedReplicas": 2}, "", ""),
        ({}, {"readyReplicas": 1, "updatedReplicas": 1}, "", ""),
        ({}, {}, "not enough ready replicas (0/1)", "0 of 1 replica(s) have been updated"),
        ({"replicas": 0}, {}, "", ""),
        ({"replicas": 3}, {"readyReplicas": 2, "updatedReplicas": 1}, "not enough ready replicas (2/3)", "1 of 3 replica(s) have been updated"),
        ({"replicas": 3}, {"readyReplicas": 4, "updatedReplicas": 4}, "", ""),
    ],
)  # fmt: skip
def test_stateful_sets(
    spec: JsonObject, status: JsonObject, problem: str, description: str
) -> None:
    one = obj("apps/v1", "StatefulSet", spec, {"observedGeneration": 3, **status})
    assert (health(one), progress(one)) == (problem, description)
    one["status"]["observedGeneration"] = 2
    outdated = "observed generation outdated (2/3)"
    assert (health(one), progress(one)) == (outdated, outdated)


def daemon_set(strategy: JsonObject | None = None, observed: int = 3, **status: int) -> JsonObject:
    counts = {
        "desiredNumberScheduled": 10,
        "currentNumberScheduled": 10,
        "updatedNumberScheduled": 10,
    }
    counts |= {"numberMisscheduled": 0, "numberUnavailable": 0, "observedGeneration": observed}
    spec: JsonObject = {"updateStrategy": strategy} if strategy else {}
    return obj("apps/v1", "DaemonSet", spec, counts | status)


def rolling(most: int | str) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}}


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (daemon_set(), ""),
        (daemon_set(observed=2), "observed generation outdated (2/3)"),
        (daemon_set(currentNumberScheduled=9), "not enough scheduled pods (9/10)"),
        (daemon_set(currentNumberScheduled=11), ""),
        (daemon_set(numberMisscheduled=1), "misscheduled pods found (1)"),
        (daemon_set(rolling(2), numberUnavailable=1), "too many unavailable pods found (1/10)"),
        (daemon_set(rolling(2), numberUnavailable=2, updatedNumberScheduled=5), ""),
        (daemon_set(rolling(2), numberUnavailable=3, updatedNumberScheduled=5), "too many unavailable pods found (3/10, only max. 2 unavailable pods allowed)"),
        (daemon_set(rolling("25%"), numberUnavailable=2, updatedNumberScheduled=5), ""),
        (daemon_set(rolling("25%"), numberUnavailable=3, updatedNumberScheduled=5), "too many unavailable pods found (3/10, only max. 2 unavailable pods allowed)"),
        (daemon_set(rolling("x"), numberUnavailable=1, updatedNumberScheduled=5), "too many unavailable pods found (1/10, only max. 0 unavailable pods allowed)"),
        (daemon_set({"type": "RollingUpdate"}, numberUnavailable=1, updatedNumberScheduled=5), "too many unavailable pods found (1/10, only max. 0 unavailable pods allowed)"),
        (daemon_set({"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 5}}, numberUnavailable=1, updatedNumberScheduled=5), "too many unavailable pods found (1/10, only max. 0 unavailable pods allowed)"),
        (daemon_set(desiredNumberScheduled=0, currentNumberScheduled=0, updatedNumberScheduled=0), ""),
    ],
)  # fmt: skip
def test_health_of_daemon_sets(one: JsonObject, problem: str) -> None:
    assert health(one) == problem


def test_progress_of_daemon_sets() -> None:
    assert progress(daemon_set()) == ""
    assert progress(daemon_set(updatedNumberScheduled=4)) == "4 of 10 replica(s) have been updated"
    assert progress(daemon_set(observed=1)) == "observed generation outdated (1/3)"


@given(st.integers(0, 500), st.integers(0, 100), st.integers(0, 500))
def test_percentages_are_rounded_down(desired: int, percent: int, unavailable: int) -> None:
    one = daemon_set(
        rolling(f"{percent}%"),
        desiredNumberScheduled=desired + 1,
        currentNumberScheduled=desired + 1,
        updatedNumberScheduled=desired,
        numberUnavailable=unavailable,
    )
    assert bool(check_health(one)) is (unavailable * 100 <= (desired + 1) * percent)


@pytest.mark.parametrize(
    ("api_version", "kind"), [("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")]
)
def test_replica_sets(api_version: str, kind: str) -> None:
    def judged(replicas: int | None, ready: int, observed: int = 3) -> str:
        spec = {} if replicas is None else {"replicas": replicas}
        return health(
            obj(api_version, kind, spec, {"readyReplicas": ready, "observedGeneration": observed})
        )

    assert judged(2, 2) == ""
    assert judged(None, 0) == ""
    assert judged(2, 1) == f"{kind} does not have minimum availability"
    assert judged(2, 2, observed=2) == "observed generation outdated (2/3)"

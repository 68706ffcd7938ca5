"""The health of objects that are there: each kind by its own rules, told in the same words.

Statuses are written by the tests: no cluster here runs pods.
"""

from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import GroupVersionKind, JsonObject
from certwright.kube.kinds import Deployment, Pod
from certwright.testkit.builders import (
    config_map,
    daemon_set,
    deployment,
    job,
    stateful_set,
)

IGNORE = "resources.gardener.cloud/ignore"
MODE = "resources.gardener.cloud/mode"
SKIP = "resources.gardener.cloud/skip-health-check"
MANAGED_BY = "resources.gardener.cloud/managed-by"


def condition(
    type_: str, status: str, reason: str = "Why", message: str = "because", **more: Any
) -> JsonObject:
    then = "2026-01-01T00:00:00Z"
    times = {"lastTransitionTime": then}
    return {"type": type_, "status": status, "reason": reason, "message": message, **times, **more}


def pod(name: str, labels: dict[str, str] | None = None, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }


def replicas_of(kind: str, api_version: str) -> JsonObject:
    made = deployment("x", replicas=2)
    if kind == "ReplicationController":
        made["spec"]["selector"] = {"app": "x"}
    return {**made, "apiVersion": api_version, "kind": kind}


def load_balancer(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }


ROLLED_OUT = condition("Progressing", "True", "NewReplicaSetAvailable")
AVAILABLE = [condition("Available", "True"), ROLLED_OUT]
UNAVAILABLE = [condition("Available", "False", "MinimumReplicasUnavailable", "no pods"), ROLLED_OUT]

CASES = [
    (
        deployment("x"),
        {"conditions": UNAVAILABLE},
        (
            'condition "Available" has invalid status False (expected True) '
            "due to MinimumReplicasUnavailable: no pods"
        ),
        {"conditions": AVAILABLE},
    ),
    (
        stateful_set("x", replicas=2),
        {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2},
        "not enough ready replicas (1/2)",
        {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2},
    ),
    (
        daemon_set("x"),
        {
            "currentNumberScheduled": 1,
            "desiredNumberScheduled": 2,
            "numberMisscheduled": 0,
            "numberReady": 1,
        },
        "not enough scheduled pods (1/2)",
        {
            "currentNumberScheduled": 2,
            "desiredNumberScheduled": 2,
            "updatedNumberScheduled": 2,
            "numberMisscheduled": 0,
            "numberReady": 2,
        },
    ),
    (
        replicas_of("ReplicaSet", "apps/v1"),
        {"replicas": 2, "readyReplicas": 1},
        "ReplicaSet does not have minimum availability",
        {"replicas": 2, "readyReplicas": 2},
    ),
    (
        replicas_of("ReplicationController", "v1"),
        {"replicas": 2, "readyReplicas": 1},
        "ReplicationController does not have minimum availability",
        {"replicas": 2, "readyReplicas": 2},
    ),
    (
        pod("x"),
        {"phase": "Pending"},
        'pod is in invalid phase "Pending" (expected one of ["Running" "Succeeded"])',
        {"phase": "Running"},
    ),
    (
        load_balancer("x"),
        {},
        "service is missing ingress status",
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    ),
    (
        job("x"),
        {
            "startTime": "2026-01-01T00:00:00Z",
            "conditions": [
                condition("FailureTarget", "True", "BackoffLimitExceeded", "too often"),
                condition("Failed", "True", "BackoffLimitExceeded", "too often"),
            ],
        },
        (
            'condition "Failed" has invalid status True (expected False) '
            "due to BackoffLimitExceeded: too often"
        ),
        None,
    ),
]


async def say(keeping: Keeping, obj: JsonObject, status: JsonObject) -> None:
    """Write the status of an object, as its controller would after having seen its spec."""
    gvk = GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
    resource = await keeping.cluster.client.discovery.resource_for(gvk)
    name = obj["metadata"]["name"]
    generation = (await keeping.find(resource, name))["metadata"].get("generation")
    if generation and obj["kind"] not in {"Pod", "Service", "Job"}:
        status = {**status, "observedGeneration": generation}
    await keeping.cluster.patch(resource, name, {"status": status}, subresource="status")


async def health(keeping: Keeping, name: str = "web") -> str:
    """Return the condition as one text, with its message if it is not as it should be."""
    said = (await keeping.conditions(name))["Healthy"]
    return said if said.startswith("True") else f"{said}: {await keeping.message(name, 'Healthy')}"


@pytest.mark.scenario("MR-73")
@pytest.mark.parametrize(
    ("obj", "bad", "problem", "good"), CASES, ids=[case[0]["kind"] for case in CASES]
)
async def test_each_kind_is_judged_by_its_own_rules(
    keeping: Keeping, obj: JsonObject, bad: JsonObject, problem: str, good: JsonObject | None
) -> None:
    kind = obj["kind"]
    await keeping.declare("web", obj)
    await keeping.settle()
    await say(keeping, obj, bad)
    await keeping.settle()
    text = f'{kind} "{keeping.namespace}/x" is unhealthy: {problem}'
    assert await health(keeping) == f"False/{kind}Unhealthy: {text}"
    if good is not None:
        await say(keeping, obj, good)
        calls = await keeping.settle()
        assert await health(keeping) == "True/ResourcesHealthy"
        assert (calls.writes, calls.reads) == (2, 0), "the status and an event"


@pytest.mark.scenario("MR-73")
async def test_a_controller_that_lags_behind_makes_its_object_unhealthy(keeping: Keeping) -> None:
    await keeping.declare("web", stateful_set("x", replicas=1))
    await keeping.settle()
    text = f'StatefulSet "{keeping.namespace}/x" is unhealthy: observed generation outdated (0/1)'
    assert await health(keeping) == f"False/StatefulSetUnhealthy: {text}"
    assert (await keeping.conditions("web"))["Progressing"] == "True/StatefulSetProgressing"


@pytest.mark.scenario("MR-73")
async def test_what_has_no_rules_is_healthy_because_it_exists(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "x"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    await keeping.declare("web", account, claim)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-74")
async def test_nothing_is_said_about_what_is_to_be_skipped(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    skipped = deployment("x", annotations={SKIP: "true"})
    await keeping.declare("web", skipped)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    await keeping.rewrite("web", deployment("x", annotations={SKIP: "1"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Healthy"] == "False/DeploymentUnhealthy"
    assert (await keeping.conditions("web"))["Progressing"] == "True/DeploymentProgressing"
    # Who looks at the live object may say so there, too.
    note = {"metadata": {"annotations": {SKIP: "true"}}}
    await keeping.rewrite("web", deployment("x"))
    await keeping.settle()
    await keeping.cluster.patch(Deployment, "x", note)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-76")
async def test_the_first_of_several_is_the_reason_and_all_are_listed(keeping: Keeping) -> None:
    await keeping.declare(
        "web", stateful_set("z"), deployment("c"), config_map("a"), deployment("b")
    )
    await keeping.settle()
    namespace = keeping.namespace
    outdated = "is unhealthy: observed generation outdated (0/1)"
    assert await health(keeping) == (
        f'False/DeploymentUnhealthy: Deployment "{namespace}/b" {outdated}; '
        f'also unhealthy: Deployment "{namespace}/c", StatefulSet "{namespace}/z"'
    )
    if keeping.reports_objects:
        status = await keeping.status("web")
        assert [(one["kind"], one["name"]) for one in status["objects"]] == [
            ("Deployment", "b"),
            ("Deployment", "c"),
            ("StatefulSet", "z"),
        ]
        assert status["summary"]["healthy"] == 1
        assert status["summary"]["total"] == 4


@pytest.mark.scenario("MR-76")
async def test_the_list_is_bounded(keeping: Keeping) -> None:
    await keeping.declare("web", *[deployment(f"d-{number:02}") for number in range(30)])
    await keeping.settle()
    if keeping.reports_objects:
        status = await keeping.status("web")
        assert [one["name"] for one in status["objects"]] == [f"d-{n:02}" for n in range(20)]
        assert status["summary"]["progressing"] == 30
    message = await keeping.message("web", "Healthy")
    assert message.endswith(" more")
    assert len(message) < 2000


@pytest.mark.scenario("MR-77")
@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed", "reason": "Evicted"},
        {"phase": "Succeeded"},
        {"phase": "Running", "reason": "OutOfcpu"},
        {"phase": "Running", "conditions": [condition("Ready", "False", "PodCompleted")]},
        {"phase": "Running", "conditions": [condition("DisruptionTarget", "True")]},
    ],
)
async def test_pods_that_are_done_do_not_count_as_progress(
    keeping: Keeping, healthy: dict[str, str], status: JsonObject
) -> None:
    labels = {"app": "x", MANAGED_BY: keeping.namespace}
    await keeping.declare("web", deployment("x"))
    await keeping.settle()
    await keeping.cluster.create(pod("x-new", labels))
    await keeping.cluster.create(pod("x-old", labels))
    await say(keeping, deployment("x"), {"conditions": AVAILABLE})
    await keeping.settle()
    text = f'Deployment "{keeping.namespace}/x" is progressing: '
    assert (await keeping.conditions("web"))["Progressing"] == "True/DeploymentProgressing"
    assert await keeping.message("web", "Progressing") == (
        f"{text}there are still non-terminated old pods"
    )
    await say(keeping, pod("x-old"), status)
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("annotation", [IGNORE, MODE], ids=["ignored", "EnsureExists"])
@pytest.mark.parametrize("before", [True, False], ids=["foreign", "created"])
async def test_a_deployment_that_is_left_alone_arrives_as_well(
    embedded_keeping: Keeping, healthy: dict[str, str], annotation: str, *, before: bool
) -> None:
    """Its pods do not carry our label. Embedded, for the period in which they are counted."""
    keeping = embedded_keeping
    value = "true" if annotation == IGNORE else "EnsureExists"
    wanted = deployment("x", annotations={annotation: value})
    if before:
        await keeping.cluster.create(deployment("x"))
    await keeping.declare("web", wanted)
    await keeping.settle()
    found = await keeping.find(Deployment, "x")
    labels = found["spec"]["template"]["metadata"]["labels"]
    await say(keeping, wanted, {"conditions": AVAILABLE})
    for name in ("x-new", "x-old"):
        await keeping.cluster.create(pod(name, labels))
    await keeping.cluster.create(pod("foreign", {"app": "y"}))
    await keeping.cluster.advance(minutes=2)
    assert await keeping.message("web", "Progressing") == (
        f'Deployment "{keeping.namespace}/x" is progressing: '
        "there are still non-terminated old pods"
    )
    await keeping.cluster.delete(Pod, "x-old")
    calls = await keeping.cluster.advance(minutes=2)
    assert await keeping.conditions("web") == healthy
    assert calls.of("Pod").by_verb["list"] <= 2


@pytest.mark.scenario("MR-78")
async def test_a_deployment_of_no_pods_has_arrived(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", deployment("x", replicas=0))
    await keeping.settle()
    await say(keeping, deployment("x"), {"conditions": AVAILABLE})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


async def test_a_rollout_past_its_deadline_is_told(keeping: Keeping) -> None:
    await keeping.declare("web", deployment("x", replicas=0))
    await keeping.settle()
    late = condition("Progressing", "False", "ProgressDeadlineExceeded", "took too long")
    await say(keeping, deployment("x"), {"conditions": [condition("Available", "True"), late]})
    await keeping.settle()
    assert (await keeping.conditions("web"))["Progressing"] == "True/DeploymentProgressing"
    assert (await keeping.message("web", "Progressing")).endswith("is progressing: took too long")
    assert (await keeping.conditions("web"))["Healthy"] == "False/DeploymentUnhealthy"


@pytest.mark.parametrize(
    ("obj", "status", "problem"),
    [
        (
            stateful_set("x", replicas=3),
            {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2},
            "2 of 3 replica(s) have been updated",
        ),
        (
            daemon_set("x"),
            {
                "currentNumberScheduled": 3,
                "desiredNumberScheduled": 3,
                "updatedNumberScheduled": 2,
                "numberMisscheduled": 0,
                "numberReady": 3,
            },
            "2 of 3 replica(s) have been updated",
        ),
    ],
    ids=["StatefulSet", "DaemonSet"],
)
async def test_a_rollout_under_way_is_told(
    keeping: Keeping, healthy: dict[str, str], obj: JsonObject, status: JsonObject, problem: str
) -> None:
    await keeping.declare("web", obj)
    await keeping.settle()
    await say(keeping, obj, status)
    await keeping.settle()
    kind = obj["kind"]
    assert await keeping.conditions("web") == {
        "Applied": "True/ApplySucceeded",
        "Healthy": "True/ResourcesHealthy",
        "Progressing": f"True/{kind}Progressing",
        "Ready": f"Unknown/{kind}Progressing",
    }
    text = f'{kind} "{keeping.namespace}/x" is progressing: {problem}'
    assert await keeping.message("web", "Progressing") == text
    await keeping.rewrite("web", {**obj, "metadata": {"name": "x", "annotations": {SKIP: "true"}}})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy

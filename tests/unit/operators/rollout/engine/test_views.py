"""What is kept and read of workloads."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from certwright.kube import JsonObject
from certwright.operators.rollout.engine.views import (
    ReducedWorkload,
    progress_of,
    read_workload,
    reduce_workload,
)
from certwright.operators.rollout.workload import RolloutProgress, WorkloadKind

POD: JsonObject = {
    "containers": [
        {
            "name": "main",
            "image": "app",
            "command": ["x"] * 20,
            "env": [
                {"name": "PLAIN", "value": "1"},
                {"name": "STAKATER_S_SECRET", "value": "abc"},
                {"name": "K", "valueFrom": {"secretKeyRef": {"name": "k", "key": "a"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "c"}}],
            "volumeMounts": [
                {"name": "tls", "mountPath": "/a", "subPath": "tls.crt"},
                {"name": "data", "mountPath": "/b"},
            ],
        }
    ],
    "initContainers": [{"name": "init", "envFrom": [{"secretRef": {"name": "i"}}]}],
    "volumes": [
        {"name": "tls", "secret": {"secretName": "s"}},
        {"name": "data", "emptyDir": {}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "p"}}]}},
    ],
}


def deployment(**fields: Any) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "7",
            "generation": 3,
            "labels": {"a": "b"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "x": "y"},
        },
        "spec": {
            "replicas": 2,
            "paused": True,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"t": "u"}},
                "spec": POD,
            },
        },
        **fields,
    }


def test_a_reduced_workload_reads_like_the_whole_one() -> None:
    whole = deployment(status={"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2})
    whole["metadata"]["annotations"].pop("kubectl.kubernetes.io/last-applied-configuration")
    kind = WorkloadKind.DEPLOYMENT
    reduced = reduce_workload(kind, whole)
    assert read_workload(kind, reduced) == read_workload(kind, whole)
    assert reduce_workload(kind, reduced) == reduced
    assert len(orjson.dumps(reduced)) < len(orjson.dumps(whole))


def test_what_is_read() -> None:
    read = read_workload(WorkloadKind.DEPLOYMENT, deployment())
    assert [use.ref.name for use in read.uses] == ["s", "p", "c", "k", "i"]
    assert read.environment == {"main": {"STAKATER_S_SECRET": "abc"}}
    assert read.containers == ("main",)
    assert read.template_annotations == {"t": "u"}
    assert read.progress == RolloutProgress(paused=True)


def test_a_cron_job_has_its_template_elsewhere() -> None:
    template = {"spec": {"template": {"spec": POD}}}
    obj = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"jobTemplate": template}}
    raw = ReducedWorkload(WorkloadKind.CRON_JOB)(orjson.dumps(obj))
    assert len(read_workload(WorkloadKind.CRON_JOB, orjson.loads(raw)).uses) == 5


def progress(kind: WorkloadKind, status: JsonObject, **spec: Any) -> RolloutProgress:
    obj = {"metadata": {"generation": 2}, "spec": spec, "status": status}
    return progress_of(kind, reduce_workload(kind, obj))


SEEN = {"observedGeneration": 2}
GAVE_UP = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
DEPLOYMENT, STATEFUL_SET = WorkloadKind.DEPLOYMENT, WorkloadKind.STATEFUL_SET
DAEMON_SET, ROLLOUT = WorkloadKind.DAEMON_SET, WorkloadKind.ROLLOUT


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (DEPLOYMENT, {}, RolloutProgress()),
        (DEPLOYMENT, {"observedGeneration": 1}, RolloutProgress(rolling=True, healthy=False)),
        (
            DEPLOYMENT,
            {**SEEN, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
            RolloutProgress(),
        ),
        (DEPLOYMENT, {**SEEN, "replicas": 1, "updatedReplicas": 1}, RolloutProgress(healthy=False)),
        (
            DEPLOYMENT,
            {**SEEN, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
            RolloutProgress(rolling=True, healthy=False),
        ),
        (
            DEPLOYMENT,
            {**SEEN, "replicas": 2, "updatedReplicas": 1, "conditions": [GAVE_UP]},
            RolloutProgress(rolling=True, healthy=False, stalled=True),
        ),
        (
            STATEFUL_SET,
            {**SEEN, "currentRevision": "a", "updateRevision": "b"},
            RolloutProgress(rolling=True, healthy=False),
        ),
        (
            STATEFUL_SET,
            {**SEEN, "currentRevision": "a", "updateRevision": "a", "availableReplicas": 1},
            RolloutProgress(),
        ),
        (
            DAEMON_SET,
            {**SEEN, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1},
            RolloutProgress(rolling=True, healthy=False),
        ),
        (DAEMON_SET, {**SEEN, "desiredNumberScheduled": 0}, RolloutProgress()),
        (ROLLOUT, {"observedGeneration": "2", "phase": "Healthy"}, RolloutProgress()),
        (
            ROLLOUT,
            {"observedGeneration": "2", "phase": "Degraded"},
            RolloutProgress(healthy=False, stalled=True),
        ),
        (
            ROLLOUT,
            {"observedGeneration": "2", "phase": "Progressing"},
            RolloutProgress(rolling=True, healthy=False),
        ),
    ],
)
def test_progress(kind: WorkloadKind, status: JsonObject, expected: RolloutProgress) -> None:
    assert replace(progress(kind, status), done=0) == expected


def test_pods_that_are_replaced_by_hand_or_in_part_are_not_waited_for() -> None:
    behind = {**SEEN, "currentRevision": "a", "updateRevision": "b", "availableReplicas": 3}
    by_hand = progress(STATEFUL_SET, behind, replicas=3, updateStrategy={"type": "OnDelete"})
    assert by_hand == RolloutProgress(on_delete=True, done=3)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    part = progress(
        STATEFUL_SET, {**behind, "updatedReplicas": 1}, replicas=3, updateStrategy=strategy
    )
    assert part == RolloutProgress(done=4)


@pytest.mark.parametrize("obj", [{}, {"metadata": None, "spec": 3, "status": []}])
def test_objects_of_wrong_shapes(obj: JsonObject) -> None:
    for kind in WorkloadKind:
        assert read_workload(kind, reduce_workload(kind, obj)).uses == ()

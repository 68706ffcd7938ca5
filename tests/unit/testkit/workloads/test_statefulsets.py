"""Which pods of a StatefulSet are made, replaced and deleted, and in which order."""

from datetime import UTC, datetime
from typing import Any

import pytest

from certwright.testkit.builders import stateful_set
from certwright.testkit.workloads.revisions import (
    RevisionState,
    equal_revision,
    obsolete_revisions,
    revision_for,
    template_of,
)
from certwright.testkit.workloads.statefulpods import (
    StatefulPlan,
    claim_owners,
    claims_of,
    decide_stateful_set,
    is_stale,
    stateful_pod,
)

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stored(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    obj = stateful_set("db", replicas=replicas)
    obj["metadata"] |= {"namespace": "default", "uid": "s-1", "generation": 2}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    obj["spec"] |= {"updateStrategy": rolling, "podManagementPolicy": "OrderedReady", **spec}
    return obj


OLD = revision_for(stateful_set("db") | {"metadata": {"name": "db", "namespace": "default"}}, 1, 0)
NEW = {**OLD, "metadata": {**OLD["metadata"], "name": "db-new"}, "revision": 2}


def pod(
    ordinal: int, *, ready: bool = True, revision: Any = NEW, phase: str = "Running", gone: bool = False
) -> dict[str, Any]:  # fmt: skip
    made = stateful_pod(stored(), revision, ordinal)
    made["metadata"]["uid"] = f"p-{ordinal}"
    if gone:
        made["metadata"]["deletionTimestamp"] = "2031-05-06T07:00:00Z"
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    condition["lastTransitionTime"] = "2031-05-06T07:00:00Z"
    return {**made, "status": {"phase": phase, "conditions": [condition]}}


def decide(owner: dict[str, Any], *pods: dict[str, Any], current: Any = NEW) -> StatefulPlan:
    return decide_stateful_set(owner, pods, current, NEW, NOW)


def names(pods: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["name"] for each in pods]


@pytest.mark.parametrize(
    ("pods", "created"),
    [
        ([], ["db-0"]),
        ([pod(0, ready=False)], []),
        ([pod(0)], ["db-1"]),
        ([pod(1), pod(2)], ["db-0"]),
        ([pod(0), pod(1, gone=True), pod(2)], []),
    ],
)
def test_pods_are_made_one_after_the_other(pods: list[Any], created: list[str]) -> None:
    assert names(decide(stored(), *pods).create) == created


def test_in_parallel_all_are_made_at_once() -> None:
    owner = stored(podManagementPolicy="Parallel")
    assert names(decide(owner, pod(1, ready=False)).create) == ["db-0", "db-2"]
    smaller = stored(replicas=1, podManagementPolicy="Parallel")
    assert names(decide(smaller, pod(0), pod(1), pod(2)).delete) == ["db-2", "db-1"]


def test_too_many_pods_go_last_first_and_only_when_all_are_well() -> None:
    smaller = stored(replicas=1)
    assert names(decide(smaller, pod(0), pod(1), pod(2)).delete) == ["db-2"]
    assert decide(smaller, pod(0), pod(1), pod(2, gone=True)).delete == []
    assert decide(smaller, pod(0, ready=False), pod(1), pod(2)).delete == []
    assert names(decide(smaller, pod(0), pod(1), pod(2, ready=False)).delete) == ["db-2"]
    assert decide(smaller, pod(0), pod(1, ready=False), pod(2, ready=False)).delete == [], (
        "the first that is not well goes first, and it is not the last"
    )


def test_an_update_replaces_the_last_pod_first() -> None:
    old: dict[str, Any] = {"revision": OLD}
    plan = decide(stored(), pod(0, **old), pod(1, **old), pod(2, **old), current=OLD)
    assert names(plan.delete) == ["db-2"]
    plan = decide(stored(), pod(0, **old), pod(1, **old), pod(2), current=OLD)
    assert names(plan.delete) == ["db-1"]
    plan = decide(stored(), pod(0, **old), pod(1, **old), pod(2, ready=False), current=OLD)
    assert plan.delete == []


def test_a_partition_holds_pods_back() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    owner = stored(updateStrategy=strategy)
    plan = decide(owner, pod(0, revision=OLD), pod(1, revision=OLD), pod(2), current=OLD)
    assert plan.delete == []
    assert (plan.status["currentRevision"], plan.status["updateRevision"]) == (
        OLD["metadata"]["name"],
        "db-new",
    )
    [made] = decide(owner, pod(0, revision=OLD), pod(2), current=OLD).create
    assert made["metadata"]["labels"]["controller-revision-hash"] == OLD["metadata"]["name"]


def test_on_delete_replaces_nothing_itself() -> None:
    owner = stored(updateStrategy={"type": "OnDelete"})
    old = [pod(n, revision=OLD) for n in range(3)]
    assert decide(owner, *old, current=OLD).delete == []


def test_ended_pods_are_replaced() -> None:
    plan = decide(stored(), pod(0, phase="Failed", ready=False), pod(1), pod(2))
    assert names(plan.delete) == ["db-0"]


def test_the_status_of_a_finished_update() -> None:
    assert decide(stored(), pod(0), pod(1), pod(2), current=OLD).status == {
        "observedGeneration": 2,
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "availableReplicas": 3,
        "currentRevision": "db-new",
        "updateRevision": "db-new",
    }
    status = decide(stored(), pod(0), pod(1, ready=False), pod(2, gone=True), current=OLD).status
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 2, 2)
    assert status["currentRevision"] == OLD["metadata"]["name"]


def test_pods_have_names_and_claims_of_their_own() -> None:
    owner = stored(volumeClaimTemplates=[CLAIM])
    made = stateful_pod(owner, NEW, 4)
    assert made["metadata"]["name"] == made["spec"]["hostname"] == "db-4"
    assert made["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-4"
    assert made["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "4"
    assert made["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-4"}}
    ]
    [claim] = claims_of(owner, made)
    assert (claim["metadata"]["name"], claim["metadata"]["labels"]) == ("data-db-4", {"app": "db"})


@pytest.mark.parametrize(
    ("policy", "owners"),
    [
        ({}, ("", "")),
        ({"whenDeleted": "Delete"}, ("StatefulSet", "StatefulSet")),
        ({"whenScaled": "Delete"}, ("", "Pod")),
        ({"whenDeleted": "Delete", "whenScaled": "Delete"}, ("StatefulSet", "Pod")),
    ],
)
def test_claims_stay_or_go_as_the_policy_says(
    policy: dict[str, str], owners: tuple[str, str]
) -> None:
    """The second of each pair is for a pod beyond the size."""
    owner = stored(replicas=1, persistentVolumeClaimRetentionPolicy=policy)
    for ordinal, expected in enumerate(owners):
        references = claim_owners(owner, pod(ordinal), {"metadata": {}})
        assert [each["kind"] for each in references] == ([expected] if expected else [])


def test_a_claim_that_goes_with_an_earlier_pod_is_waited_for() -> None:
    policy = {"whenScaled": "Delete"}
    owner = stored(persistentVolumeClaimRetentionPolicy=policy)
    new = stateful_pod(owner, NEW, 0)
    claim = {"metadata": {"ownerReferences": [{"kind": "Pod", "name": "db-0", "uid": "before"}]}}
    assert is_stale(owner, new, claim)
    assert not is_stale(owner, new, {"metadata": {}})
    assert not is_stale(stored(), new, claim)


def test_claims_are_looked_at_where_all_before_are_well() -> None:
    assert names(decide(stored(), pod(0), pod(1, ready=False), pod(2)).settled) == ["db-0"]
    smaller = stored(replicas=1)
    assert names(decide(smaller, pod(0), pod(1), pod(2)).settled) == ["db-0", "db-2", "db-1"]


def test_revisions_store_templates_and_old_ones_are_forgotten() -> None:
    assert template_of(OLD) == stateful_set("db")["spec"]["template"]
    assert equal_revision([OLD, NEW], template_of(OLD)) is NEW, "the newest of several"
    assert equal_revision([OLD], {"metadata": {}}) is None
    every = [{**OLD, "metadata": {"name": f"db-{n}"}, "revision": n} for n in range(1, 6)]
    state = RevisionState(every, every[-1], 0)
    old = obsolete_revisions(state, {"db-2"}, 1)
    assert [each["metadata"]["name"] for each in old] == ["db-1", "db-3"]

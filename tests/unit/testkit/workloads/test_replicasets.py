"""Which pods a ReplicaSet counts, adopts and gives up."""

from datetime import UTC, datetime
from typing import Any

from certwright.testkit.workloads.adoption import decide_adoption
from certwright.testkit.workloads.podstate import is_available, next_availability
from certwright.testkit.workloads.replicasets import pods_to_delete, replica_set_status

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def pod(
    name: str, *, node: str = "n", phase: str = "Running", ready: str = "", owner: str = "rs", **labels: str
) -> dict[str, Any]:  # fmt: skip
    """Return a pod; *ready* is since when, as the end of a timestamp."""
    since = f"2031-05-06T07:{ready}Z" if ready else ""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    references = [{"uid": owner, "controller": True}] if owner else []
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {"app": "web", **labels},
            "creationTimestamp": "2031-05-06T07:00:00Z",
            "ownerReferences": references,
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase, "conditions": [{**condition, "lastTransitionTime": since}]},
    }


def replica_set(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web", "tier": "front"}}}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "metadata": {"name": "web", "namespace": "default", "uid": "rs", "generation": 7},
        "spec": {"replicas": 2, "selector": selector, "template": template, **spec},
    }


def test_pods_that_are_missed_least_go_first() -> None:
    pods = [
        pod("old", ready="01:00"),
        pod("young", ready="02:00"),
        pod("crowded", node="busy", ready="01:00"),
        pod("unready"),
        pod("pending", phase="Pending"),
        pod("unbound", node="", phase="Pending"),
    ]
    others = [pod("other", node="busy", ready="01:00", owner="other")]
    order = pods_to_delete(pods, [*pods, *others], 6)
    names = [each["metadata"]["name"] for each in order]
    assert names[:3] == ["unbound", "pending", "unready"]
    assert names[3:] == ["young", "old", "crowded"], "the node n holds more of them"
    pods[0]["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    assert pods_to_delete(pods[:2], pods, 1) == [pods[0]]


def test_the_status_counts_what_is_ready_and_for_how_long() -> None:
    pods = [pod("a", ready="08:00", tier="front"), pod("b", ready="08:08"), pod("c")]
    assert replica_set_status(replica_set(minReadySeconds=5), pods, 1, "", NOW) == {
        "replicas": 3,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 1,
        "observedGeneration": 7,
    }
    assert next_availability(pods, 5, NOW) == 4
    assert next_availability(pods, 0, NOW) is None
    assert not is_available(pods[2], 0, NOW)


def test_a_failure_to_make_pods_is_a_condition_until_it_is_over() -> None:
    failing = replica_set()
    failing["status"] = replica_set_status(failing, [], 0, "pods is forbidden", NOW)
    [condition] = failing["status"]["conditions"]
    assert condition == {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": "2031-05-06T07:08:09Z",
        "reason": "FailedCreate",
        "message": "pods is forbidden",
    }
    assert replica_set_status(failing, [], 0, "again", NOW)["conditions"] == [condition]
    assert "conditions" not in replica_set_status(failing, [], 0, "", NOW)


def test_orphans_are_adopted_and_strangers_released() -> None:
    ours, foreign = pod("ours"), pod("foreign", owner="another")
    orphan, renamed = pod("orphan", owner=""), pod("renamed", app="other")
    going = pod("going", owner="")
    going["metadata"]["deletionTimestamp"] = "2031-05-06T07:00:00Z"
    decided = decide_adoption(replica_set(), [ours, foreign, orphan, renamed, going])
    assert (decided.kept, decided.adopted, decided.released) == ([ours], [orphan], [renamed])
    leaving = replica_set()
    leaving["metadata"]["deletionTimestamp"] = "2031-05-06T07:00:00Z"
    decided = decide_adoption(leaving, [ours, orphan, renamed])
    assert (decided.kept, decided.adopted, decided.released) == ([ours], [], [])

"""What a Deployment does with its ReplicaSets, step by step, without a cluster."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright.testkit.builders import deployment
from certwright.testkit.workloads.deployment import rollout
from certwright.testkit.workloads.deployment.controller import DeploymentPlan, decide_deployment
from certwright.testkit.workloads.deployment.status import find, next_check

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def stored(replicas: int = 10, surge: int | str = 3, unavailable: int | str = 2) -> dict[str, Any]:
    """Return a Deployment as the server stores it."""
    obj = deployment("web", replicas=replicas)
    obj["metadata"] |= {"namespace": "default", "uid": "d-1", "generation": 1}
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    obj["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    obj["spec"] |= {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10}
    return obj


def replica_set(
    name: str,
    size: int,
    available: int | None = None,
    *,
    version: str = "",
    age: int = 0,
    notes: dict[str, str] | None = None,
) -> dict[str, Any]:
    available = size if available is None else available
    labels = {"app": "web"} | ({"version": version} if version else {})
    template = deepcopy(stored()["spec"]["template"]) | {"metadata": {"labels": labels}}
    template["metadata"]["labels"]["pod-template-hash"] = name
    created = NOW - timedelta(seconds=age)
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "generation": 1,
            "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "annotations": {
                rollout.REVISION: "1", rollout.DESIRED: "10", rollout.MOST: "13", **(notes or {}),
            },
        },
        "spec": {"replicas": size, "template": template},
        "status": {
            "replicas": size,
            "readyReplicas": available,
            "availableReplicas": available,
            "observedGeneration": 1,
        },
    }  # fmt: skip


def decide(obj: dict[str, Any], *sets: dict[str, Any], pods: Any = ()) -> DeploymentPlan:
    return decide_deployment(obj, sets, lambda: pods, NOW)


def sizes(plan: DeploymentPlan) -> dict[str, int]:
    return {each.name: each.replicas for each in plan.change}


def test_the_first_replica_set_has_the_whole_size_and_revision_one() -> None:
    plan = decide(stored(replicas=3))
    assert plan.create is not None
    assert plan.create.replicas == 3
    assert plan.create.annotations == {
        rollout.REVISION: "1",
        rollout.DESIRED: "3",
        rollout.MOST: "6",
    }
    digest = plan.create.obj["metadata"]["labels"]["pod-template-hash"]
    assert plan.create.name == f"web-{digest}"
    assert plan.create.obj["spec"]["selector"]["matchLabels"]["pod-template-hash"] == digest
    assert plan.revision == "1"
    progressing = find(plan.status, "Progressing")
    assert progressing is not None
    assert progressing["reason"] == "NewReplicaSetCreated"
    assert progressing["message"] == f'Created new replica set "{plan.create.name}"'


def test_a_rollout_begins_with_the_surge_then_shrinks_the_old() -> None:
    plan = decide(stored(), replica_set("old", 10, version="0", age=9))
    assert plan.create is not None
    assert plan.create.replicas == 3
    assert sizes(plan) == {"old": 10}, "one step at a time"
    plan = decide(stored(), replica_set("old", 10, version="0", age=9), replica_set("new", 3, 0))
    assert sizes(plan) == {"old": 8, "new": 3}, "13 - 8 available, none of the 3 new ones counts"
    plan = decide(stored(), replica_set("old", 8, version="0", age=9), replica_set("new", 3, 0))
    assert sizes(plan) == {"old": 8, "new": 5}
    plan = decide(stored(), replica_set("old", 8, version="0", age=9), replica_set("new", 5, 5))
    assert sizes(plan) == {"old": 3, "new": 5}


def test_unavailable_old_pods_go_first() -> None:
    plan = decide(
        stored(),
        replica_set("sick", 4, 0, version="0", age=9),
        replica_set("old", 6, version="1", age=8),
        replica_set("new", 3, 3),
    )
    assert sizes(plan) == {"sick": 0, "old": 5, "new": 3}


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 4, (1, 1)),
        ("25%", "25%", 10, (3, 2)),
        ("0%", "1%", 2, (0, 1)),
        (0, 5, 3, (0, 3)),
        ("1%", 0, 0, (0, 0)),
    ],
)
def test_percentages_round_towards_progress(
    surge: int | str, unavailable: int | str, replicas: int, expected: tuple[int, int]
) -> None:
    assert rollout.limits(stored(replicas, surge, unavailable)) == expected


def test_scaling_during_a_rollout_is_proportional() -> None:
    obj = stored(replicas=20)
    plan = decide(obj, replica_set("old", 8, version="0", age=9), replica_set("new", 5, 5))
    assert sizes(plan) == {"old": 14, "new": 9}
    annotations = {each.annotations[rollout.DESIRED] for each in plan.change}
    assert annotations == {"20"}
    assert sum(sizes(plan).values()) == 23
    smaller = decide(
        stored(replicas=5), replica_set("old", 8, version="0", age=9), replica_set("new", 5, 5)
    )
    assert sum(sizes(smaller).values()) == 8


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    obj = stored(replicas=4)
    obj["spec"]["paused"] = True
    plan = decide(obj, replica_set("old", 10, version="0"))
    assert plan.create is None
    assert sizes(plan) == {"old": 4}
    condition = find(plan.status, "Progressing")
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("Unknown", "DeploymentPaused")
    assert condition["message"] == "Deployment is paused"
    resumed = {**obj, "spec": {**obj["spec"], "paused": False}, "status": plan.status}
    condition = find(decide(resumed, replica_set("x", 4)).status, "Progressing")
    assert condition is not None
    assert condition["reason"] != "DeploymentPaused"


def test_recreate_waits_until_old_pods_are_gone() -> None:
    obj = stored(replicas=2)
    obj["spec"]["strategy"] = {"type": "Recreate"}
    annotations = {rollout.DESIRED: "2", rollout.MOST: "2"}
    plan = decide(obj, replica_set("old", 2, version="0", notes=annotations))
    assert (plan.create, sizes(plan)) == (None, {"old": 0})
    stopping = {
        "metadata": {"ownerReferences": [{"uid": "old", "controller": True}]},
        "status": {"phase": "Running"},
    }
    empty = replica_set("old", 0, version="0", notes=annotations)
    assert decide(obj, empty, pods=[stopping]).create is None
    created = decide(obj, empty).create
    assert created is not None
    assert created.replicas == 2


def test_a_rollback_takes_the_old_replica_set_and_keeps_its_history() -> None:
    first = replica_set("first", 0, age=9, notes={rollout.REVISION: "1"})
    second = replica_set("second", 10, version="2", age=5, notes={rollout.REVISION: "2"})
    plan = decide(stored(), first, second)
    assert plan.create is None
    [back] = [each for each in plan.change if each.name == "first"]
    assert back.annotations[rollout.REVISION] == "3"
    assert back.annotations[rollout.HISTORY] == "1"
    assert plan.revision == "3"


def complete(obj: dict[str, Any]) -> dict[str, Any]:
    replicas = obj["spec"]["replicas"]
    numbers = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), replicas)
    obj["status"] = {"observedGeneration": 1, **numbers, "conditions": []}
    return obj


def test_old_replica_sets_beyond_the_limit_go_when_the_rollout_is_complete() -> None:
    obj = stored()
    obj["spec"]["revisionHistoryLimit"] = 1
    old = [
        replica_set(f"old-{n}", 0, version=str(n), age=20 - n, notes={rollout.REVISION: str(n)})
        for n in (1, 2, 3)
    ]
    new = replica_set("new", 10, notes={rollout.REVISION: "4"})
    assert decide(obj, *old, new).delete == []
    assert [each["metadata"]["name"] for each in decide(complete(obj), *old, new).delete] == [
        "old-1",
        "old-2",
    ]
    old[0]["status"]["observedGeneration"] = 0
    deleted = decide(complete(obj), *old, new).delete
    assert [each["metadata"]["name"] for each in deleted] == ["old-2"]


def test_the_status_of_a_complete_rollout() -> None:
    plan = decide(stored(), replica_set("new", 10))
    assert {k: v for k, v in plan.status.items() if k != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 10,
        "updatedReplicas": 10,
        "readyReplicas": 10,
        "availableReplicas": 10,
        "terminatingReplicas": 0,
    }
    available, progressing = (find(plan.status, type_) for type_ in ("Available", "Progressing"))
    assert available is not None
    assert progressing is not None
    assert available["message"] == "Deployment has minimum availability."
    assert progressing["reason"] == "NewReplicaSetAvailable"
    assert progressing["message"] == 'ReplicaSet "new" has successfully progressed.'
    assert next_check(stored(), plan.status, NOW) is None


def test_a_rollout_that_does_not_move_misses_its_deadline() -> None:
    obj, stuck = stored(), replica_set("new", 10, 0)
    first = decide(obj, stuck)
    progressing = find(first.status, "Progressing")
    assert progressing is not None
    assert progressing["reason"] == "ReplicaSetUpdated"
    waiting = {**obj, "status": first.status}
    assert next_check(waiting, first.status, NOW) == 601
    later = decide_deployment(waiting, [stuck], list, NOW + timedelta(seconds=601))
    progressing = find(later.status, "Progressing")
    assert progressing is not None
    assert (progressing["status"], progressing["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert progressing["message"] == 'ReplicaSet "new" has timed out progressing.'
    available = find(later.status, "Available")
    assert available is not None
    assert available["message"] == "Deployment does not have minimum availability."


def test_the_same_state_gives_the_same_status() -> None:
    """Otherwise the controller would write for ever."""
    obj = stored()
    obj["status"] = decide(obj, replica_set("new", 10, 4)).status
    later = decide_deployment(obj, [replica_set("new", 10, 4)], list, NOW + timedelta(seconds=60))
    assert later.status == obj["status"]
    assert all(each.patch() is None for each in decide(obj, replica_set("new", 10, 4)).change)


def test_annotations_are_copied_but_not_those_of_the_controller() -> None:
    obj = stored()
    obj["metadata"]["annotations"] = {
        "team": "a",
        rollout.REVISION: "9",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    created = decide(obj).create
    assert created is not None
    assert created.annotations["team"] == "a"
    assert created.annotations[rollout.REVISION] == "1"
    assert len(created.annotations) == 4

"""Which nodes get a pod of a DaemonSet, and how an update walks over them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from certwright.testkit.builders import daemon_set
from certwright.testkit.workloads.daemonsets import (
    DaemonPlan,
    daemon_pod,
    daemon_set_status,
    decide_daemon_set,
)
from certwright.testkit.workloads.placement import Placement, daemon_spec, place

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def stored(strategy: str = "RollingUpdate", **rolling: Any) -> dict[str, Any]:
    obj = daemon_set("agent")
    obj["metadata"] |= {"namespace": "default", "uid": "d-1", "generation": 3}
    limits = {"maxUnavailable": 1, "maxSurge": 0, **rolling}
    obj["spec"]["updateStrategy"] = {"type": strategy, "rollingUpdate": limits}
    return obj


def node(name: str, *, labels: Any = None, taints: Any = ()) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": list(taints)}}


def pod(where: str, digest: str = "new", *, ready: bool = True, **status: Any) -> dict[str, Any]:
    made = daemon_pod(stored(), where, digest)
    made["metadata"] |= {"name": f"agent-{where}-{digest}", "uid": f"{where}-{digest}"}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    condition["lastTransitionTime"] = "2031-05-06T07:00:00Z"
    return {**made, "status": {"phase": "Running", "conditions": [condition], **status}}


def decide(owner: dict[str, Any], nodes: list[Any], *pods: dict[str, Any]) -> DaemonPlan:
    return decide_daemon_set(owner, nodes, pods, "new", NOW)


def names(plan: DaemonPlan) -> list[str]:
    return [each["metadata"]["name"] for each in plan.delete]


NODES = [node("a"), node("b"), node("c")]


def test_every_node_gets_one_pod() -> None:
    plan = decide(stored(), NODES, pod("b"))
    assert (plan.create, plan.delete) == (["a", "c"], [])
    twice = [pod("b"), {**pod("b"), "metadata": {**pod("b")["metadata"], "name": "z"}}]
    assert names(decide(stored(), [node("b")], *twice)) == ["z"]
    assert names(decide(stored(), [node("b")], pod("b", phase="Failed"))) == ["agent-b-new"]


def test_an_update_replaces_as_many_as_may_be_unavailable() -> None:
    old = [pod(name, "old") for name in "abc"]
    assert names(decide(stored(), NODES, *old)) == ["agent-a-old"]
    assert names(decide(stored(maxUnavailable="50%"), NODES, *old)) == [
        "agent-a-old",
        "agent-b-old",
    ]
    assert decide(stored(), NODES, pod("a", ready=False), *old[1:]).delete == []
    sick = [old[0], pod("b", "old", ready=False), old[2]]
    assert names(decide(stored(), NODES, *sick)) == ["agent-b-old"]
    assert decide(stored("OnDelete"), NODES, *old).delete == []


def test_a_surge_makes_the_new_pod_before_the_old_goes() -> None:
    owner = stored(maxSurge=1, maxUnavailable=0)
    old = [pod(name, "old") for name in "abc"]
    assert decide(owner, NODES, *old).create == ["a"]
    waiting = [*old, pod("a", ready=False)]
    assert decide(owner, NODES, *waiting) == DaemonPlan([], [])
    assert names(decide(owner, NODES, *old, pod("a"))) == ["agent-a-old"]
    alone = [pod("a", ready=False), *old[1:]]
    assert decide(owner, NODES, *alone).create == ["b"], "a pod beside no old one is no surge"


def test_the_generation_of_the_template_counts_as_its_hash() -> None:
    owner = stored()
    owner["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "2"}
    old = [pod(name, "old") for name in "abc"]
    assert names(decide(owner, NODES, *old)) == ["agent-a-old"]
    for each in old:
        each["metadata"]["labels"]["pod-template-generation"] = "2"
    assert decide(owner, NODES, *old).delete == []


@pytest.mark.parametrize(
    ("spec", "where", "expected"),
    [
        ({}, node("a"), (True, True)),
        ({"nodeName": "b"}, node("a"), (False, False)),
        ({"nodeSelector": {"disk": "ssd"}}, node("a"), (False, False)),
        ({"nodeSelector": {"disk": "ssd"}}, node("a", labels={"disk": "ssd"}), (True, True)),
        ({}, node("a", taints=[{"key": "x", "effect": "NoSchedule"}]), (False, True)),
        ({}, node("a", taints=[{"key": "x", "effect": "NoExecute"}]), (False, False)),
        ({}, node("a", taints=[{"key": "x", "effect": "PreferNoSchedule"}]), (True, True)),
        (
            {"tolerations": [{"key": "x", "operator": "Exists"}]},
            node("a", taints=[{"key": "x", "value": "1", "effect": "NoExecute"}]),
            (True, True),
        ),
        (
            {},
            node("a", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
            (True, True),
        ),
    ],
)
def test_where_a_pod_belongs(
    spec: dict[str, Any], where: dict[str, Any], expected: tuple[bool, bool]
) -> None:
    assert place(daemon_spec(spec), where) == Placement(*expected)


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "cores", "operator": "Gt", "values": ["4"]}, True),
        ({"key": "cores", "operator": "Lt", "values": ["4"]}, False),
        ({"key": "disk", "operator": "Exists"}, False),
        ({"key": "cores", "operator": "In", "values": ["8", "16"]}, True),
    ],
)
def test_affinity_is_obeyed(expression: dict[str, Any], fits: bool) -> None:  # noqa: FBT001
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    spec = {"affinity": {"nodeAffinity": required}}
    assert place(spec, node("a", labels={"cores": "8"})).runs is fits


def test_pods_leave_nodes_they_do_not_belong_on() -> None:
    tainted = node("b", taints=[{"key": "x", "effect": "NoExecute"}])
    plan = decide(stored(), [node("a"), tainted], pod("a"), pod("b"))
    assert names(plan) == ["agent-b-new"]
    unbound = pod("gone")
    assert names(decide(stored(), [node("a")], pod("a"), unbound)) == ["agent-gone-new"]


def test_the_status_counts_nodes() -> None:
    nodes = [*NODES, node("d", taints=[{"key": "x", "effect": "NoSchedule"}])]
    pods = [pod("a"), pod("b", "old", ready=False), pod("d")]
    assert daemon_set_status(stored(), nodes, pods, "new", NOW) == {
        "observedGeneration": 3,
        "desiredNumberScheduled": 3,
        "currentNumberScheduled": 2,
        "numberMisscheduled": 1,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "numberUnavailable": 2,
    }

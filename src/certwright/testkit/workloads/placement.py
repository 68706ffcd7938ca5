"""On which nodes the pods of a DaemonSet belong."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from certwright.kube import JsonObject, LabelSelector

_EXISTS: Final = {"operator": "Exists"}
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Placement:
    """Whether a pod should be made on a node, and whether one that runs there may stay."""

    runs: bool
    stays: bool


def place(pod_spec: JsonObject, node: JsonObject) -> Placement:
    """Decide whether a pod of this spec belongs on a node; *pod_spec* has its tolerations."""
    wanted = pod_spec.get("nodeName")
    name = node["metadata"]["name"]
    if (wanted and wanted != name) or not _selects(pod_spec, node):
        return Placement(runs=False, stays=False)
    tolerations = pod_spec.get("tolerations") or ()
    taints = (node.get("spec") or {}).get("taints") or ()
    repelled = {
        taint["effect"]
        for taint in taints
        if not any(_tolerates(toleration, taint) for toleration in tolerations)
    }
    if "NoExecute" in repelled:
        return Placement(runs=False, stays=False)
    return Placement(runs="NoSchedule" not in repelled, stays=True)


def daemon_spec(pod_spec: JsonObject) -> JsonObject:
    """Return the spec of a daemon pod: it tolerates what is wrong with a node."""
    wanted = [*_TOLERATED, *([_NETWORK] if pod_spec.get("hostNetwork") else [])]
    tolerations = list(pod_spec.get("tolerations") or ())
    for key, effect in wanted:
        tolerations = [
            each for each in tolerations if (each.get("key"), each.get("effect")) != (key, effect)
        ]
        tolerations.append({"key": key, "effect": effect, **_EXISTS})
    return {**pod_spec, "tolerations": tolerations}


def bound_to(pod_spec: JsonObject, node: str) -> JsonObject:
    """Return a spec that only this node may run."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = pod_spec.get("affinity") or {}
    nodes = affinity.get("nodeAffinity") or {}
    required = {_REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    return {**pod_spec, "affinity": {**affinity, "nodeAffinity": {**nodes, **required}}}


def node_named_by(pod: JsonObject) -> str:
    """Return the node a daemon pod runs on, or is bound to by its affinity; empty if none."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    nodes = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _selects(pod_spec: JsonObject, node: JsonObject) -> bool:
    labels = node["metadata"].get("labels") or {}
    if not (pod_spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    if not affinity.get(_REQUIRED):
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _matches(term.get("matchExpressions") or (), labels)
        and _matches(term.get("matchFields") or (), fields)
        for term in affinity[_REQUIRED].get("nodeSelectorTerms") or ()
    )


def _matches(expressions: Iterable[JsonObject], values: dict[str, Any]) -> bool:
    for each in expressions:
        operator, listed = each["operator"], each.get("values") or []
        if operator in {"Gt", "Lt"}:
            sign = ">" if operator == "Gt" else "<"
            selector = LabelSelector.parse(f"{each['key']}{sign}{listed[0]}")
        else:
            selector = LabelSelector.from_spec({"matchExpressions": [each]})
        if not selector.matches(values):
            return False
    return True


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("value", "") == taint.get("value", ""))

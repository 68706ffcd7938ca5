"""Which pods come to the node: a scheduler for one node, decided by pure functions."""

from certwright.kube import JsonObject
from certwright.testkit.node.events import PodEvent

SCHEDULER = "default-scheduler"


def is_to_bind(pod: JsonObject) -> bool:
    """Return whether a pod waits for this scheduler to give it a node."""
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and (spec.get("schedulerName") or SCHEDULER) == SCHEDULER
        and not spec.get("schedulingGates")
        and "deletionTimestamp" not in pod["metadata"]
        and (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}
    )


def fits(pod: JsonObject, node_labels: dict[str, str]) -> bool:
    """Return whether the node has the labels that a pod asks for."""
    wanted = pod["spec"].get("nodeSelector") or {}
    return all(node_labels.get(key) == value for key, value in wanted.items())


def binding(pod: JsonObject, node: str) -> JsonObject:
    """Return the Binding of a pod to the node."""
    metadata = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def scheduled(pod: JsonObject, node: str) -> PodEvent:
    """Return the event that a pod has its node."""
    metadata = pod["metadata"]
    message = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {node}"
    return PodEvent("Normal", "Scheduled", message, component=SCHEDULER)


UNSCHEDULABLE = (
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not "
    "helpful for scheduling."
)


def refused() -> PodEvent:
    """Return the event that no node has the labels a pod asks for."""
    return PodEvent("Warning", "FailedScheduling", UNSCHEDULABLE, component=SCHEDULER)


def refusal_patch(now: str) -> JsonObject:
    """Return the patch of the status of a pod that fits no node."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": UNSCHEDULABLE,
        "lastTransitionTime": now,
    }
    return {"status": {"conditions": [condition]}}

"""Which replica of a control plane a process is, and the Lease in which it reports."""

from dataclasses import dataclass

from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.certificates.rotation.places import (
    INSTANCE,
    SERVICE_LABELS,
)


@dataclass(frozen=True, slots=True)
class ReplicaIdentity:
    """Which pod of which control plane a process is."""

    service: str
    """The name of the DiscoveryService."""
    pod: Key
    uid: str = ""
    """Of the pod, so that its report goes with it; empty if it is not known."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its Lease, by which the operator finds it."""
        common = dict(one.split("=", 1) for one in SERVICE_LABELS.split(","))
        return {**common, INSTANCE: self.service}

    @property
    def selector(self) -> str:
        """The selector of all Leases and pods of its control plane."""
        return f"{SERVICE_LABELS},{INSTANCE}={self.service}"

    def lease(self, annotation: str, report: str) -> JsonObject:
        """Return its Lease with one report, to be applied. The Lease is deleted with the pod."""
        metadata: JsonObject = {
            "name": self.pod.name,
            "namespace": self.pod.namespace,
            "labels": self.labels,
            "annotations": {annotation: report},
        }
        if self.uid:
            metadata["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "Pod", "name": self.pod.name, "uid": self.uid}
            ]
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {"holderIdentity": self.pod.name},
        }


def annotation_of(obj: JsonObject, name: str) -> str | None:
    """Return an annotation of an object; None if it has none of that name."""
    text = (obj["metadata"].get("annotations") or {}).get(name)
    return text if isinstance(text, str) else None


def is_ready(pod: JsonObject) -> bool:
    """Return whether a pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)

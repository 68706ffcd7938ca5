"""Pods and Jobs, and which pods still belong to a Deployment."""

from collections.abc import Iterable

from certwright.apply.health.status import find, section, text, violated
from certwright.kube import JsonObject, LabelSelector

_GONE_REASONS = ("Evicted", "NodeAffinity", "NodeLost", "Preempting")


def pod_health(obj: JsonObject) -> str:
    """Check that a pod runs or is done; its owner decides whether it must be ready."""
    phase = text(section(obj, "status"), "phase")
    if phase in {"Running", "Succeeded"}:
        return ""
    return f'pod is in invalid phase "{phase}" (expected one of ["Running" "Succeeded"])'


def job_health(obj: JsonObject) -> str:
    """Check that a Job has not failed; it need not be complete."""
    return violated(obj, "Failed", "False")


def belonging(owner: JsonObject, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Return a workload's pods, neither done nor moved away; `ValueError` for a bad selector."""
    namespace = section(owner, "metadata").get("namespace")
    selector = LabelSelector.from_spec(section(owner, "spec").get("selector"))
    return [
        pod
        for pod in pods
        if section(pod, "metadata").get("namespace") == namespace
        and selector.matches(section(pod, "metadata", "labels"))
        and not _is_gone(pod)
    ]


def _is_gone(pod: JsonObject) -> bool:
    """Return whether a pod is done, or was moved away; such pods may remain for long."""
    status = section(pod, "status")
    if text(status, "phase") in {"Succeeded", "Failed"}:
        return True
    reason = text(status, "reason")
    if reason.startswith("OutOf") or any(word in reason for word in _GONE_REASONS):
        return True
    ready, disrupted = find(pod, "Ready"), find(pod, "DisruptionTarget")
    if ready is not None and ready.status == "False" and ready.reason == "PodCompleted":
        return True
    return disrupted is not None and disrupted.status == "True"

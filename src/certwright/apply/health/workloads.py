"""Deployments, StatefulSets, DaemonSets and ReplicaSets: healthy, and rolled out."""

import re
from collections.abc import Iterable

from certwright.apply.health.pods import belonging
from certwright.apply.health.status import find, outdated, section, text, violated, whole
from certwright.kube import JsonObject


def deployment_health(obj: JsonObject) -> str:
    """Check that it is available and not stuck; it decides itself how many replicas that takes."""
    return (
        outdated(obj)
        or violated(obj, "Available", "True", required=True)
        or violated(obj, "Progressing", "True")
        or violated(obj, "ReplicaFailure", "False")
    )


def deployment_progress(obj: JsonObject, pods: Iterable[JsonObject] | None) -> str:
    """Check that the new ReplicaSet is complete and no pod of an old one is left."""
    if reason := outdated(obj):
        return reason
    condition = find(obj, "Progressing")
    if condition is None:
        return 'condition "Progressing" is missing'
    if condition.status != "True" or condition.reason != "NewReplicaSetAvailable":
        return condition.message or f"its condition says {condition.reason}"
    replicas = whole(section(obj, "spec"), "replicas", 1)
    if pods is not None and len(belonging(obj, pods)) != replicas:
        return "there are still non-terminated old pods"
    return ""


def stateful_set_health(obj: JsonObject) -> str:
    """Check that all replicas are ready."""
    ready = whole(section(obj, "status"), "readyReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    problem = f"not enough ready replicas ({ready}/{replicas})" if ready < replicas else ""
    return outdated(obj) or problem


def stateful_set_progress(obj: JsonObject) -> str:
    """Check that all replicas are of the newest revision."""
    updated = whole(section(obj, "status"), "updatedReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    return outdated(obj) or _updated(updated, replicas)


def daemon_set_health(obj: JsonObject) -> str:
    """Check that it runs on the right nodes, during a rollout on as many as it promises."""
    if reason := outdated(obj):
        return reason
    status = section(obj, "status")
    desired, scheduled = (
        whole(status, name) for name in ("desiredNumberScheduled", "currentNumberScheduled")
    )
    if scheduled < desired:
        return f"not enough scheduled pods ({scheduled}/{desired})"
    if misscheduled := whole(status, "numberMisscheduled"):
        return f"misscheduled pods found ({misscheduled})"
    rolling = whole(status, "updatedNumberScheduled") < desired
    allowed = _max_unavailable(obj, desired) if rolling else 0
    unavailable = whole(status, "numberUnavailable")
    if unavailable <= allowed:
        return ""
    limit = f", only max. {allowed} unavailable pods allowed" if rolling else ""
    return f"too many unavailable pods found ({unavailable}/{scheduled}{limit})"


def daemon_set_progress(obj: JsonObject) -> str:
    """Check that the pods of all nodes are of the newest revision."""
    status = section(obj, "status")
    updated = whole(status, "updatedNumberScheduled")
    return outdated(obj) or _updated(updated, whole(status, "desiredNumberScheduled"))


def replica_set_health(obj: JsonObject) -> str:
    """Check that as many replicas are ready as are wanted; of ReplicationControllers, too."""
    replicas = whole(section(obj, "spec"), "replicas")
    ready = whole(section(obj, "status"), "readyReplicas")
    problem = f"{obj.get('kind')} does not have minimum availability" if ready < replicas else ""
    return outdated(obj) or problem


def _updated(updated: int, wanted: int) -> str:
    return f"{updated} of {wanted} replica(s) have been updated" if updated < wanted else ""


def _max_unavailable(obj: JsonObject, desired: int) -> int:
    """Return how many pods a rollout may take away; percentages are rounded down."""
    if text(section(obj, "spec", "updateStrategy"), "type") != "RollingUpdate":
        return 0
    rolling = section(obj, "spec", "updateStrategy", "rollingUpdate")
    if percent := re.fullmatch(r"([0-9]{1,9})%", text(rolling, "maxUnavailable")):
        return desired * int(percent[1]) // 100
    return whole(rolling, "maxUnavailable") if desired else 0

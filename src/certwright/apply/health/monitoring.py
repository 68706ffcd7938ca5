"""Prometheus and Alertmanager, of the Prometheus operator."""

from certwright.apply.health.status import find, mismatch, outdated, section, whole
from certwright.kube import JsonObject


def monitoring_health(obj: JsonObject) -> str:
    """Available for the newest generation, with all replicas."""
    available = whole(section(obj, "status"), "availableReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    if reason := _current(obj, "Available"):
        return reason
    return f"not enough available replicas ({available}/{replicas})" if available < replicas else ""


def monitoring_progress(obj: JsonObject) -> str:
    """Rolled out when the operator is done and all replicas are of the newest revision."""
    updated = whole(section(obj, "status"), "updatedReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    if reason := _current(obj, "Reconciled"):
        return reason
    return f"{updated} of {replicas} replica(s) have been updated" if updated < replicas else ""


def _current(obj: JsonObject, type_: str) -> str:
    """Say that a condition is missing, old or not True."""
    condition = find(obj, type_)
    if condition is None:
        return f'condition "{type_}" is missing'
    if reason := outdated(obj, condition.observed_generation):
        return reason
    return "" if condition.status == "True" else mismatch(condition, "True")

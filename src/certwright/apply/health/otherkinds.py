"""Services, definitions, autoscalers, monitoring, Gardener's certificates, and ManagedResources.

Each rule returns what is wrong with an object, or what it waits for; empty if nothing is.
"""

from certwright.apply.health.status import find, mismatch, outdated, section, text, violated, whole
from certwright.kube import JsonObject


def service_health(obj: JsonObject) -> str:
    """Check that a load balancer has at least one address."""
    if text(section(obj, "spec"), "type") != "LoadBalancer":
        return ""
    given = section(obj, "status", "loadBalancer").get("ingress")
    return "" if given else "service is missing ingress status"


def definition_health(obj: JsonObject) -> str:
    """Check that its names are accepted and its API is served."""
    return (
        violated(obj, "NamesAccepted", "True", required=True)
        or violated(obj, "Established", "True", required=True)
        or violated(obj, "Terminating", "False")
    )


def vertical_autoscaler_health(obj: JsonObject) -> str:
    """Check that its configuration is supported.

    The observed generation does not count: while a cluster is built up, the autoscaler may itself
    wait for what waits for this verdict.
    """
    return violated(obj, "ConfigUnsupported", "False")


def certificate_health(obj: JsonObject) -> str:
    """Check that a certificate of Gardener's certificate management is issued."""
    return violated(obj, "Ready", "True") or _state_problem(obj, "certificate")


def issuer_health(obj: JsonObject) -> str:
    """Check that an issuer of Gardener's certificate management is ready."""
    return _state_problem(obj, "issuer")


def _state_problem(obj: JsonObject, noun: str) -> str:
    state = text(section(obj, "status"), "state")
    return "" if state == "Ready" else f'{noun} state is "{state}" ("Ready" expected)'


def certificate_progress(obj: JsonObject) -> str:
    """Check that its controller has seen the latest change; of issuers, too."""
    return outdated(obj)


def managed_resource_health(obj: JsonObject) -> str:
    """Check that the newest generation is applied and healthy, as the ManagedResource reports."""
    return (
        outdated(obj)
        or violated(obj, "ResourcesApplied", "True", required=True)
        or violated(obj, "ResourcesHealthy", "True", required=True)
    )


def managed_resource_progress(obj: JsonObject) -> str:
    """Check that it is rolled out, as the ManagedResource reports."""
    condition = find(obj, "ResourcesProgressing")
    if condition is None or condition.status == "False":
        return outdated(obj)
    return outdated(obj) or condition.message or f"its condition says {condition.reason}"


def monitoring_health(obj: JsonObject) -> str:
    """Check that a Prometheus or Alertmanager has all replicas of its newest generation."""
    available = whole(section(obj, "status"), "availableReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    if reason := _current(obj, "Available"):
        return reason
    return f"not enough available replicas ({available}/{replicas})" if available < replicas else ""


def monitoring_progress(obj: JsonObject) -> str:
    """Check that the operator is done and all replicas are of the newest revision."""
    updated = whole(section(obj, "status"), "updatedReplicas")
    replicas = whole(section(obj, "spec"), "replicas", 1)
    if reason := _current(obj, "Reconciled"):
        return reason
    return f"{updated} of {replicas} replica(s) have been updated" if updated < replicas else ""


def _current(obj: JsonObject, type_: str) -> str:
    """Check that a condition is present, current and True."""
    condition = find(obj, type_)
    if condition is None:
        return f'condition "{type_}" is missing'
    if reason := outdated(obj, condition.observed_generation):
        return reason
    return "" if condition.status == "True" else mismatch(condition, "True")

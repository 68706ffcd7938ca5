"""Which rule checks which kind, and the rule for all other kinds.

Of a kind without a rule the conditions are read by the usual conventions. An object without
conditions is healthy because it exists. ``Ready`` and ``Available`` must be True where they are
set, ``Stalled`` and ``Failed`` must not; a controller that lags behind the spec, or sets
``Reconciling``, makes the object progressing, not unhealthy.
"""

from collections.abc import Callable, Iterable
from typing import Final

from certwright.apply.health import verdicts
from certwright.apply.health.otherkinds import (
    certificate_health,
    certificate_progress,
    definition_health,
    issuer_health,
    managed_resource_health,
    managed_resource_progress,
    monitoring_health,
    monitoring_progress,
    service_health,
    vertical_autoscaler_health,
)
from certwright.apply.health.pods import job_health, pod_health
from certwright.apply.health.status import find, outdated, section, violated
from certwright.apply.health.verdicts import Verdict
from certwright.apply.health.workloads import (
    daemon_set_health,
    daemon_set_progress,
    deployment_health,
    deployment_progress,
    replica_set_health,
    stateful_set_health,
    stateful_set_progress,
)
from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject

Rule = Callable[[JsonObject], str]
"""Returns what is wrong with an object, or what it waits for; empty if nothing is."""

SKIP_ANNOTATION: Final = "resources.gardener.cloud/skip-health-check"

_HEALTH: Final[dict[tuple[str, str], Rule]] = {
    ("", "Pod"): pod_health,
    ("", "ReplicationController"): replica_set_health,
    ("", "Service"): service_health,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definition_health,
    ("apps", "DaemonSet"): daemon_set_health,
    ("apps", "Deployment"): deployment_health,
    ("apps", "ReplicaSet"): replica_set_health,
    ("apps", "StatefulSet"): stateful_set_health,
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): vertical_autoscaler_health,
    ("batch", "Job"): job_health,
    ("cert.gardener.cloud", "Certificate"): certificate_health,
    ("cert.gardener.cloud", "Issuer"): issuer_health,
    ("monitoring.coreos.com", "Alertmanager"): monitoring_health,
    ("monitoring.coreos.com", "Prometheus"): monitoring_health,
    ("resources.gardener.cloud", "ManagedResource"): managed_resource_health,
}
# A kind with a rule above and none here never counts as progressing.
_PROGRESS: Final[dict[tuple[str, str], Rule]] = {
    ("apps", "DaemonSet"): daemon_set_progress,
    ("apps", "StatefulSet"): stateful_set_progress,
    ("cert.gardener.cloud", "Certificate"): certificate_progress,
    ("cert.gardener.cloud", "Issuer"): certificate_progress,
    ("monitoring.coreos.com", "Alertmanager"): monitoring_progress,
    ("monitoring.coreos.com", "Prometheus"): monitoring_progress,
    ("resources.gardener.cloud", "ManagedResource"): managed_resource_progress,
}


def check_health(obj: JsonObject) -> Verdict:
    """Check whether an object does what it should, by its content alone."""
    ref = ObjectRef.of(obj)
    if is_exempt(obj):
        return verdicts.healthy(ref)
    problem = _HEALTH.get((ref.group, ref.kind), any_health)(obj)
    return verdicts.unhealthy(ref, problem) if problem else verdicts.healthy(ref)


def check_progress(obj: JsonObject, pods: Iterable[JsonObject] | None = None) -> Verdict:
    """Check whether the latest change of an object is rolled out.

    For a Deployment *pods* are those of its namespace, or at least all that its selector matches;
    without them, pods of old ReplicaSets that still terminate are not noticed. Raises `ValueError`
    if the selector of a Deployment is malformed.
    """
    ref = ObjectRef.of(obj)
    if is_exempt(obj):
        return verdicts.healthy(ref)
    known = (ref.group, ref.kind)
    if known == ("apps", "Deployment"):
        reason = deployment_progress(obj, pods)
    elif known in _HEALTH and known not in _PROGRESS:
        reason = ""  # of these kinds, health is all there is to check
    else:
        reason = _PROGRESS.get(known, any_progress)(obj)
    return verdicts.progressing(ref, reason) if reason else verdicts.healthy(ref)


def is_exempt(obj: JsonObject) -> bool:
    """Return whether an object is annotated not to be checked; only the literal ``true`` counts."""
    return section(obj, "metadata", "annotations").get(SKIP_ANNOTATION) == "true"


# Kinds without a rule of their own


def any_health(obj: JsonObject) -> str:
    """Return the first condition that reports trouble."""
    if not section(obj, "status").get("conditions"):
        return ""  # as most objects: they have no status at all
    return (
        violated(obj, "Stalled", "False")
        or violated(obj, "Failed", "False")
        or violated(obj, "Ready", "True")
        # Ready is the summary where there is one; parts of it need not be available.
        or ("" if find(obj, "Ready") else violated(obj, "Available", "True"))
    )


def any_progress(obj: JsonObject) -> str:
    """Return what shows that a change is not rolled out yet."""
    if "deletionTimestamp" in section(obj, "metadata"):
        return "it is being deleted"
    if "observedGeneration" in section(obj, "status") and (reason := outdated(obj)):
        return reason
    reconciling = find(obj, "Reconciling")
    if reconciling is not None and reconciling.status == "True":
        return reconciling.message or f"its condition says {reconciling.reason}"
    return ""

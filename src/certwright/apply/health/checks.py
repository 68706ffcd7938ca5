"""Which rule judges which kind."""

from collections.abc import Callable, Iterable
from typing import Final

from certwright.apply.health import verdicts
from certwright.apply.health.anykind import any_health, any_progress
from certwright.apply.health.autoscalers import vertical_autoscaler_health
from certwright.apply.health.certificates import (
    certificate_health,
    certificate_progress,
    issuer_health,
)
from certwright.apply.health.definitions import definition_health
from certwright.apply.health.managedresources import (
    managed_resource_health,
    managed_resource_progress,
)
from certwright.apply.health.monitoring import monitoring_health, monitoring_progress
from certwright.apply.health.pods import job_health, pod_health
from certwright.apply.health.services import service_health
from certwright.apply.health.status import section
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
"""Says what is wrong with an object, or what it waits for; nothing if nothing is."""

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
    """Judge whether an object does what it should, from nothing but the object itself."""
    ref = ObjectRef.of(obj)
    if is_exempt(obj):
        return verdicts.healthy(ref)
    problem = _HEALTH.get((ref.group, ref.kind), any_health)(obj)
    return verdicts.unhealthy(ref, problem) if problem else verdicts.healthy(ref)


def check_progress(obj: JsonObject, pods: Iterable[JsonObject] | None = None) -> Verdict:
    """Judge whether an object has arrived at what was asked for last.

    For a Deployment *pods* are those of its namespace, or at least all that its selector
    matches; without them, pods of old ReplicaSets that still terminate go unnoticed.

    Raises:
        ValueError: the selector of a Deployment is malformed.
    """
    ref = ObjectRef.of(obj)
    if is_exempt(obj):
        return verdicts.healthy(ref)
    known = (ref.group, ref.kind)
    if known == ("apps", "Deployment"):
        reason = deployment_progress(obj, pods)
    elif known in _HEALTH and known not in _PROGRESS:
        reason = ""  # of these kinds, health says all there is
    else:
        reason = _PROGRESS.get(known, any_progress)(obj)
    return verdicts.progressing(ref, reason) if reason else verdicts.healthy(ref)


def is_exempt(obj: JsonObject) -> bool:
    """Return whether somebody wants no opinion on an object; only the literal ``true`` counts."""
    return section(obj, "metadata", "annotations").get(SKIP_ANNOTATION) == "true"

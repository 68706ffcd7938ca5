"""What the operator has to be allowed to do for its own work; `grants` has what it passes on."""

from collections.abc import Iterator
from typing import Final

from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    Ingress,
    Job,
    Lease,
    MutatingWebhookConfiguration,
    Namespace,
    NetworkPolicy,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    ValidatingWebhookConfiguration,
)
from certwright.operators.certmanager.engine.gates import CERTIFICATE
from certwright.operators.certmanager.engine.removal import CHALLENGE, ISSUER
from certwright.operators.certmanager.overlays.monitors import GROUP as MONITORING
from certwright.runtime import PolicyRule, allow

_KEPT: Final = (
    Namespace, ServiceAccount, Service, ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy,
    Role, RoleBinding, ClusterRole, ClusterRoleBinding, CustomResourceDefinition,
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
)  # fmt: skip
_MONITORS: Final = ("servicemonitors", "podmonitors", "prometheusrules")
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete")
_COUNTED: Final = (
    Secret, Pod, PersistentVolumeClaim, StatefulSet, DaemonSet, Job, CronJob, Ingress, ISSUER,
    CHALLENGE,
)  # fmt: skip
"""Kinds that are listed: pods for who leads, the others before a namespace goes."""


def own_rules() -> Iterator[PolicyRule]:
    """Yield what the operator needs besides the rules that it grants."""
    for kind in _KEPT:
        yield allow(kind, *_VERBS)
    for plural in _MONITORS:
        yield PolicyRule(MONITORING.partition("/")[0], plural, _VERBS)
    for kind in _COUNTED:
        yield allow(kind, "list")
    yield allow(CustomResourceDefinition, "patch", subresource="status")
    yield allow(Lease, "get", "list", "watch", "create", "patch", "delete")
    yield allow(CERTIFICATE, "list", "create", "get", "update")
    for plural in ("certificaterequests", "issuers", "clusterissuers"):
        yield PolicyRule("cert-manager.io", plural, ("list", "get", "update"))
    for plural in ("orders", "challenges"):
        yield PolicyRule("acme.cert-manager.io", plural, ("list", "get", "update"))

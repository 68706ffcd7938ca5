"""What the operator has to be allowed to do, and no more.

Kubernetes lets only those grant a rule who have it themselves, or may `escalate`. So the operator
has the rules of cert-manager's own roles, read from the bundles, besides those of its own work.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
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
from certwright.runtime import PolicyRule, allow

_KEPT: Final = (
    Namespace, ServiceAccount, Service, ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy,
    Role, RoleBinding, ClusterRole, ClusterRoleBinding, CustomResourceDefinition,
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
)  # fmt: skip
_COUNTED: Final = (
    Secret, Pod, PersistentVolumeClaim, StatefulSet, DaemonSet, Job, CronJob, Ingress, ISSUER,
    CHALLENGE,
)  # fmt: skip
"""Kinds that are listed: pods for who leads, the others before a namespace goes."""
_ROLES: Final = frozenset({"Role", "ClusterRole"})


def own_rules() -> Iterator[PolicyRule]:
    """Yield what the operator needs besides the rules that it grants."""
    for kind in _KEPT:
        yield allow(kind, "get", "list", "watch", "create", "update", "patch", "delete")
    for kind in _COUNTED:
        yield allow(kind, "list")
    yield allow(CustomResourceDefinition, "patch", subresource="status")
    yield allow(Lease, "get", "list", "watch", "create", "patch", "delete")
    yield allow(CERTIFICATE, "list", "create", "get", "update")
    for plural in ("certificaterequests", "issuers", "clusterissuers"):
        yield PolicyRule("cert-manager.io", plural, ("list", "get", "update"))
    for plural in ("orders", "challenges"):
        yield PolicyRule("acme.cert-manager.io", plural, ("list", "get", "update"))


def operand_rules(bundles: Iterable[Bundle]) -> list[PolicyRule]:
    """Return the rules of all roles in bundles: what the operator grants to cert-manager."""
    roles = (obj for bundle in bundles for obj in bundle.objects if obj["kind"] in _ROLES)
    found = {rule for role in roles for one in role.get("rules") or () for rule in _rules(one)}
    return sorted(found)


def _rules(rule: JsonObject) -> Iterator[PolicyRule]:
    verbs, names = tuple(sorted(rule["verbs"])), tuple(sorted(rule.get("resourceNames") or ()))
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            yield PolicyRule(group, resource, verbs, names)

"""What the operator has to be allowed to do: its own work, and what it grants to control planes."""

from collections.abc import Iterator
from typing import Final

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    MutatingWebhookConfiguration,
    Namespace,
    Pod,
    PodDisruptionBudget,
    Role,
    RoleBinding,
    Service,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from certwright.operators.discoveryservice.service.objects.access import (
    CLUSTER_RULES,
    NAMESPACE_RULES,
    OWN_RULES,
)
from certwright.runtime import PolicyRule, allow

_KEPT: Final = (
    ServiceAccount, Service, ConfigMap, Deployment, PodDisruptionBudget, Role, RoleBinding,
    ClusterRole, ClusterRoleBinding, MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    DiscoveryServiceCertificate,
)  # fmt: skip


def service_rules() -> Iterator[PolicyRule]:
    """Yield what the controller of DiscoveryServices needs beyond its watches."""
    for kind in _KEPT:
        yield allow(kind, "get", "list", "watch", "create", "update", "patch", "delete")
    yield allow(CustomResourceDefinition, "list", "watch")  # when its own kinds come and go
    yield allow(Namespace, "patch")
    yield allow(Pod, "create")  # as dry runs only: the API knows no smaller right
    yield from (*CLUSTER_RULES, *NAMESPACE_RULES, *OWN_RULES)

"""What the pods of a control plane may do: no more than serving needs.

Secrets are read in enabled namespaces only, by a Role in each; the key of the authority is in none
of them.
"""

from typing import Final

from certwright.api.discoveryservices import GROUP
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane
from certwright.runtime import PolicyRule

_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list", "watch")
_CONFIG_GROUP: Final = "marin3r.3scale.net"

CLUSTER_RULES: Final = (
    PolicyRule(
        _CONFIG_GROUP,
        "envoyconfigs",
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    PolicyRule(
        _CONFIG_GROUP,
        "envoyconfigrevisions",
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    PolicyRule(_CONFIG_GROUP, "envoyconfigs/status", ("get", "update", "patch")),
    PolicyRule(_CONFIG_GROUP, "envoyconfigrevisions/status", ("get", "update", "patch")),
    PolicyRule(_CONFIG_GROUP, "envoyconfigs/finalizers", ("update",)),
    PolicyRule(_CONFIG_GROUP, "envoyconfigrevisions/finalizers", ("update",)),
    PolicyRule(GROUP, "discoveryservices", _READ),
    PolicyRule(GROUP, "discoveryservicecertificates", _READ),
    PolicyRule("events.k8s.io", "events", ("create", "patch")),
)
"""In all namespaces: the configuration of Envoys, which namespaces are enabled, and which
certificates their Envoys are to show (their serial numbers; the keys are in Secrets)."""
NAMESPACE_RULES: Final = (
    PolicyRule("", "secrets", _READ),
    PolicyRule("", "pods", _READ),
    PolicyRule("discovery.k8s.io", "endpointslices", _READ),
)
"""In each enabled namespace: what configurations may refer to, and the Pods of Envoys."""
OWN_RULES: Final = (
    PolicyRule("coordination.k8s.io", "leases", (*_READ, "create", "update", "patch")),
    PolicyRule("", "pods", _READ),
)
"""In the namespace of the control plane: which replica writes, what each one reports, and which of
them are there."""


def access_objects(plane: DiscoveryPlane) -> list[JsonObject]:
    """Return ServiceAccount, roles and bindings outside of enabled namespaces."""
    name = plane.object_name
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    return [
        plane.obj("v1", "ServiceAccount", name, plane.namespace),
        plane.obj(f"{_RBAC}/v1", "ClusterRole", name, rules=_rules(CLUSTER_RULES)),
        plane.obj(
            f"{_RBAC}/v1", "ClusterRoleBinding", name, roleRef=role, subjects=_subjects(plane)
        ),
        *_granted(plane, plane.namespace, OWN_RULES),
    ]


def namespace_access(plane: DiscoveryPlane, namespace: str) -> list[JsonObject]:
    """Return the Role and its binding of an enabled namespace."""
    return _granted(plane, namespace, NAMESPACE_RULES)


def _granted(
    plane: DiscoveryPlane, namespace: str, rules: tuple[PolicyRule, ...]
) -> list[JsonObject]:
    name = plane.object_name
    role = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    return [
        plane.obj(f"{_RBAC}/v1", "Role", name, namespace, rules=_rules(rules)),
        plane.obj(
            f"{_RBAC}/v1",
            "RoleBinding",
            name,
            namespace,
            roleRef=role,
            subjects=_subjects(plane),
        ),
    ]


def _rules(rules: tuple[PolicyRule, ...]) -> list[JsonObject]:
    return [
        {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": list(rule.verbs)}
        for rule in rules
    ]


def _subjects(plane: DiscoveryPlane) -> list[JsonObject]:
    return [{"kind": "ServiceAccount", "name": plane.object_name, "namespace": plane.namespace}]

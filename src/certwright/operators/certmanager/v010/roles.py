"""Who the pods are, and what they may do."""

from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.v010.names import GROUP, ROLE, WEBHOOK

_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list", "watch")
_KINDS: Final = ("certificates", "issuers", "clusterissuers", "orders", "challenges")
_STATUSES: Final = (
    "certificates",
    "certificaterequests",
    "challenges",
    "clusterissuers",
    "issuers",
    "orders",
)
_FINALIZERS: Final = ("certificates", "challenges", "ingresses", "orders")
_ADMITTED: Final = ("certificates", "clusterissuers", "issuers", "certificaterequests")


def _rule(group: str, resources: tuple[str, ...], *verbs: str) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


RULES: Final = (
    _rule("", ("secrets", "configmaps"), *_READ, "create", "update", "delete"),
    _rule(GROUP, (*_KINDS, "certificaterequests"), "*"),
    _rule(
        GROUP,
        (
            *(f"{kind}/status" for kind in _STATUSES),
            *(f"{kind}/finalizers" for kind in _FINALIZERS),
        ),
        "update",
    ),
    _rule("", ("events",), "create", "patch"),
    _rule("", ("pods", "services"), *_READ, "create", "delete"),
    _rule("extensions", ("ingresses",), *_READ, "create", "delete", "update"),
    _rule("apps", ("deployments", "statefulsets", "daemonsets"), "*"),  # POD_RESTART
    _rule("apiextensions.k8s.io", ("customresourcedefinitions",), "*"),
    _rule("admission.certmanager.k8s.io", _ADMITTED, "*"),
    _rule(
        "admissionregistration.k8s.io",
        ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        "*",
    ),
    _rule("apiregistration.k8s.io", ("apiservices",), "*"),
    _rule("authorization.k8s.io", ("subjectaccessreviews",), "*"),
)
"""What the ClusterRole allows. The last three rows are what cainjector and the webhook need."""


def roles(namespace: str) -> list[JsonObject]:
    """Return the ClusterRole, its binding and the ServiceAccount."""
    return [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": ROLE},
            "rules": list(RULES),
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ROLE},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": ROLE},
            "subjects": [_subject(namespace)],
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ROLE, "namespace": namespace},
        },
    ]


def authentication_reader(namespace: str) -> JsonObject:
    """Return what lets the webhook read how the API server authenticates to it."""
    role = {"apiGroup": _RBAC, "kind": "Role", "name": "extension-apiserver-authentication-reader"}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": WEBHOOK, "namespace": "kube-system"},
        "roleRef": role,
        "subjects": [_subject(namespace)],
    }


def _subject(namespace: str) -> JsonObject:
    return {"kind": "ServiceAccount", "name": ROLE, "namespace": namespace}

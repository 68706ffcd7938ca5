"""What is installed beside cert-manager's definitions. Pure: names and addresses in, objects out.

The controller gets what it needs to do its work and to approve requests for its own two
issuer kinds, and no more: other issuers have to grant the approval themselves, as in a
cluster where cert-manager was installed with its defaults.
"""

import base64
from collections.abc import Sequence

from certwright.kube import JsonObject

NAMESPACE = "cert-manager"
CONTROLLER = "cert-manager"
WEBHOOK = "cert-manager-webhook"

_GROUPS = ["cert-manager.io", "acme.cert-manager.io"]
_ALL = ["get", "list", "watch", "create", "update", "patch", "delete"]


def service_account(name: str) -> str:
    """Return the user that a ServiceAccount of cert-manager is to the API server."""
    return f"system:serviceaccount:{NAMESPACE}:{name}"


def service_account_groups() -> list[str]:
    """Return the groups of cert-manager's ServiceAccounts."""
    return ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"]


def access_manifests() -> list[JsonObject]:
    """Return the namespace, the ServiceAccounts and what each of them may do."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *_granted(CONTROLLER, _controller_rules()),
        *_granted(WEBHOOK, [_rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"])]),
    ]


def webhook_manifests(url: str, authority: bytes) -> list[JsonObject]:
    """Return the registrations of a webhook at *url*, trusted by *authority*."""
    created = _webhook(f"{url}/mutate", authority, ["certificaterequests"], ["CREATE"])
    checked = _webhook(f"{url}/validate", authority, ["*/*"], ["CREATE", "UPDATE"])
    return [
        _registration("MutatingWebhookConfiguration", created),
        _registration("ValidatingWebhookConfiguration", checked),
    ]


def _controller_rules() -> list[JsonObject]:
    resources = ["certificates", "certificaterequests", "issuers", "clusterissuers"]
    parts = [f"{one}/{part}" for one in resources for part in ("status", "finalizers")]
    approved = ["issuers.cert-manager.io/*", "clusterissuers.cert-manager.io/*"]
    return [
        _rule(["cert-manager.io"], [*resources, *parts], _ALL),
        _rule(["acme.cert-manager.io"], ["orders", "challenges"], ["get", "list", "watch"]),
        {**_rule(["cert-manager.io"], ["signers"], ["approve"]), "resourceNames": approved},
        _rule([""], ["secrets"], _ALL),
        _rule([""], ["events"], ["create", "patch"]),
    ]


def _granted(name: str, rules: Sequence[JsonObject]) -> list[JsonObject]:
    rbac = "rbac.authorization.k8s.io"
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": NAMESPACE},
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": list(rules),
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
    ]


def _rule(groups: Sequence[str], resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}


def _registration(kind: str, webhook: JsonObject) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": WEBHOOK},
        "webhooks": [webhook],
    }


def _webhook(
    url: str, authority: bytes, resources: Sequence[str], operations: Sequence[str]
) -> JsonObject:
    return {
        "name": "webhook.cert-manager.io",
        "admissionReviewVersions": ["v1"],
        "matchPolicy": "Equivalent",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 30,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
        "rules": [
            {
                "apiGroups": _GROUPS,
                "apiVersions": ["v1"],
                "operations": list(operations),
                "resources": list(resources),
            }
        ],
    }

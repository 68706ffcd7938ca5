"""Names and labels of the 0.10 layout."""

from typing import Final

from certwright.operators.certmanager.request import Component

VERSION: Final = "v0.10.0"
NAMESPACE: Final = "cert-manager"
GROUP: Final = "certmanager.k8s.io"
ROLE: Final = "cert-manager"
"""The name of the ClusterRole, its binding and the ServiceAccount."""
WEBHOOK: Final = "cert-manager-webhook"
WATCHER: Final = "configmap-watcher"
API_SERVICE: Final = "v1beta1.webhook.certmanager.k8s.io"
SERVING_SECRET: Final = "cert-manager-webhook-tls"  # noqa: S105 - a name
CA_SECRET: Final = "cert-manager-webhook-ca"  # noqa: S105 - a name
NO_VALIDATION: Final = "certmanager.k8s.io/disable-validation"
"""The label of namespaces whose objects the webhook does not look at."""
RESTARTED: Final = ("watcher.ibm.com/restart-time", "certmanager.k8s.io/time-restarted")
"""Labels by which others restart pods; they stay."""

DEPLOYMENTS: Final = {
    Component.CONTROLLER: "cert-manager-controller",
    Component.CAINJECTOR: "cert-manager-cainjector",
    Component.WEBHOOK: WEBHOOK,
}

_COMMON: Final = {
    "app.kubernetes.io/component": "cert-manager",
    "app.kubernetes.io/managed-by": "operator",
    "release": "cert-manager",
}


def labels(component: Component) -> dict[str, str]:
    """Return the labels of a component."""
    name = f"ibm-{DEPLOYMENTS[component]}"
    found = {
        "app": name,
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": "cert-manager",
        **_COMMON,
    }
    if component is Component.WEBHOOK:
        found["watcher.ibm.com/opt-in"] = "true"
    return found


def watcher_labels() -> dict[str, str]:
    """Return the labels of configmap-watcher, which has none that is called app."""
    return {
        "app.kubernetes.io/name": WATCHER,
        "app.kubernetes.io/instance": WATCHER,
        **_COMMON,
    }

"""How the API server reaches the webhook of 0.10: as an API of its own, through an APIService."""

from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component
from certwright.operators.certmanager.v010.names import (
    API_SERVICE,
    GROUP,
    NO_VALIDATION,
    SERVING_SECRET,
    WEBHOOK,
    labels,
)

WEBHOOK_GROUP: Final = "webhook.certmanager.k8s.io"
_VALIDATED: Final = ("certificates", "issuers", "clusterissuers", "certificaterequests")
_MUTATED: Final = (*_VALIDATED, "orders", "challenges")
_INJECTED: Final = {"certmanager.k8s.io/inject-apiserver-ca": "true"}


def service(namespace: str) -> JsonObject:
    """Return the Service of the webhook."""
    app = {"app": labels(Component.WEBHOOK)["app"]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEBHOOK, "namespace": namespace, "labels": app},
        "spec": {
            "type": "ClusterIP",
            "selector": app,
            "ports": [{"name": "https", "port": 443, "targetPort": 1443, "protocol": "TCP"}],
        },
    }


def api_service(namespace: str) -> JsonObject:
    """Return what makes the webhook a part of the API."""
    version, _, group = API_SERVICE.partition(".")
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": API_SERVICE,
            "labels": {"app": labels(Component.WEBHOOK)["app"]},
            "annotations": {
                "certmanager.k8s.io/inject-ca-from-secret": f"{namespace}/{SERVING_SECRET}"
            },
        },
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "service": {"name": WEBHOOK, "namespace": namespace},
        },
    }


def configurations(namespace: str) -> list[JsonObject]:
    """Return the registrations, whose backend is the API server itself."""
    selector = {
        "matchExpressions": [
            {"key": NO_VALIDATION, "operator": "NotIn", "values": ["true"]},
            {"key": "name", "operator": "NotIn", "values": [namespace]},
        ]
    }
    mutating = _hook("mutations", _MUTATED)
    validating = {**_hook("validations", _VALIDATED), "namespaceSelector": selector}
    return [
        _configuration("MutatingWebhookConfiguration", mutating),
        _configuration("ValidatingWebhookConfiguration", validating),
    ]


def _configuration(kind: str, hook: JsonObject) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": WEBHOOK,
            "labels": {"app": labels(Component.WEBHOOK)["app"]},
            "annotations": dict(_INJECTED),
        },
        "webhooks": [hook],
    }


def _hook(path: str, resources: tuple[str, ...]) -> JsonObject:
    return {
        "name": WEBHOOK_GROUP,
        "admissionReviewVersions": ["v1beta1"],
        "clientConfig": {
            "service": {
                "name": "kubernetes",
                "namespace": "default",
                "path": f"/apis/{WEBHOOK_GROUP}/v1beta1/{path}",
            }
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [
            {
                "apiGroups": [GROUP],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": list(resources),
            }
        ],
    }

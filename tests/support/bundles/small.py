"""A bundle of a few objects, which looks like one of cert-manager."""

from certwright.bundles.bundle import Bundle, make_bundle
from certwright.kube import JsonObject

GROUPS = {
    "cert-manager.io": ("certificaterequests", "certificates", "clusterissuers", "issuers"),
    "acme.cert-manager.io": ("challenges", "orders"),
}


def deployment(name: str, image: str, *args: str) -> JsonObject:
    container: JsonObject = {"name": name, "image": image, "args": list(args)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "cert-manager", "labels": {"app": name}},
        "spec": {
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            }
        },
    }


def definition(name: str) -> JsonObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": name.partition(".")[2]},
    }


def objects(version: str = "v9.9.1") -> list[JsonObject]:
    """Return what `require_whole` takes for the whole of cert-manager."""
    names = [f"{plural}.{group}" for group, plurals in GROUPS.items() for plural in plurals]
    webhook: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "cert-manager-webhook"},
        "webhooks": [],
    }
    images = {
        "cert-manager": f"quay.io/jetstack/cert-manager-controller:{version}",
        "cert-manager-cainjector": f"quay.io/jetstack/cert-manager-cainjector:{version}",
        "cert-manager-webhook": f"quay.io/jetstack/cert-manager-webhook:{version}",
    }
    namespace: JsonObject = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "cert-manager"},
    }
    return [
        webhook,
        *(deployment(name, image, "--v=2") for name, image in images.items()),
        *map(definition, names),
        namespace,
    ]


def small_bundle(version: str = "v9.9.1") -> Bundle:
    """Return a bundle of a version that was never released."""
    return make_bundle(version, objects(version))

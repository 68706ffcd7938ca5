"""Small objects to talk about, where they live, and a kind of our own."""

from typing import Any

from tests.support.contract.transcript import Answer, Conversation

Json = dict[str, Any]

NAMESPACED = "/api/v1/namespaces/{ns}"
CONFIG_MAPS = f"{NAMESPACED}/configmaps"
SECRETS = f"{NAMESPACED}/secrets"
PODS = f"{NAMESPACED}/pods"
SERVICES = f"{NAMESPACED}/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
GADGETS = "/apis/contract.example.com/v1/namespaces/{ns}/gadgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def obj(api_version: str, kind: str, name: str, metadata: Json | None = None, **rest: Any) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **(metadata or {})},
        **rest,
    }


def config_map(name: str, metadata: Json | None = None, **rest: Any) -> Json:
    return obj("v1", "ConfigMap", name, metadata, **rest)


def secret(name: str, metadata: Json | None = None, **rest: Any) -> Json:
    return obj("v1", "Secret", name, metadata, **rest)


def gadget(name: str, metadata: Json | None = None, **rest: Any) -> Json:
    return obj("contract.example.com/v1", "Gadget", name, metadata, **rest)


def pod(name: str, metadata: Json | None = None, **spec: Any) -> Json:
    spec = {"containers": [{"name": "c", "image": "nginx"}], **spec}
    return obj("v1", "Pod", name, metadata, spec=spec)


def deployment(name: str, metadata: Json | None = None, **spec: Any) -> Json:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return obj("apps/v1", "Deployment", name, metadata, spec=spec)


def owner(parent: Json, **flags: bool) -> Json:
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        **flags,
    }


_NAMED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "value": {"type": "integer"}},
    },
}

_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0},
        "mode": {"type": "string", "default": "Plain", "enum": ["Plain", "Fancy"]},
        "replicas": {"type": "integer"},
        "parts": _NAMED,
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "steps": {"type": "array", "items": {"type": "string"}},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "string"},
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}

_STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
    },
}

DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.contract.example.com"},
    "spec": {
        "group": "contract.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets", "shortNames": ["gd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _SPEC, "status": _STATUS},
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
                ],
                "selectableFields": [{"jsonPath": ".spec.mode"}],
            }
        ],
    },
}


async def install_gadgets(api: Conversation) -> None:
    """Make the kind known; on the real server it stays for the other tests of the session."""
    await api.post(CRDS, DEFINITION, recorded=False)
    await api.until(GADGETS, _is_there, recorded=False)
    for path in ("/apis/contract.example.com/v1", "/apis/contract.example.com"):
        await api.until(path, _is_there, recorded=False)  # told a moment after it is served


def _is_there(answer: Answer) -> bool:
    return answer.status == 200

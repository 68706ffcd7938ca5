"""The sample ManagedResource of ``certwright up``, and what to try with it."""

from typing import Final

import yaml

from certwright.api.managedresources import ManagedResource
from certwright.kube import JsonObject

NAME: Final = "sample"
NAMESPACE: Final = "default"
_LABELS: Final = {"app": NAME}


def managed_sample() -> list[JsonObject]:
    """Return a Secret with two objects, and the ManagedResource that keeps them."""
    objects = yaml.safe_dump_all([_settings(), _web()], sort_keys=False)
    metadata = {"namespace": NAMESPACE, "name": NAME}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"objects.yaml": objects},
        },
        {
            "apiVersion": ManagedResource.resource.api_version,
            "kind": ManagedResource.resource.kind,
            "metadata": metadata,
            "spec": {"secretRefs": [{"name": NAME}]},
        },
    ]


def suggestions(kubectl: str, certwright: str = "certwright") -> list[str]:
    """Return what to type to see objects being kept, each with what it shows."""
    merge = f"{kubectl} patch managedresource {NAME} --type merge -p"
    edit = f"{kubectl} patch configmap {NAME}-settings -p"
    return [
        f"{certwright} mr explain {NAME}   # a ManagedResource: its objects, and how they are",
        f"""{edit} '{{"data":{{"color":"red"}}}}'   # it turns blue again""",
        f"{kubectl} delete statefulset {NAME}-web   # it comes back",
        f"""{merge} '{{"spec":{{"suspend":true}}}}'   # then edit again, and look:""",
        f"{certwright} mr diff {NAME}   # what would be put right, were it not suspended",
    ]


def _settings() -> JsonObject:
    metadata = {"namespace": NAMESPACE, "name": f"{NAME}-settings"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"color": "blue"},
    }


def _web() -> JsonObject:
    source = {"configMapRef": {"name": f"{NAME}-settings"}}
    container = {"name": "web", "image": "nginx", "envFrom": [source]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"namespace": NAMESPACE, "name": f"{NAME}-web"},
        "spec": {
            "serviceName": f"{NAME}-web",
            "replicas": 2,
            "selector": {"matchLabels": _LABELS},
            "template": {"metadata": {"labels": _LABELS}, "spec": {"containers": [container]}},
        },
    }

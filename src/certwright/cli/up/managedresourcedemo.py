"""The demo of a ManagedResource: its objects, and commands to try."""

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
    """Return commands that show how objects are kept."""
    merge = f"{kubectl} patch managedresource {NAME} --type merge -p"
    edit = f"{kubectl} patch configmap {NAME}-settings -p"
    return [
        f"{certwright} mr explain {NAME}   # a ManagedResource and its objects",
        f"""{edit} '{{"data":{{"color":"red"}}}}'   # it becomes blue again""",
        f"{kubectl} delete statefulset {NAME}-web   # it comes back",
        f"""{merge} '{{"spec":{{"suspend":true}}}}'   # suspend it, edit again, and compare:""",
        f"{certwright} mr diff {NAME}   # what the next pass would change",
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

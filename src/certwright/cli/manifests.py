"""``certwright crds`` and ``certwright rbac``: manifests derived from controllers."""

from collections.abc import Iterable, Sequence

import yaml

from certwright.cli.load import load_controllers
from certwright.kube import JsonObject, Object, Resource, crd_manifest
from certwright.runtime import Controller, policy_rules


def custom_kinds(controllers: Iterable[Controller]) -> list[type[Object]]:
    """Return the typed kinds that controllers watch and that have a CRD of ours, once each."""
    found: dict[type[Object], None] = {}
    for controller in controllers:
        for watched in controller.watched:
            if not isinstance(watched.kind, Resource) and hasattr(watched.kind, "definition"):
                found.setdefault(watched.kind)
    return list(found)


def print_crds(targets: Sequence[str]) -> None:
    """Print the definitions as one YAML stream."""
    _print([crd_manifest(kind) for kind in custom_kinds(load_controllers(targets))])


def print_rbac(targets: Sequence[str], name: str) -> None:
    """Print the role as YAML."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": policy_rules(load_controllers(targets)),
    }
    _print([role])


def _print(manifests: Sequence[JsonObject]) -> None:
    print(yaml.safe_dump_all(manifests, sort_keys=False), end="")

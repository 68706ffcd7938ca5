"""``certwright crds`` and ``certwright rbac``: manifests derived from controllers."""

from collections.abc import Iterable, Sequence

import yaml

from certwright.cli.load import load_controllers
from certwright.client import Client, Config, HttpTransport
from certwright.kube import JsonObject, Object, Resource, crd_manifest
from certwright.runtime import Controller, Declared, Manager, Operator, policy_rules


def custom_kinds(declared: Iterable[Declared]) -> list[type[Object]]:
    """Return the typed kinds that controllers watch and that have a CRD of ours, once each."""
    found: dict[type[Object], None] = {}
    for one in declared:
        kinds = one.kinds if isinstance(one, Operator) else [w.kind for w in one.watched]
        for kind in kinds:
            if not isinstance(kind, Resource) and hasattr(kind, "definition"):
                found.setdefault(kind)
    return list(found)


def controllers_of(declared: Iterable[Declared]) -> list[Controller]:
    """Return the controllers, those of operators as they would be built for a process."""
    nowhere = Client(HttpTransport(Config(server="https://nowhere.invalid")))
    site = Manager(nowhere)
    found: list[Controller] = []
    for one in declared:
        parts = one.build(site) if isinstance(one, Operator) else [one]
        found += [part for part in parts if isinstance(part, Controller)]
    return found


def print_crds(targets: Sequence[str]) -> None:
    """Print the definitions as one YAML stream."""
    _print([crd_manifest(kind) for kind in custom_kinds(load_controllers(targets))])


def print_rbac(targets: Sequence[str], name: str) -> None:
    """Print the role as YAML."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": policy_rules(controllers_of(load_controllers(targets))),
    }
    _print([role])


def _print(manifests: Sequence[JsonObject]) -> None:
    print(yaml.safe_dump_all(manifests, sort_keys=False), end="")

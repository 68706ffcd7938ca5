"""What every cluster has from the start: namespaces, and roles that others build on."""

from collections.abc import Iterator
from typing import Final

from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.clusterroles import initial_bindings, initial_roles
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.writes import Writes

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def create_initial_objects(backend: Backend, writes: Writes) -> None:
    """Store what a new cluster holds, as far as the kinds are served."""
    options = WriteOptions("kube-apiserver", "Ignore")
    for plural, obj in _objects():
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = backend.registry.find(group, version, plural)
        if kind is not None:
            writes.create(kind, "", obj, options)


def _objects() -> Iterator[tuple[str, JsonObject]]:
    for name in _NAMESPACES:
        metadata = {"name": name}
        yield "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    for role in initial_roles():
        yield "clusterroles", role
    for binding in initial_bindings():
        yield "clusterrolebindings", binding

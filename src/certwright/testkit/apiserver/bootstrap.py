"""What every cluster has from the start: namespaces, and roles that others build on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.clusterroles import initial_bindings, initial_roles
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.storage import Change
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


def serves_beginning(backend: Backend) -> bool:
    """Say whether every kind is served that a new cluster has objects of."""
    rbac = "rbac.authorization.k8s.io"
    kinds = (("", "namespaces"), (rbac, "clusterroles"), (rbac, "clusterrolebindings"))
    return all(backend.registry.find(group, "v1", plural) for group, plural in kinds)


@dataclass(frozen=True, slots=True)
class Written:
    """One of the writes that make a new cluster, to be repeated for others."""

    group: str
    version: str
    plural: str
    key: str
    raw: bytes
    uid: bytes
    time: bytes

    @classmethod
    def of(cls, change: Change) -> "Written":
        """Note a change."""
        record, resource = change.record, change.record.kind.resource
        metadata = record.metadata
        return cls(
            resource.group,
            resource.version,
            resource.plural,
            record.key,
            orjson.dumps(record.obj),
            metadata["uid"].encode(),
            metadata["creationTimestamp"].encode(),
        )


def repeat(backend: Backend, beginning: Iterable[Written]) -> None:
    """Store what another new cluster got, with uids and times of this one.

    Simulations make thousands of clusters; judging the same roles anew would take longer
    than most of their scenarios.
    """
    uids: dict[bytes, bytes] = {}
    now = backend.now().encode()
    for write in beginning:
        if write.uid not in uids:
            uids[write.uid] = backend.new_uid().encode()
        kind = backend.registry.find(write.group, write.version, write.plural)
        assert kind is not None, "the same kinds are served"
        raw = write.raw.replace(write.uid, uids[write.uid]).replace(write.time, now)
        backend.storage.put(backend.registry.collection(kind), write.key, kind, orjson.loads(raw))


def _objects() -> Iterator[tuple[str, JsonObject]]:
    for name in _NAMESPACES:
        metadata = {"name": name}
        yield "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    for role in initial_roles():
        yield "clusterroles", role
    for binding in initial_bindings():
        yield "clusterrolebindings", binding

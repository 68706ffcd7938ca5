"""What every cluster has from the start: namespaces, and roles that others build on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from certwright.apiserver.access.clusterroles import initial_bindings, initial_roles
from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import WriteParameters
from certwright.apiserver.storage.storage import StoredChange
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.kube.objects import JsonObject

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def create_initial_objects(backend: Backend, writes: ObjectWriter) -> None:
    """Store what a new cluster holds, as far as the kinds are served."""
    options = WriteParameters("kube-apiserver", "Ignore")
    for plural, obj in _objects():
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = backend.registry.find(group, version, plural)
        if kind is not None:
            writes.create(kind, "", obj, options)


def serves_beginning(backend: Backend) -> bool:
    """Return whether every kind is served that a new cluster has objects of."""
    rbac = "rbac.authorization.k8s.io"
    kinds = (("", "namespaces"), (rbac, "clusterroles"), (rbac, "clusterrolebindings"))
    return all(backend.registry.find(group, "v1", plural) for group, plural in kinds)


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """One of the writes that bring a server to where others begin, to be repeated there."""

    group: str
    version: str
    plural: str
    key: str
    obj: JsonObject
    uid: str
    instants: JsonObject
    """Where the object tells when it was written, uid aside all that differs elsewhere: the
    steps to each place, nested as in the object."""

    @classmethod
    def of(cls, change: StoredChange) -> "RecordedWrite":
        """Note a change by which an object came about at one instant."""
        record, resource = change.record, change.record.kind.resource
        uid, time = record.uid, record.metadata["creationTimestamp"]
        return cls(
            resource.group,
            resource.version,
            resource.plural,
            record.key,
            record.obj,
            uid,
            _places(record.obj, time),
        )


def repeat(backend: Backend, beginning: Iterable[RecordedWrite]) -> None:
    """Store what another server got, with uids and times of this one.

    Simulations make thousands of clusters; judging the same roles and definitions anew would
    take longer than most of their scenarios. All that is the same is shared, as nothing changes
    what is stored.
    """
    uids: dict[str, str] = {}
    now = backend.now()
    for write in beginning:
        if write.uid not in uids:
            uids[write.uid] = backend.new_uid()
        kind = backend.registry.find(write.group, write.version, write.plural)
        assert kind is not None, "the same kinds are served"
        obj = _with_instants(write.obj, write.instants, now)
        obj["metadata"]["uid"] = uids[write.uid]
        backend.storage.put(backend.registry.collection(kind), write.key, kind, obj)


def _places(value: Any, wanted: str) -> Any:
    """Return the steps to each place of a text in a document, nested; nothing if there is none."""
    if value == wanted:
        return wanted
    if not isinstance(value, dict | list):
        return None
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    return {step: found for step, child in steps if (found := _places(child, wanted))}


def _with_instants(value: Any, places: Any, now: str) -> Any:
    """Return a document with another instant in its places; what lies beside them is shared."""
    changed = value.copy()
    for step, inner in places.items():
        changed[step] = _with_instants(value[step], inner, now) if type(inner) is dict else now
    return changed


def _objects() -> Iterator[tuple[str, JsonObject]]:
    for name in _NAMESPACES:
        metadata = {"name": name}
        yield "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    for role in initial_roles():
        yield "clusterroles", role
    for binding in initial_bindings():
        yield "clusterrolebindings", binding

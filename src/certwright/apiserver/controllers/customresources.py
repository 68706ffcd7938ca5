"""CustomResourceDefinitions at work: serving what they define, cleaning up when they go."""

from typing import Final

from certwright.apiserver.backend import Backend
from certwright.apiserver.crds import accept, is_established, served_kinds
from certwright.apiserver.http.options import DeleteParameters, WriteParameters
from certwright.apiserver.storage.storage import ChangeType, Collection, StoredChange, StoredRecord
from certwright.apiserver.writes.deletion import CLEANUP, ObjectDeleter, set_condition
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.kube.objects import JsonObject

_AS_SERVER: Final = WriteParameters("kube-apiserver", "Ignore")
DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


class CustomResources:
    """Keeps the served kinds in step with the definitions; part of the server's background."""

    def __init__(self, backend: Backend, writes: ObjectWriter, deletion: ObjectDeleter) -> None:
        self._backend = backend
        self._writes = writes
        self._deletion = deletion
        self._served: dict[str, JsonObject] = {}
        """The spec each definition is served by."""
        self._terminating: set[str] = set()

    def concerns(self, change: StoredChange) -> str:
        """Return the definition to look after following a change; empty for none."""
        record = change.record
        resource = record.kind.resource
        if (resource.group, resource.plural) == DEFINITIONS:
            return record.name
        if change.type is ChangeType.DELETED and resource.qualified in self._terminating:
            return resource.qualified
        return ""

    def sync(self, name: str) -> None:
        """Serve a definition as it is now, or finish its deletion."""
        record = self._backend.storage.collection(*DEFINITIONS).get(name)
        if record is None:
            self._terminating.discard(name)
            if (spec := self._served.pop(name, None)) is not None:
                self._backend.registry.remove(spec["group"], spec["names"]["plural"])
                collection = self._collection(spec)
                collection.end_watches()
                self._backend.storage.drop(collection)
            self._recheck_names(name)
        elif record.metadata.get("deletionTimestamp"):
            self._terminate(record)
        else:
            self._serve(record)

    def _serve(self, record: StoredRecord) -> None:
        obj = record.copy()
        accept(obj, self._backend.now(), self._group_of(record.name))
        if obj != record.obj:
            record = self._update_status(record, obj)
            self._recheck_names(record.name)  # names may have become free
        spec = record.obj["spec"]
        if self._served.get(record.name) == spec or not is_established(record.obj):
            return
        registry = self._backend.registry
        if record.name in self._served:
            # Kinds are served anew: their watches must list again.
            self._collection(spec).end_watches()
            registry.remove(spec["group"], spec["names"]["plural"])
        for kind in served_kinds(record.obj):
            registry.add(kind)
        self._served[record.name] = spec

    def _group_of(self, name: str) -> list[JsonObject]:
        """Return the definitions of the same group."""
        group = name.partition(".")[2]
        records = self._backend.storage.collection(*DEFINITIONS).records()
        return [record.obj for record in records if record.obj["spec"]["group"] == group]

    def _recheck_names(self, name: str) -> None:
        """Look again at definitions that still wait for names."""
        for other in self._group_of(name):
            accepted = (other.get("status") or {}).get("acceptedNames")
            if other["metadata"]["name"] != name and accepted != other["spec"]["names"]:
                self.sync(other["metadata"]["name"])

    def _terminate(self, record: StoredRecord) -> None:
        if CLEANUP not in (record.metadata.get("finalizers") or ()):
            return
        self._terminating.add(record.name)
        collection = self._collection(record.obj["spec"])
        for instance in list(collection.records()):
            if not instance.metadata.get("deletionTimestamp"):
                self._deletion.delete(instance, DeleteParameters())
        if len(collection):
            reason = "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            self._set_terminating(record, "True", reason)
            return
        if is_established(record.obj):
            reason = "InstanceDeletionCompleted", "removed all instances"
        else:
            reason = "NeverEstablished", "resource was never established"
        record = self._set_terminating(record, "False", reason)
        obj = record.copy()
        obj["metadata"]["finalizers"] = [
            each for each in obj["metadata"]["finalizers"] if each != CLEANUP
        ]
        if obj["metadata"]["finalizers"]:
            collection = self._backend.storage.collection(*DEFINITIONS)
            self._backend.storage.put(collection, record.key, record.kind, obj)
        else:
            self._deletion.finish(record, obj, record.kind, dry_run=False)

    def _set_terminating(
        self, record: StoredRecord, status: str, reason: tuple[str, str]
    ) -> StoredRecord:
        obj = record.copy()
        set_condition(obj, "Terminating", status, reason, self._backend.now())
        return self._update_status(record, obj)

    def _update_status(self, record: StoredRecord, obj: JsonObject) -> StoredRecord:
        return self._writes.update(record.kind, record, obj, _AS_SERVER, "status")

    def _collection(self, spec: JsonObject) -> Collection:
        return self._backend.storage.collection(spec["group"], spec["names"]["plural"])

"""The life of namespaces: what may be created where, and how one is emptied."""

from collections import Counter
from typing import Final

from certwright.apiserver.backend import Backend
from certwright.apiserver.fields.manager import update as record_owner
from certwright.apiserver.http.options import DeleteParameters
from certwright.apiserver.storage.storage import ChangeType, StoredChange, StoredRecord
from certwright.apiserver.writes.deletion import ObjectDeleter, set_condition
from certwright.kube.objects import JsonObject

_NAMESPACES: Final = ("", "namespaces")
_FINALIZER: Final = "kubernetes"
_MANAGER: Final = "kube-controller-manager"


class NamespaceController:
    """Empties terminating namespaces and lets them go; part of the server's background."""

    def __init__(self, backend: Backend, deletion: ObjectDeleter) -> None:
        self._backend = backend
        self._deletion = deletion
        self._terminating: set[str] = set()

    def concerns(self, change: StoredChange) -> str:
        """Return the namespace to look after following a change; empty for none."""
        record = change.record
        if (record.kind.resource.group, record.kind.resource.plural) == _NAMESPACES:
            if change.type is ChangeType.DELETED:
                self._terminating.discard(record.name)
            elif record.metadata.get("deletionTimestamp"):
                self._terminating.add(record.name)
                return record.name
            return ""
        if change.type is ChangeType.DELETED and record.namespace in self._terminating:
            return record.namespace
        return ""

    def finalize(self, namespace: str) -> None:
        """Delete what is left in a terminating namespace, and the namespace when empty."""
        record = self._backend.storage.collection(*_NAMESPACES).get(namespace)
        if record is None or not record.metadata.get("deletionTimestamp"):
            return
        for item in self._content(namespace):
            if not item.metadata.get("deletionTimestamp"):
                self._deletion.delete(item, DeleteParameters(policy="Background"))
        remaining = self._content(namespace)
        record = self._backend.storage.collection(*_NAMESPACES).get(namespace)
        if record is None:
            return
        obj = self._with_conditions(record, remaining)
        if not remaining:
            spec = obj.get("spec") or {}
            kept = [name for name in spec.get("finalizers") or () if name != _FINALIZER]
            obj["spec"] = {"finalizers": kept} if kept else {}
        collection = self._backend.storage.collection(*_NAMESPACES)
        if obj != record.obj:
            record = self._backend.storage.put(collection, record.key, record.kind, obj)
        if not (obj.get("spec") or {}).get("finalizers") and not obj["metadata"].get("finalizers"):
            self._backend.storage.remove(collection, record)

    def _content(self, namespace: str) -> list[StoredRecord]:
        return [
            record
            for collection in self._backend.storage.collections()
            for record in collection.records(f"{namespace}/")
        ]

    def _with_conditions(self, record: StoredRecord, remaining: list[StoredRecord]) -> JsonObject:
        obj, now = record.copy(), self._backend.now()
        for type_, status, reason, message in _conditions(remaining):
            set_condition(obj, type_, status, (reason, message), now)
        if obj == record.obj:
            return obj
        return record_owner(
            record.obj, obj, kind=record.kind, manager=_MANAGER, time=now, subresource="status"
        )


def _conditions(remaining: list[StoredRecord]) -> list[tuple[str, str, str, str]]:
    kinds = Counter(record.kind.resource.qualified for record in remaining)
    finalizers = Counter(
        name for record in remaining for name in record.metadata.get("finalizers") or ()
    )
    left = ", ".join(
        f"{name if '.' in name else f'{name}.'} has {count} resource instances"
        for name, count in kinds.items()
    )
    held = ", ".join(f"{name} in {count} resource instances" for name, count in finalizers.items())
    return [
        (
            "NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure", "False", "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining", "True", "SomeResourcesRemain",
            f"Some resources are remaining: {left}",
        )
        if left
        else (
            "NamespaceContentRemaining", "False", "ContentRemoved",
            "All content successfully removed",
        ),
        (
            "NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {held}",
        )
        if held
        else (
            "NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]  # fmt: skip

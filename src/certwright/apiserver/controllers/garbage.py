"""Garbage collection: objects go when their owners are gone.

What kube-controller-manager's collector does, step by step as the server's background:
delete dependents whose owners no longer exist, carry out foreground and orphan deletion.
"""

from collections import defaultdict
from typing import Any

from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import DeleteParameters, WriteParameters
from certwright.apiserver.storage.storage import ChangeType, StoredChange, StoredRecord
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.metadata import FOREGROUND, ORPHAN
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.kube.objects import JsonObject

_AS_CONTROLLER = WriteParameters("kube-controller-manager", "Ignore")

Place = tuple[str, str, str]
"""Group, plural and key: where an object is stored."""


class GarbageCollector:
    """Follows ownerReferences; part of the server's background."""

    def __init__(self, backend: Backend, writes: ObjectWriter, deletion: ObjectDeleter) -> None:
        self._backend = backend
        self._writes = writes
        self._deletion = deletion
        self._dependents: defaultdict[str, dict[Place, None]] = defaultdict(dict)

    def concerns(self, change: StoredChange) -> list[Place]:
        """Keep the index of owners; return the objects to look at following a change."""
        record, previous = change.record, change.previous
        owners = _owners(record) if change.type is not ChangeType.DELETED else []
        before = _owners(previous) if previous is not None else []
        place = self._place(record)
        touched: dict[Place, None] = {}
        if owners or before:
            self._index(place, owners, before)
            if owners:
                touched[place] = None
            for owner in before:  # one less to wait for, in foreground deletion
                found = self._owner(owner, record)
                if isinstance(found, StoredRecord):
                    touched[self._place(found)] = None
        if change.type is ChangeType.DELETED:
            touched.update(self._dependents.get(record.uid, {}))
        elif record.metadata.get("deletionTimestamp"):
            touched[place] = None
        return list(touched)

    def collect(self, place: Place) -> None:
        """Do what one object needs: be deleted, be released, or let go of its dependents."""
        record = self._record(place)
        if record is None:
            return
        finalizers = record.metadata.get("finalizers") or ()
        if record.metadata.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan_dependents(record)
                return
            if FOREGROUND in finalizers:
                self._delete_dependents(record)
                return
        if _owners(record) and not record.metadata.get("deletionTimestamp"):
            self._delete_if_ownerless(record)

    def _delete_if_ownerless(self, record: StoredRecord) -> None:
        solid, dangling, waiting = [], [], []
        for owner in _owners(record):
            found = self._owner(owner, record)
            if found is _UNKNOWN_KIND:
                return  # whether the owner exists is not known
            if found is None:
                dangling.append(owner)
            elif _is_in_foreground_deletion(found) and owner.get("blockOwnerDeletion"):
                waiting.append(owner)
            else:
                solid.append(owner)
        if solid:
            if dangling or waiting:
                self._set_owners(record, solid)
            return
        if waiting and self._dependents.get(record.uid):
            policy = "Foreground"
        else:
            policy = _policy_of(record)
        self._deletion.delete(record, DeleteParameters(policy=policy))

    def _delete_dependents(self, record: StoredRecord) -> None:
        dependents = self._dependents_of(record)
        blocking = [
            dependent
            for dependent in dependents
            if any(
                owner.get("uid") == record.uid and owner.get("blockOwnerDeletion")
                for owner in _owners(dependent)
            )
        ]
        if not blocking:
            self._drop_finalizer(record, FOREGROUND)
        for dependent in dependents:
            if not dependent.metadata.get("deletionTimestamp"):
                self._delete_if_ownerless(dependent)

    def _orphan_dependents(self, record: StoredRecord) -> None:
        for dependent in self._dependents_of(record):
            kept = [owner for owner in _owners(dependent) if owner.get("uid") != record.uid]
            self._set_owners(dependent, kept)
        self._drop_finalizer(record, ORPHAN)

    def _set_owners(self, record: StoredRecord, owners: list[JsonObject]) -> None:
        obj = record.copy()
        if owners:
            obj["metadata"]["ownerReferences"] = owners
        else:
            obj["metadata"].pop("ownerReferences", None)
        self._writes.update(record.kind, record, obj, _AS_CONTROLLER)

    def _drop_finalizer(self, record: StoredRecord, name: str) -> None:
        obj = record.copy()
        kept = [each for each in obj["metadata"].get("finalizers") or () if each != name]
        if kept:
            obj["metadata"]["finalizers"] = kept
        else:
            obj["metadata"].pop("finalizers", None)
        if self._deletion.is_finished(obj, record.obj):
            self._deletion.finish(record, obj, record.kind, dry_run=False)
        else:
            collection = self._backend.registry.collection_of(record)
            self._backend.storage.put(collection, record.key, record.kind, obj)

    def _index(self, place: Place, owners: list[JsonObject], before: list[JsonObject]) -> None:
        for owner in before:
            dependents = self._dependents[owner.get("uid", "")]
            dependents.pop(place, None)
            if not dependents:
                del self._dependents[owner.get("uid", "")]
        for owner in owners:
            self._dependents[owner.get("uid", "")][place] = None

    def _dependents_of(self, record: StoredRecord) -> list[StoredRecord]:
        places = self._dependents.get(record.uid, {})
        return [found for place in list(places) if (found := self._record(place)) is not None]

    def _owner(self, owner: JsonObject, dependent: StoredRecord) -> Any:
        """Return the owner's record, None when it does not exist, or `_UNKNOWN_KIND`."""
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = self._backend.registry.kind_named(group, owner.get("kind", ""))
        if kind is None:
            return _UNKNOWN_KIND
        namespace = dependent.namespace if kind.resource.namespaced else ""
        if kind.resource.namespaced and not namespace:
            return None  # a cluster-scoped object cannot have an owner in a namespace
        record = self._backend.find(kind, namespace, owner.get("name", ""))
        return record if record is not None and record.uid == owner.get("uid") else None

    def _place(self, record: StoredRecord) -> Place:
        collection = self._backend.registry.collection_of(record)
        return (collection.group, collection.plural, record.key)

    def _record(self, place: Place) -> StoredRecord | None:
        return self._backend.storage.collection(place[0], place[1]).get(place[2])


_UNKNOWN_KIND = object()


def _owners(record: StoredRecord) -> list[JsonObject]:
    return record.metadata.get("ownerReferences") or []


def _is_in_foreground_deletion(record: StoredRecord) -> bool:
    return bool(record.metadata.get("deletionTimestamp")) and FOREGROUND in (
        record.metadata.get("finalizers") or ()
    )


def _policy_of(record: StoredRecord) -> str:
    finalizers = record.metadata.get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"

"""Deleting objects: preconditions, grace, finalizers and propagation policies."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import DeleteParameters
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.traits import traits_of
from certwright.apiserver.refusals import conflict, forbidden
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.writes.metadata import FOREGROUND, ORPHAN
from certwright.kube.errors import Conflict
from certwright.kube.objects import JsonObject
from certwright.kube.timestamps import format_time, parse_time

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer under which instances of a CustomResourceDefinition are deleted."""

_DEFAULT_GRACE_SECONDS = 30
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class _Grace(Enum):
    NONE = auto()
    PENDING = auto()
    RUNNING = auto()
    OVER = auto()


@dataclass(frozen=True, slots=True)
class Deleted:
    """What came of a delete: the object's last or latest state, and whether it is gone."""

    record: StoredRecord
    is_gone: bool


class ObjectDeleter:
    """Deletes objects, or begins to."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def delete(self, record: StoredRecord, options: DeleteParameters) -> Deleted:
        """Delete as grace period and finalizers allow; `Conflict` if a precondition fails."""
        kind = record.kind
        check_preconditions(kind, record, options)
        if kind.resource.qualified == "namespaces":
            return self._delete_namespace(record, options)
        is_definition = kind.resource.qualified == _DEFINITIONS
        if is_definition and not record.metadata.get("deletionTimestamp"):
            return self._delete_definition(record, options)
        obj = record.copy()
        metadata = obj["metadata"]
        grace = _Grace.NONE
        if traits_of(kind).graceful:
            grace = self._begin_grace(obj, options)
            if grace is _Grace.PENDING:
                return Deleted(record, is_gone=False)
        # The server fills in the grace period before it asks.
        seconds = metadata.get("deletionGracePeriodSeconds") if traits_of(kind).graceful else None
        completed = {} if seconds is None else {"gracePeriodSeconds": seconds}
        _ask(record, options, **completed)
        self._set_collection_finalizers(kind, metadata, options)
        if metadata.get("finalizers") and grace is _Grace.NONE:
            self._mark_as_deleting(metadata)
        waits = bool(metadata.get("finalizers")) or grace is _Grace.RUNNING
        if waits or grace is _Grace.OVER:
            record = self._store(record, obj, dry_run=options.dry_run)
        if waits:
            return Deleted(record, is_gone=False)
        if grace is _Grace.OVER and not options.dry_run:
            _ask(record, options, **completed)  # about what it has become
        return Deleted(self._remove(record, dry_run=options.dry_run), is_gone=True)

    def is_finished(self, new: JsonObject, old: JsonObject) -> bool:
        """Return whether an update takes away the last thing a deleted object waited for."""
        before = old["metadata"]
        return (
            not new["metadata"].get("finalizers")
            and bool(before.get("deletionTimestamp"))
            and not before.get("deletionGracePeriodSeconds")
            and not (new["kind"] == "Namespace" and (new.get("spec") or {}).get("finalizers"))
        )

    def finish(
        self, record: StoredRecord, new: JsonObject, kind: ServedKind, *, dry_run: bool
    ) -> StoredRecord:
        """Delete an object whose update emptied its finalizers; returns what was sent."""
        self._remove(record, dry_run=dry_run)
        return StoredRecord(record.key, kind, new, record.revision)

    def _delete_namespace(self, record: StoredRecord, options: DeleteParameters) -> Deleted:
        if record.name in IMMORTAL:
            raise forbidden(record.kind.resource, record.name, "this namespace may not be deleted")
        finalizers = (record.obj.get("spec") or {}).get("finalizers")
        if record.metadata.get("deletionTimestamp") is None:
            _ask(record, options, preconditions=_uid_precondition(record, options))
            obj = record.copy()
            obj["metadata"]["deletionTimestamp"] = self._backend.now()
            obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
            self._set_collection_finalizers(record.kind, obj["metadata"], options)
            record = self._store(record, obj, dry_run=options.dry_run)
            return Deleted(record, is_gone=False)
        if finalizers or record.metadata.get("finalizers"):
            return Deleted(record, is_gone=False)
        _ask(record, options, preconditions=_uid_precondition(record, options))
        return Deleted(self._remove(record, dry_run=options.dry_run), is_gone=True)

    def _delete_definition(self, record: StoredRecord, options: DeleteParameters) -> Deleted:
        _ask(record, options, preconditions=_uid_precondition(record, options))
        obj = record.copy()
        metadata, now = obj["metadata"], self._backend.now()
        metadata["deletionTimestamp"] = now
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
        reason = (
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        )
        set_condition(obj, "Terminating", "True", reason, now)
        return Deleted(self._store(record, obj, dry_run=options.dry_run), is_gone=False)

    def _begin_grace(self, obj: JsonObject, options: DeleteParameters) -> _Grace:
        metadata = obj["metadata"]
        asked = options.grace_seconds
        if asked is not None and asked < 0:
            asked = 1
        if metadata.get("deletionTimestamp"):
            return self._shorten_grace(metadata, asked)
        spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
        seconds = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS)
        if asked is not None:
            seconds = asked
        if not spec.get("nodeName") or phase in {"Succeeded", "Failed"}:
            seconds = 0
        seconds = max(seconds, 0)
        deadline = self._backend.clock.now() + timedelta(seconds=seconds)
        metadata["deletionTimestamp"] = format_time(deadline)
        metadata["deletionGracePeriodSeconds"] = seconds
        if metadata.get("generation"):
            metadata["generation"] += 1
        return _Grace.RUNNING if seconds > 0 else _Grace.OVER

    def _shorten_grace(self, metadata: JsonObject, asked: int | None) -> _Grace:
        current = metadata.get("deletionGracePeriodSeconds")
        if not current:
            return _Grace.NONE
        if asked is None or asked >= current:
            return _Grace.PENDING
        now = self._backend.clock.now().replace(microsecond=0)
        deadline = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=current - asked)
        if deadline < now:
            deadline, asked = now, min(asked, 1)
        metadata["deletionTimestamp"] = format_time(deadline)
        metadata["deletionGracePeriodSeconds"] = asked
        return _Grace.RUNNING if asked > 0 else _Grace.OVER

    def _mark_as_deleting(self, metadata: JsonObject) -> None:
        now = self._backend.now()
        if not metadata.get("deletionTimestamp"):
            metadata["deletionTimestamp"] = now
            if metadata.get("generation"):
                metadata["generation"] += 1
        metadata["deletionTimestamp"] = min(now, metadata["deletionTimestamp"])
        metadata["deletionGracePeriodSeconds"] = 0

    def _set_collection_finalizers(
        self, kind: ServedKind, metadata: JsonObject, options: DeleteParameters
    ) -> None:
        """Leave the garbage collector a note of what to do with dependents."""
        traits = traits_of(kind)
        if not traits.collects_garbage:
            return
        finalizers = metadata.get("finalizers") or []
        policy = options.policy
        if policy is None:
            if ORPHAN in finalizers or FOREGROUND in finalizers:
                return
            policy = "Orphan" if traits.orphans_by_default else "Background"
        kept = [name for name in finalizers if name not in {ORPHAN, FOREGROUND}]
        kept += {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])
        if set(kept) == set(finalizers):
            return
        if kept:
            metadata["finalizers"] = kept
        else:
            metadata.pop("finalizers", None)

    def _store(self, record: StoredRecord, obj: JsonObject, *, dry_run: bool) -> StoredRecord:
        if obj == record.obj:
            return record
        if dry_run:
            changed = StoredRecord(record.key, record.kind, obj, record.revision)
        else:
            collection = self._backend.registry.collection_of(record)
            changed = self._backend.storage.put(collection, record.key, record.kind, obj)
        return record.carry_views(changed)

    def _remove(self, record: StoredRecord, *, dry_run: bool) -> StoredRecord:
        if dry_run:
            return record
        collection = self._backend.registry.collection_of(record)
        return self._backend.storage.remove(collection, record)


def _ask(record: StoredRecord, options: DeleteParameters, **completed: Any) -> None:
    """Ask webhooks whether an object may be deleted, if any may be concerned."""
    if options.admission is not None:
        options.admission.check_deletion(record, **completed)


def _uid_precondition(record: StoredRecord, options: DeleteParameters) -> JsonObject:
    """Return the preconditions of a delete that names the object, as the server completes them."""
    found: JsonObject = {"uid": record.uid}
    if options.resource_version is not None:
        found["resourceVersion"] = options.resource_version
    return found


def set_condition(
    obj: JsonObject, type_: str, status: str, reason: tuple[str, str], now: str
) -> None:
    """Set a condition in an object's status; *reason* is the reason and the message."""
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    found = next((each for each in conditions if each["type"] == type_), None)
    if found is None:
        found = {"type": type_}
        conditions.append(found)
    if found.get("status") != status:
        found["lastTransitionTime"] = now
    found.update(status=status, reason=reason[0], message=reason[1])


def check_preconditions(kind: ServedKind, record: StoredRecord, options: DeleteParameters) -> None:
    """Refuse to delete another object than the one the client means."""
    resource = kind.resource
    if resource.qualified == "namespaces" and options.uid not in {None, record.uid}:
        why = (
            f"Precondition failed: UID in precondition: {options.uid}, "
            f"UID in object meta: {record.uid}"
        )
        raise conflict(resource, record.name, why)
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {"name": record.name, "group": resource.group, "kind": resource.kind}
    version = record.metadata["resourceVersion"]
    why = ""
    if options.uid is not None and options.uid != record.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({record.uid}). The object might have been deleted and then recreated"
        )
    elif options.resource_version is not None and options.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
    if why:
        raise Conflict(
            f'Operation cannot be fulfilled on {qualified} "{record.name}": {why}',
            details={key: value for key, value in details.items() if value},
        )

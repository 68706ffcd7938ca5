"""Storing objects: what happens to every object on its way in, whatever verb brought it.

Create and update follow the order of kube-apiserver, because it shows: field ownership is
recorded for what the client sent and the defaults, before the server adds its own parts;
validation comes before the check whether the name is taken.
"""

from collections.abc import Set
from functools import partial

import orjson
from msgspec.structs import replace

from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.fields.manager import keep_times
from certwright.apiserver.fields.manager import update as record_owner
from certwright.apiserver.http.options import WriteParameters
from certwright.apiserver.kinds.kind import ServedKind, fill_defaults, needs_webhook
from certwright.apiserver.kinds.traits import traits_of
from certwright.apiserver.refusals import Failed, already_exists, conflict, invalid, invalid_object
from certwright.apiserver.storage.storage import StoredRecord, storage_key
from certwright.apiserver.storage.versions import is_as_stored, to_storage, view, view_copy
from certwright.apiserver.writes.convertedwriter import ConvertedWriter
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.metadata import (
    carry_over,
    finalizer_warnings,
    metadata_causes,
    segment_causes,
    settle_admitted,
    settle_namespace,
    update_causes,
    wipe_server_fields,
)
from certwright.apiserver.writes.namespaces import check_namespace
from certwright.apiserver.writes.signingrequests import is_signing_request, restrict_request
from certwright.kube.errors import Cause
from certwright.kube.names import generate_name
from certwright.kube.objects import JsonObject

_NAME_ATTEMPTS = 8


class ObjectWriter:
    """Creates and updates objects."""

    def __init__(self, backend: Backend, deletion: ObjectDeleter) -> None:
        self._backend = backend
        self._deletion = deletion
        self._converted = ConvertedWriter(backend)

    def create(
        self, kind: ServedKind, namespace: str, obj: JsonObject, options: WriteParameters
    ) -> StoredRecord:
        """Store a new object, already decoded, which becomes the server's own."""
        metadata = obj.setdefault("metadata", {})
        wipe_server_fields(metadata)
        settle_namespace(metadata, namespace)
        if "status" in kind.subresources:
            obj.pop("status", None)
        fill_defaults(obj, kind)
        obj = record_owner(
            None, obj, kind=kind, manager=options.field_manager, time=self._backend.now()
        )
        if options.admission is not None:
            obj = self.mutated(kind, obj, options)
        return self.insert(kind, obj, options)

    def create_instead(
        self, kind: ServedKind, namespace: str, obj: JsonObject, options: WriteParameters
    ) -> StoredRecord:
        """Store an object meant to replace a missing one; `Conflict` if a certain one was meant."""
        metadata = obj["metadata"]
        if metadata.get("uid"):
            key = storage_key(namespace, metadata["name"])
            why = uid_mismatch(kind, key, metadata["uid"], "", dry_run=options.dry_run)
            raise conflict(kind.resource, metadata["name"], why)
        metadata.pop("resourceVersion", None)
        return self.create(kind, namespace, obj, options)

    def mutated(self, kind: ServedKind, obj: JsonObject, options: WriteParameters) -> JsonObject:
        """Return a new object, whose owners are recorded, as webhooks want it."""
        assert options.admission is not None
        check_namespace(self._backend, kind, obj["metadata"])
        namespace = obj["metadata"].get("namespace", "")
        kind.admit(obj, None)
        before = obj["metadata"]
        obj = options.admission.mutate(obj, None)
        settle_namespace(obj["metadata"], namespace)
        settle_admitted(obj["metadata"], before, options.warnings)
        if "status" in kind.subresources:
            obj.pop("status", None)
            fill_defaults(obj, kind)
        return obj

    def insert(self, kind: ServedKind, obj: JsonObject, options: WriteParameters) -> StoredRecord:
        """Store a new object whose owners are recorded."""
        check_namespace(self._backend, kind, obj["metadata"])
        admission = options.admission
        if admission is None:
            obj = self._completed(kind, obj, options)
        else:
            obj = admission.once(0, partial(self._completed, kind, obj, options))
            admission.validate(obj, None)
        return self._add(kind, obj, options)

    def _completed(self, kind: ServedKind, obj: JsonObject, options: WriteParameters) -> JsonObject:
        """Return a new object with what the server adds; `Invalid` if it breaks a rule."""
        backend, resource = self._backend, kind.resource
        metadata = obj["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._free_name(kind, metadata)
            kind.complete(obj)  # what depends on the name
        metadata["uid"] = backend.new_uid()
        metadata["creationTimestamp"] = backend.now()
        if kind.counts_generation:
            metadata["generation"] = 1
        kind.prepare(obj, None)
        name = metadata.get("name", "")
        rules = kind.validate(obj, None)
        causes = _in_order(metadata_causes(metadata, kind), rules) or segment_causes(metadata)
        if causes:
            raise invalid_object(resource, name, causes)
        if kind.custom:
            options.warnings.extend(finalizer_warnings(metadata, {}))
        options.warnings.extend(kind.warnings(obj))
        return obj

    def _free_name(self, kind: ServedKind, metadata: JsonObject) -> str:
        for _ in range(_NAME_ATTEMPTS):
            name = generate_name(metadata["generateName"], self._backend.rng.randrange)
            if self._backend.find(kind, metadata.get("namespace", ""), name) is None:
                break
        return name

    def _add(self, kind: ServedKind, obj: JsonObject, options: WriteParameters) -> StoredRecord:
        metadata = obj["metadata"]
        key = storage_key(metadata.get("namespace", ""), metadata["name"])
        if metadata.get("resourceVersion") and not options.dry_run:
            raise Failed("resourceVersion should not be set on objects to be created")
        existing = self._backend.registry.collection(kind).get(key)
        if existing is not None:
            raise _taken(kind, existing)
        return self._put(kind, key, obj, dry_run=options.dry_run)

    def update(
        self,
        kind: ServedKind,
        record: StoredRecord,
        new: JsonObject,
        options: WriteParameters,
        subresource: str = "",
    ) -> StoredRecord:
        """Store an object, already decoded, over the one that is there.

        The record returned is the old one when nothing changed, and the last one when the
        update removed the last finalizer of a deleted object.

        Raises:
            Conflict: the object names another resourceVersion than the stored one.
            Invalid: it breaks a rule.
        """
        old = view(record, kind)
        admission = options.admission if subresource != "scale" else None
        settle_namespace(new["metadata"], record.namespace)
        if admission is None:
            self.check_current(kind, record, new)
        else:
            sent: JsonObject = orjson.loads(orjson.dumps(new))
        self._restrict(kind, new, old, subresource)
        new = record_owner(
            old,
            new,
            kind=kind,
            manager=options.field_manager,
            time=self._backend.now(),
            subresource=subresource,
            others=self._backend.other_versions(kind),
        )
        if admission is not None:
            # Webhooks see what was sent, parts that this request may not change included.
            owners = new["metadata"].get("managedFields")
            sent["metadata"].pop("managedFields", None)
            if owners:
                sent["metadata"]["managedFields"] = owners
            new = self.updated(kind, record, sent, options, subresource)
        return self.replace(kind, record, new, options, subresource)

    def updated(
        self,
        kind: ServedKind,
        record: StoredRecord,
        sent: JsonObject,
        options: WriteParameters,
        subresource: str,
    ) -> JsonObject:
        """Return an object to be stored over another, its owners recorded, as webhooks want it."""
        assert options.admission is not None
        old = view(record, kind)
        fill_defaults(sent, kind)
        kind.admit(sent, old)
        new = options.admission.mutate(sent, old, record.revision)
        self.check_current(kind, record, new)
        settle_namespace(new["metadata"], record.namespace)
        settle_admitted(new["metadata"], sent["metadata"], options.warnings)
        self._restrict(kind, new, old, subresource)
        return new

    def _restrict(
        self, kind: ServedKind, new: JsonObject, old: JsonObject, subresource: str
    ) -> None:
        restrict(kind, new, old, subresource)
        if is_signing_request(kind):
            restrict_request(new, old, subresource, self._backend.now())
        fill_defaults(new, kind)

    def replace(
        self,
        kind: ServedKind,
        record: StoredRecord,
        new: JsonObject,
        options: WriteParameters,
        subresource: str = "",
    ) -> StoredRecord:
        """Store an object, whose owners are recorded, over the one that is there."""
        old = view(record, kind)
        admission = options.admission
        complete = partial(self._renewed, kind, old, new, options, subresource)
        if admission is None:
            new = complete()
        else:
            new = admission.once(record.revision, complete)
            admission.validate(new, old, record.revision)
        if new == old or keep_times(old, new) is old:
            # Times of ownership do not count as a change.
            if self._is_as_stored(record, kind):
                return record
            new = view_copy(record, kind)
        if self._deletion.is_finished(new, old):
            return self._deletion.finish(record, new, kind, dry_run=options.dry_run)
        return self._put(kind, record.key, new, dry_run=options.dry_run)

    def _renewed(
        self,
        kind: ServedKind,
        old: JsonObject,
        new: JsonObject,
        options: WriteParameters,
        subresource: str,
    ) -> JsonObject:
        """Return an object with what updates keep; `Invalid` if it breaks a rule."""
        metadata, before = new["metadata"], old["metadata"]
        metadata["resourceVersion"] = before["resourceVersion"]
        carry_over(metadata, before)
        kind.prepare(new, old)
        if kind.counts_generation and _counted(kind, new) != _counted(kind, old):
            metadata["generation"] = before.get("generation", 0) + 1
        if subresource == "status" and "generation" in before:
            metadata["generation"] = before["generation"]  # whatever the kind itself counts
        # The server checks metadata for all kinds, and again with the rules of each kind.
        again = update_causes(metadata, before)
        first = metadata_causes(metadata, kind)
        rules = kind.validate(new, old)
        if subresource == "status" and kind.custom:
            rules = _within_status(rules)
        causes = [*first, *again, *_in_order(again, rules)]
        if traits_of(kind).checks_metadata_twice:
            causes += first
        if causes:
            raise invalid_object(kind.resource, metadata.get("name", ""), causes)
        if kind.custom:
            options.warnings.extend(finalizer_warnings(metadata, before))
        options.warnings.extend(kind.warnings(new))
        return new

    def check_current(self, kind: ServedKind, record: StoredRecord, new: JsonObject) -> None:
        """Refuse a write that rests on another version of the object than the current one."""
        resource, metadata = kind.resource, new["metadata"]
        version = metadata.get("resourceVersion") or "0"
        if not version.isdigit():
            raise Failed(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        if version == "0":
            if not traits_of(kind).unconditional_update:
                cause = invalid_value(
                    "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise invalid(resource.plural, resource.group, record.name, [cause])
        elif version != record.metadata["resourceVersion"]:
            raise conflict(resource, record.name)

    def _put(self, kind: ServedKind, key: str, obj: JsonObject, *, dry_run: bool) -> StoredRecord:
        stored = self._backend.registry.storage_kind(kind)
        if needs_webhook(stored, kind):
            return self._converted.put(kind, key, obj, dry_run=dry_run)
        obj = to_storage(obj, kind, stored)
        # Kind and apiVersion first: lists of built-ins cut them off the encoded object.
        obj = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **obj}
        if dry_run:
            return StoredRecord(key, stored, obj, 0)
        collection = self._backend.registry.collection(kind)
        return self._backend.storage.put(collection, key, stored, obj)

    def _is_as_stored(self, record: StoredRecord, kind: ServedKind) -> bool:
        """Return whether an object that is written as it is shown would be stored as it is."""
        stored = self._backend.registry.storage_kind(kind)
        if needs_webhook(stored, kind):
            return self._converted.holds(record, kind)
        return is_as_stored(record, kind, stored)


def restrict(kind: ServedKind, new: JsonObject, old: JsonObject, subresource: str) -> None:
    """Restore the parts of an object that a request to a (sub)resource may not change.

    Afterwards *new* may be changed in place, except below its metadata.
    """
    if subresource == "status":
        metadata = traits_of(kind).status_metadata(new["metadata"], old["metadata"])
        kept = {"metadata": metadata}
        if "status" in new:
            kept["status"] = new["status"]
        new.clear()
        new.update(_copy_without(old, {"metadata", "status"}) | kept)
    elif subresource == "finalize":
        kept = {field: new[field] for field in ("metadata", "spec") if field in new}
        new.clear()
        new.update(_copy_without(old, {"metadata", "spec"}) | kept)
    elif "status" in kind.subresources and subresource != "approval":
        _restore(new, old, "status")
        if kind.resource.qualified == "namespaces":
            _restore(new, old, "spec")  # finalizers have an endpoint of their own


def uid_mismatch(kind: ServedKind, key: str, uid: str, found: str, *, dry_run: bool) -> str:
    """Return the error for a uid that belongs to an earlier object of the same name."""
    folder = (
        f"{kind.resource.group}/{kind.resource.plural}" if kind.custom else kind.resource.plural
    )
    if kind.resource.qualified == "services":
        folder = "services/specs"
    return (
        "StorageError: invalid object, Code: 4, "
        f"Key: {'' if dry_run else '/registry'}/{folder}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
        f"UID in object meta: {found}"
    )


def _in_order(metadata: list[Cause], rules: list[Cause]) -> list[Cause]:
    """Join what is wrong with metadata and the rest: the rules of names come first."""
    names = [cause for cause in rules if cause.field in {"metadata.name", "metadata.generateName"}]
    return [*names, *metadata, *(cause for cause in rules if cause not in names)]


def _within_status(rules: list[Cause]) -> list[Cause]:
    """Reword what is wrong with a status: its schema does not know where it stands."""
    return [
        replace(cause, message=cause.message.replace("status.", "", 1))
        if f"{cause.field} in body" in cause.message
        else cause
        for cause in rules
    ]


def _taken(kind: ServedKind, existing: StoredRecord) -> Exception:
    error = already_exists(kind.resource, existing.name)
    if existing.metadata.get("deletionTimestamp"):
        message = f"object is being deleted: {error.message}"
        return type(error)(message, details=error.details)
    return error


def _counted(kind: ServedKind, obj: JsonObject) -> JsonObject:
    """Return the parts of an object whose changes its generation counts."""
    ignored = {"metadata", "apiVersion", "kind"}
    if "status" in kind.subresources:
        ignored.add("status")
    counted = {field: value for field, value in obj.items() if field not in ignored}
    if traits_of(kind).counts_annotations:
        counted["annotations"] = obj["metadata"].get("annotations")
    return counted


def _restore(new: JsonObject, old: JsonObject, field: str) -> None:
    new.pop(field, None)
    if field in old:
        new[field] = _copy_without(old, old.keys() - {field})[field]


def _copy_without(obj: JsonObject, fields: Set[str]) -> JsonObject:
    kept = {field: value for field, value in obj.items() if field not in fields}
    copied: JsonObject = orjson.loads(orjson.dumps(kept))
    return copied

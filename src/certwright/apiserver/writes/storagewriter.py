"""From an object that is complete to the record in the storage, in the version that is stored."""

from certwright.apiserver.backend import Backend
from certwright.apiserver.kinds.kind import ServedKind, fill_defaults, needs_webhook
from certwright.apiserver.refusals import Failed
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import is_as_stored, to_storage, view_copy
from certwright.apiserver.webhooks.conversions import convert
from certwright.kube.objects import JsonObject


class StorageWriter:
    """Stores objects. Where a webhook converts them, it is asked before anything is stored.

    Objects that the server's own controllers write, which cannot ask, stay in their version.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def put(self, kind: ServedKind, key: str, obj: JsonObject, *, dry_run: bool) -> StoredRecord:
        """Store an object of *kind*, or in a dry run pretend to."""
        stored = self._backend.registry.storage_kind(kind)
        if needs_webhook(stored, kind):
            if self._backend.is_answering:
                return self._put_converted(kind, stored, key, obj, dry_run=dry_run)
            stored = kind
        obj = to_storage(obj, kind, stored)
        # Kind and apiVersion first: lists of built-ins cut them off the encoded object.
        obj = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **obj}
        return self._stored(stored, key, obj, dry_run=dry_run)

    def holds(self, record: StoredRecord, kind: ServedKind) -> bool:
        """Return whether an object that is written as it is shown would be stored as it is."""
        stored = self._backend.registry.storage_kind(kind)
        if not needs_webhook(stored, kind):
            return is_as_stored(record, kind, stored)
        if not self._backend.is_answering:
            return True
        return self._converted(view_copy(record, kind), stored) == record.obj

    def _put_converted(
        self, kind: ServedKind, stored: ServedKind, key: str, obj: JsonObject, *, dry_run: bool
    ) -> StoredRecord:
        """Store what a webhook makes of an object; the answer shows what it makes of that again."""
        converted = self._converted(obj, stored)
        try:
            (shown,) = convert([converted], kind, self._backend.reviews)
            failure = None
        except Failed as error:  # what it cannot convert back is stored by then
            shown, failure = obj, error
        record = self._stored(stored, key, converted, dry_run=dry_run)
        if failure is not None:
            raise failure
        metadata = {**shown["metadata"], **_number(record)}
        return record.shown_as(kind, {**shown, "metadata": metadata})

    def _converted(self, obj: JsonObject, stored: ServedKind) -> JsonObject:
        (converted,) = convert([obj], stored, self._backend.reviews)
        fill_defaults(converted, stored)
        return converted

    def _stored(
        self, stored: ServedKind, key: str, obj: JsonObject, *, dry_run: bool
    ) -> StoredRecord:
        if dry_run:
            return StoredRecord(key, stored, obj, 0)
        collection = self._backend.registry.collection(stored)
        return self._backend.storage.put(collection, key, stored, obj)


def _number(record: StoredRecord) -> JsonObject:
    """Return the version that a stored object has got; none if it was not stored."""
    found = record.metadata.get("resourceVersion")
    return {"resourceVersion": found} if found else {}

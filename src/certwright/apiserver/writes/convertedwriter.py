"""Objects that a webhook converts to the version that is stored."""

from certwright.apiserver.backend import Backend
from certwright.apiserver.kinds.kind import ServedKind, fill_defaults
from certwright.apiserver.refusals import Failed
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import view_copy
from certwright.apiserver.webhooks.conversions import convert
from certwright.kube.objects import JsonObject


class ConvertedWriter:
    """Stores objects that a webhook converts; it is asked before anything is stored.

    Objects that the server's own controllers write, which cannot ask, stay in their version.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def holds(self, record: StoredRecord, kind: ServedKind) -> bool:
        """Return whether an object that is written as it is shown would be stored as it is."""
        if not self._backend.is_answering:
            return True
        stored = self._backend.registry.storage_kind(kind)
        return self._converted(view_copy(record, kind), stored) == record.obj

    def put(self, kind: ServedKind, key: str, obj: JsonObject, *, dry_run: bool) -> StoredRecord:
        """Store what a webhook makes of an object; the answer shows what it makes of that again."""
        if not self._backend.is_answering:
            return self._stored(kind, key, obj, dry_run=dry_run)
        stored = self._backend.registry.storage_kind(kind)
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

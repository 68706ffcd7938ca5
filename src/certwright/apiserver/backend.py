"""What every verb works with: the stored objects, the served kinds, time and chance."""

import uuid
from random import Random

from certwright.apiserver.fields.otherversions import OtherVersions
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import not_found
from certwright.apiserver.storage.registry import Registry
from certwright.apiserver.storage.storage import Storage, StoredRecord, storage_key
from certwright.apiserver.storage.versions import renamed_versions
from certwright.apiserver.webhooks.conversions import other_versions, shown
from certwright.apiserver.webhooks.reviews import ReviewLog
from certwright.clock import Clock
from certwright.kube.timestamps import format_time


class Backend:
    """The server's state and its sources of time and chance."""

    def __init__(self, storage: Storage, registry: Registry, clock: Clock, rng: Random) -> None:
        self.storage = storage
        self.registry = registry
        self.clock = clock
        self.rng = rng
        self.begun: ReviewLog | None = None
        """What webhooks said about the request that is being handled; None as long as no webhook
        is concerned."""
        self.is_answering = True
        """Whether a request can wait for webhooks: the server's own controllers cannot."""

    @property
    def reviews(self) -> ReviewLog:
        """What webhooks said about the request that is being handled."""
        if self.begun is None:
            self.begun = ReviewLog()
        return self.begun

    def now(self) -> str:
        """Return the current time as objects spell it."""
        return format_time(self.clock.now().replace(microsecond=0))

    def new_uid(self) -> str:
        """Return a new uid."""
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def find(self, kind: ServedKind, namespace: str, name: str) -> StoredRecord | None:
        """Return the current record of an object."""
        return self.registry.collection(kind).get(storage_key(namespace, name))

    def read(self, kind: ServedKind, namespace: str, name: str) -> StoredRecord | None:
        """Return the current record of an object, which a request is to see as *kind*.

        Raises:
            ReviewsNeeded: a webhook has to convert it first.
        """
        record = self.find(kind, namespace, name)
        return record if record is None else self.shown([record], kind)[0]

    def shown(self, records: list[StoredRecord], kind: ServedKind) -> list[StoredRecord]:
        """Return records that a request can read as *kind*.

        Raises:
            ReviewsNeeded: a webhook has to convert them first.
        """
        return records if kind.conversion is None else shown(records, kind, self.reviews)

    def other_versions(self, kind: ServedKind) -> OtherVersions | None:
        """Return the versions in which objects of a kind have owners; None if there is one only.

        The server's own controllers, which cannot ask webhooks, compare in the stored version.
        """
        if not kind.versions:
            return None
        if kind.conversion is None:
            return renamed_versions(kind)
        return other_versions(kind, lambda: self.reviews) if self.is_answering else None

    def get(self, kind: ServedKind, namespace: str, name: str) -> StoredRecord:
        """Return what `read` does of an object that must exist; `NotFound` if it does not."""
        record = self.read(kind, namespace, name)
        if record is None:
            raise not_found(kind.resource, name)
        return record

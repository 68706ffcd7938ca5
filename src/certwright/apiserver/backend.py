"""What every verb works with: the stored objects, the served kinds, time and chance."""

import uuid
from random import Random

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import not_found
from certwright.apiserver.storage.registry import Registry
from certwright.apiserver.storage.storage import Storage, StoredRecord, storage_key
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

    def get(self, kind: ServedKind, namespace: str, name: str) -> StoredRecord:
        """Return the current record of an object that must exist; `NotFound` if it does not."""
        record = self.find(kind, namespace, name)
        if record is None:
            raise not_found(kind.resource, name)
        return record

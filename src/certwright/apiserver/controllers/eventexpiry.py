"""Events are kept for an hour, as kube-apiserver keeps them by default, and the latest only."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from certwright.apiserver.backend import Backend
from certwright.apiserver.storage.storage import ChangeType, StoredChange

LIFETIME: Final = timedelta(hours=1)
MOST: Final = 1_000
"""How many Events are kept: all is in memory here, and issuing alone makes thousands an hour."""
_EVENTS: Final = ("", "events")


class EventExpiry:
    """Deletes Events an hour after their last write; part of the server's background."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._written: OrderedDict[str, datetime] = OrderedDict()

    def observe(self, change: StoredChange) -> None:
        """Note when an Event was written last."""
        record = change.record
        if record.kind.resource.kind != "Event" or not self._is_event(change):
            return
        if change.type is ChangeType.DELETED:
            self._written.pop(record.key, None)
        else:
            self._written[record.key] = self._backend.clock.now()
            self._written.move_to_end(record.key)

    def expire(self) -> None:
        """Delete the Events whose time is over, whatever finalizers they have."""
        if not self._written:
            return
        latest = self._backend.clock.now() - LIFETIME
        events = self._backend.storage.collection(*_EVENTS)
        while self._written:
            key, written = next(iter(self._written.items()))
            if written > latest and len(self._written) <= MOST:
                return
            record = events.get(key)
            assert record is not None, "its deletion would have been observed"
            self._backend.storage.remove(events, record)

    def _is_event(self, change: StoredChange) -> bool:
        """Return whether a change is one of Kubernetes' Events: others may be called so, too."""
        collection = self._backend.registry.collection_of(change.record)
        return (collection.group, collection.plural) == _EVENTS

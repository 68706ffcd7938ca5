"""Objects a store did not want: the most recent ones, in case it soon does.

Who is to be interested in an object often arrives a moment after it. Having kept the last few
refused ones saves asking the server for them, and costs a bounded amount of memory.
"""

from collections import OrderedDict
from typing import Final

from certwright.kube.identity import Key
from certwright.runtime.cache.entry import Entry

ROOM_BYTES: Final = 2**20
"""Hundreds of ordinary objects: enough for the moment between two watches."""


class WaitingRoom:
    """The most recent refused entries, up to *limit* bytes of objects and their field sets.

    The very last one stays however large it is, unless there is no room at all.
    """

    def __init__(self, limit: int = ROOM_BYTES) -> None:
        self.limit = limit
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._size = 0

    def put(self, entry: Entry) -> None:
        """Keep an entry instead of any older version; whoever came first goes first."""
        self.take(entry.key)
        if not self.limit:
            return
        self._entries[entry.key] = entry
        self._size += _size(entry)
        while self._size > self.limit and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._size -= _size(oldest)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def take(self, key: Key) -> Entry | None:
        """Return and forget the entry at a key, if it is still here."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= _size(entry)
        return entry


def _size(entry: Entry) -> int:
    return len(entry.raw) + len(entry.own_fields)

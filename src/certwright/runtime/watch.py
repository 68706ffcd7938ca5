"""Keeping one store current: list, watch, and every way both can fail.

(Skeleton: signatures first.)
"""

from enum import StrEnum

from certwright.client import Client, Selection
from certwright.runtime.backoff import Backoff
from certwright.runtime.store import Store


class WatchState(StrEnum):
    """Where a watch stands."""

    INITIAL = "initial"
    STREAMING = "streaming"
    PAGING = "paging"
    WATCHING = "watching"
    BACKING_OFF = "backing-off"
    MISSING = "missing"
    FORBIDDEN = "forbidden"


class Watch:
    """Feeds one store from one selection of one kind, forever."""

    def __init__(
        self, client: Client, store: Store, selection: Selection = Selection(), *, backoff: Backoff
    ) -> None:
        self.store = store
        self.selection = selection
        self.state = WatchState.INITIAL
        self.last_error = ""
        self.resource_version = ""

    async def run(self) -> None:
        """Keep the store current until cancelled. Never raises for anything the server does."""
        raise NotImplementedError

    def poke(self) -> None:
        """Try again now, if the watch waits: what it waited for may have appeared."""

    def age(self) -> float:
        """Return the seconds since the server last said anything."""
        raise NotImplementedError

    async def synced(self) -> None:
        """Return as soon as the store holds a complete list."""
        raise NotImplementedError

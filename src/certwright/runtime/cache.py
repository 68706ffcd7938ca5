"""Stores shared by everybody who watches the same thing; kinds come and go while it runs.

(Skeleton: signatures first.)
"""

from collections.abc import Mapping

from certwright.client import Client
from certwright.kube.identity import Key, Resource
from certwright.kube.objects import Object
from certwright.runtime.backoff import Rng
from certwright.runtime.store import IndexFunction, Listener, Store, Transform
from certwright.runtime.watch import Watch


class StoreHandle:
    """One user's share in a store. The store is watched as long as anybody holds a handle."""

    store: Store
    watch: Watch

    def listen(self, listener: Listener) -> None:
        """Call a listener on every change until the handle is released."""

    def release(self) -> None:
        """Give up the share and its listeners; the last one ends the watch."""

    async def synced(self) -> None:
        """Return as soon as the store holds a complete list."""


class Cache:
    """The stores of one process, and the watches that feed them."""

    def __init__(
        self, client: Client, *, field_managers: tuple[str, ...] = (), rng: Rng | None = None
    ) -> None:
        raise NotImplementedError

    def store(
        self,
        kind: type[Object] | Resource,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        transform: Transform | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
    ) -> StoreHandle:
        """Return a share in the store of a kind, shared when the selection is the same."""
        raise NotImplementedError

    @property
    def watches(self) -> list[Watch]:
        """Every watch, for probes, metrics and the dump."""
        raise NotImplementedError

    async def run(self) -> None:
        """Run the watches until cancelled; stores added meanwhile join in."""
        raise NotImplementedError

    async def wait_synced(self, timeout_seconds: float | None = None) -> None:
        """Return when every store present holds a complete list.

        Raises:
            TimeoutError: the message names each kind that is missing, its state and why.
        """
        raise NotImplementedError

    def note_write(self, resource: Resource, raw: bytes) -> None:
        """Pass the object a write returned to every store it belongs into."""

    def note_delete(self, resource: Resource, key: Key, uid: str) -> None:
        """Tell every store of a kind that an object of ours is gone."""

    def poke(self, resource: Resource) -> None:
        """Let the watches of a kind try again now: its CRD may have appeared."""

    @property
    def pending(self) -> int:
        """How many of our own writes the watches have not reached yet."""
        raise NotImplementedError

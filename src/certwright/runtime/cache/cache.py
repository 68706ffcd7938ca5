"""Stores, shared by all users of the same view; kinds come and go while the cache runs."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import msgspec
from msgspec import Struct

from certwright.client import Client, Selection, request
from certwright.kube.errors import Conflict, NotFound
from certwright.kube.objects import Key, Object, Resource, resource_of
from certwright.kube.selectors import FieldSelector, LabelSelector
from certwright.runtime.cache.compression import Compression
from certwright.runtime.cache.decode import EntryDecoder, Transform
from certwright.runtime.cache.entries import Entry, IndexFunction
from certwright.runtime.cache.store import THIS_PROCESS, Interest, Listener, Store
from certwright.runtime.cache.watch import Watch
from certwright.runtime.queue.backoff import Backoff, Rng, new_rng


@dataclass(frozen=True, slots=True)
class View:
    """Which objects a store holds and how much of each: equal views share one store."""

    resource: Resource
    selection: Selection
    metadata_only: bool = False
    transform: Transform | None = None
    keep: Interest | None = None
    cluster: str = ""
    foreign_fields: bool = False
    compression: Compression | None = None

    def __str__(self) -> str:
        parts = [f"{self.cluster}:{self.resource}" if self.cluster else str(self.resource)]
        parts += [f"namespace={self.selection.namespace}"] if self.selection.namespace else []
        parts += [text for text in (self.selection.labels, self.selection.fields) if text]
        parts += ["metadata"] if self.metadata_only else []
        return " ".join(parts)


class StoreHandle:
    """One user's share in a store, which is watched as long as there is a share."""

    def __init__(self, informer: "Informer", on_release: Callable[["Informer"], None]) -> None:
        self.store: Store = informer.store
        self.watch: Watch = informer.watch
        self._informer = informer
        self._on_release: Callable[[Informer], None] | None = on_release
        self._unlisten: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def view(self) -> View:
        """Which objects the store holds."""
        return self._informer.view

    def listen(self, listener: Listener, *, own_writes: bool = True) -> None:
        """Call a listener for what is there and on every change, until the release.

        Without *own_writes* it is not called for what this process wrote or deleted.
        """
        self._unlisten.append(self.store.listen(listener, own_writes=own_writes))

    async def synced(self) -> None:
        """Return as soon as the store holds a complete list, however long that takes."""
        await self.watch.synced()

    async def ready(self) -> None:
        """Return as soon as the store holds a complete list; raises what `Watch.ready` raises."""
        await self.watch.ready()

    def release(self) -> None:
        """Give up the share and its listeners; the last one ends the watch. Once is enough."""
        if self._on_release is None:
            return
        for unlisten in self._unlisten:
            unlisten()
        self._on_release(self._informer)
        self._on_release = None


class Informer:
    """A store, the watch that keeps it current, and how many shares in it there are."""

    def __init__(self, view: View, store: Store, watch: Watch) -> None:
        self.view = view
        self.store = store
        self.watch = watch
        self.shares = 0
        self.required = False
        """Whether a process that lacks it is not ready."""
        self._task: asyncio.Task[None] | None = None

    def start(self, group: asyncio.TaskGroup) -> None:
        """Run the watch as a child of a group."""
        self._task = group.create_task(self.watch.run(), name=f"watch {self.view}")

    def stop(self) -> None:
        """End the watch."""
        self.watch.stop()
        if self._task is not None:
            self._task.cancel()


class Cache:
    """The stores of one process, and the watches that keep them current.

    *field_managers* are those whose field ownership stays visible in entries. *cluster* names
    the cluster in logs and metrics where a process watches more than one.
    """

    def __init__(
        self,
        client: Client,
        *,
        cluster: str = "",
        field_managers: Iterable[str] = (),
        rng: Rng | None = None,
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._field_managers = tuple(field_managers) or (client.field_manager,)
        self._rng = rng or new_rng()
        self._informers: dict[View, Informer] = {}
        self._by_resource: dict[Resource, tuple[Informer, ...]] = {}
        self._group: asyncio.TaskGroup | None = None

    def store(  # noqa: PLR0913 - a declaration: each keyword is one part of a view
        self,
        kind: type[Object] | Resource,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        transform: Transform | None = None,
        keep: Interest | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
        required: bool = True,
        foreign_fields: bool = False,
        compression: Compression | None = None,
    ) -> StoreHandle:
        """Return a share in the store of a kind; equal views share one watch.

        May be called before and while the cache runs. Transforms are the same when they compare
        equal; an index of a name taken must be the same function. What *keep* does not want never
        enters the store, see `Store`. A process is not ready before its stores are, except for
        those without *required*: users must not make it unready by naming a kind it may not watch.
        With *foreign_fields*, entries show which fields others hold, see `foreign_entries`. With
        a *compression* objects are kept compressed.
        Raises `ValueError` if a selector cannot be read, or the index name is taken.
        """
        selection = Selection(
            namespace, str(LabelSelector.parse(labels)), str(FieldSelector.parse(fields))
        )
        view = View(
            resource_of(kind),
            selection,
            metadata_only,
            transform,
            keep,
            self._cluster,
            foreign_fields,
            compression,
        )
        informer = self._informers.get(view)
        if informer is None:
            informer = self._informers[view] = self._informer(view)
            self._by_resource[view.resource] = (*self._of(view.resource), informer)
            if self._group is not None:
                informer.start(self._group)
        for name, values in (indexes or {}).items():
            informer.store.add_index(name, values)
        informer.shares += 1
        informer.required = informer.required or required
        return StoreHandle(informer, self._release)

    def _informer(self, view: View) -> Informer:
        decoder = EntryDecoder(
            view.resource,
            field_managers=self._field_managers,
            transform=view.transform,
            metadata_only=view.metadata_only,
            foreign_fields=view.foreign_fields,
            compression=view.compression,
        )
        store = Store(decoder, admits=_Admission(view.selection), keep=view.keep)
        backoff = Backoff(base_seconds=0.1, cap_seconds=30.0, rng=self._rng)
        return Informer(view, store, Watch(self._client, store, view.selection, backoff=backoff))

    def _release(self, informer: Informer) -> None:
        informer.shares -= 1
        resource = informer.view.resource
        if not informer.shares:
            del self._informers[informer.view]
            others = tuple(one for one in self._of(resource) if one is not informer)
            if others:
                self._by_resource[resource] = others
            else:
                del self._by_resource[resource]
            informer.stop()

    async def run(self) -> None:
        """Run the watches until cancelled; stores asked for meanwhile join in."""
        if self._group is not None:
            raise RuntimeError("the cache runs already")
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for informer in self._informers.values():
                    informer.start(group)
                await asyncio.Event().wait()
            finally:
                self._group = None

    async def wait_synced(self, timeout_seconds: float | None = None) -> None:
        """Return when every store holds a complete list; `TimeoutError` names those that do not."""
        try:
            async with asyncio.timeout(timeout_seconds):
                for informer in list(self._informers.values()):
                    await informer.watch.synced()
        except TimeoutError:
            raise TimeoutError(
                f"not synced after {timeout_seconds:g} s: {'; '.join(self.unsynced())}"
            ) from None

    def unsynced(self) -> list[str]:
        """Return a line for each store that is not complete: what, in which state, and why."""
        return [
            f"{informer.view} ({informer.watch.state}{': ' if error else ''}{error})"
            for informer in self._informers.values()
            if not informer.store.synced
            for error in [informer.watch.last_error]
        ]

    @property
    def informers(self) -> list[Informer]:
        """Every store and its watch, for probes, metrics and the dump."""
        return list(self._informers.values())

    @property
    def pending(self) -> int:
        """How many of our own writes and deletions the watches have not reached yet."""
        return sum(informer.store.pending for informer in self._informers.values())

    def note_write(self, resource: Resource, raw: bytes, writer: int = THIS_PROCESS) -> None:
        """Pass the object a write returned, as JSON, to every store it belongs into.

        Its entries are marked with *writer*, see `Store.note_write`.
        """
        for informer in self._of(resource):
            informer.store.note_write(raw, writer)

    def note_delete(self, resource: Resource, key: Key, uid: str, *, own: bool = True) -> None:
        """Drop a deleted object from the stores of its kind; *own* if this process deleted it."""
        for informer in self._of(resource):
            informer.store.note_delete(key, uid, own=own)

    async def confirm(
        self, resource: Resource, key: Key, *, uid: str, version: str, writer: int = 0
    ) -> None:
        """Ask the server whether an object is still in the state that was read from a store.

        A later state is fine if *writer* wrote it. Raises `Conflict` if it is not, or is gone; by
        now the stores know.
        """
        try:
            response = await self._client.send(request.get(resource, key))
        except NotFound:
            self.note_delete(resource, key, uid, own=False)
            raise Conflict(
                f"{resource.kind} {key} is gone; the cache has not seen the deletion yet"
            ) from None
        now = msgspec.json.decode(response.body, type=_Identified).metadata
        if now.uid != uid:
            self.note_delete(resource, key, uid, own=False)
        self.note_write(resource, response.body, writer=0)
        if now.uid == uid and now.resource_version == version:
            return
        known = self._of(resource) if writer else ()
        entries = (informer.store.get(key) for informer in known)
        if now.uid != uid or not any(
            entry.writer == writer and entry.meta.resource_version == now.resource_version
            for entry in entries
            if entry is not None
        ):
            raise Conflict(f"{resource.kind} {key} changed; the cache has not seen the change yet")

    def _of(self, resource: Resource) -> tuple[Informer, ...]:
        return self._by_resource.get(resource, ())


class _Identity(Struct, rename="camel"):
    uid: str
    resource_version: str


class _Identified(Struct):
    metadata: _Identity


class _Admission:
    """Whether an object we wrote belongs into a store's selection."""

    def __init__(self, selection: Selection) -> None:
        self._namespace = selection.namespace
        self._labels = LabelSelector.parse(selection.labels)
        self._fields = selection.fields
        self._type = selection.fields.removeprefix("type=")

    def __call__(self, entry: Entry) -> bool:
        return (
            self._namespace in {"", entry.key.namespace}
            and self._labels.matches(entry.meta.labels)
            and (not self._fields or self._is_of_type(entry))
        )

    def _is_of_type(self, entry: Entry) -> bool:
        """Return whether an object is of the type that alone is selected by, as of Secrets.

        Which other fields a server selects by differs per kind: such stores wait for the event.
        """
        only_type = self._fields.startswith("type=") and not {",", "="} & set(self._type)
        return only_type and entry.obj().get("type") == self._type

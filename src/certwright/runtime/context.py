"""What a reconcile is given: stores to read, a few ways to write, a clock and a log.

Reads are from stores; only `Context.confirm` asks the API. Writes make no call
when nothing differs, and the next read sees them.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, ParamSpec, TypeVar, overload

import structlog
from msgspec import Struct, to_builtins

from certwright.client import Client, Propagation
from certwright.client.request import Validation
from certwright.clock import Clock
from certwright.kube import (
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Conflict,
    GroupVersionKind,
    JsonObject,
    Key,
    LabelSelector,
    Object,
    Resource,
    key_of,
    resource_of,
)
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.store import THIS_PROCESS, Store
from certwright.runtime.process.eventloop import CpuPool
from certwright.runtime.queue.backoff import Rng
from certwright.runtime.writes.conditions import ConditionReporter
from certwright.runtime.writes.events import EventRecorder, EventType
from certwright.runtime.writes.patches import (
    FinalizerChange,
    finalizer_patch,
    status_patch,
    with_finalizer,
    without_finalizer,
)
from certwright.runtime.writes.writer import Applier, Effect, Writes, render

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Object)

_WRITERS = count(THIS_PROCESS + 1)


class Environment(Struct, frozen=True, eq=False):
    """What all reconciles of one controller share."""

    controller: str
    client: Client
    clock: Clock
    stores: Mapping[Resource, Store]
    kinds: Mapping[GroupVersionKind, Resource]
    writes: Writes
    applier: Applier
    events: EventRecorder
    conditions: ConditionReporter
    pool: CpuPool
    rng: Rng


class Context:
    """The world as one reconcile sees it. Valid for that reconcile only."""

    def __init__(self, environment: Environment, key: Key | None = None) -> None:
        self._environment = environment
        self._key = key
        self._writer = next(_WRITERS)  # marks what this reconcile writes

    @property
    def client(self) -> Client:
        """The client, for what the methods below do not cover."""
        return self._environment.client

    @property
    def clock(self) -> Clock:
        """The time, which tests control."""
        return self._environment.clock

    @cached_property
    def log(self) -> Any:
        """A structlog logger that names the controller and the object in every line."""
        log = structlog.get_logger()
        return log.bind(controller=self._environment.controller, key=str(self._key or ""))

    # Reading, from the stores

    @overload
    def get(self, kind: type[T], key: Key) -> T | None: ...
    @overload
    def get(self, kind: Resource, key: Key) -> JsonObject | None: ...
    def get(self, kind: type[T] | Resource, key: Key) -> T | JsonObject | None:
        """Return an object, or None if there is none.

        Raises:
            BadObject: the object does not have the shape its type declares.
            LookupError: the controller does not watch this kind.
        """
        entry = self.store(kind).get(key)
        return None if entry is None else _read(kind, entry)

    @overload
    def list(self, kind: type[T], namespace: str = "", *, labels: str = "") -> Sequence[T]: ...
    @overload
    def list(
        self, kind: Resource, namespace: str = "", *, labels: str = ""
    ) -> Sequence[JsonObject]: ...
    def list(
        self, kind: type[T] | Resource, namespace: str = "", *, labels: str = ""
    ) -> Sequence[T] | Sequence[JsonObject]:
        """Return the objects of a kind, of one namespace or all, that match a label selector."""
        store = self.store(kind)
        entries = store.by_namespace(namespace) if namespace else store.items()
        if labels:
            selector = LabelSelector.parse(labels)
            entries = [entry for entry in entries if selector.matches(entry.meta.labels)]
        return _read_all(kind, entries)

    @overload
    def owned(self, kind: type[T], owner: JsonObject | Object) -> Sequence[T]: ...
    @overload
    def owned(self, kind: Resource, owner: JsonObject | Object) -> Sequence[JsonObject]: ...
    def owned(
        self, kind: type[T] | Resource, owner: JsonObject | Object
    ) -> Sequence[T] | Sequence[JsonObject]:
        """Return the objects of a kind that name *owner* as their owner."""
        return _read_all(kind, self.store(kind).by_owner(_identity(owner)[0]))

    @overload
    def indexed(self, kind: type[T], index: str, value: Hashable) -> Sequence[T]: ...
    @overload
    def indexed(self, kind: Resource, index: str, value: Hashable) -> Sequence[JsonObject]: ...
    def indexed(
        self, kind: type[T] | Resource, index: str, value: Hashable
    ) -> Sequence[T] | Sequence[JsonObject]:
        """Return the objects a declared index function puts under *value*."""
        return _read_all(kind, self.store(kind).by_index(index, value))

    def store(self, kind: type[Object] | Resource) -> Store:
        """Return the store of a kind, for reading entries without decoding them."""
        resource = resource_of(kind)
        store = self._environment.stores.get(resource)
        if store is None:
            raise LookupError(
                f"controller {self._environment.controller} does not watch {resource};"
                " name the kind in owns, watches or reads"
            )
        return store

    def wrote(self, entry: Entry) -> bool:
        """Return whether this reconcile itself left an object in this state."""
        return entry.writer == self._writer

    # Writing

    async def apply(
        self, obj: JsonObject | Object, *, owner: JsonObject | Object | None = None
    ) -> Effect:
        """Make the cluster hold this object; no call when the cached one already does.

        Fields we applied before and no longer mention are removed, fields of others stay.
        With *owner* the object belongs to it: it is deleted with it, and its changes wake
        the owner's controller. Kinds that are not watched are applied every time.
        """
        resource = await self._resource(obj)
        return await self._environment.applier.apply(resource, render(obj, owner), self._writer)

    async def create(
        self, obj: JsonObject | Object, *, owner: JsonObject | Object | None = None
    ) -> JsonObject:
        """Create an object that must not exist, or one the server names; return it as stored.

        *owner* means what it does in `apply`. Raises `AlreadyExists` if the name is taken.
        """
        resource = await self._resource(obj)
        return await self._environment.writes.create(resource, render(obj, owner), self._writer)

    async def status(self, obj: JsonObject | Object, new: JsonObject | Struct) -> Effect:
        """Write the status of an object that was read; no call when it is equal.

        Raises:
            Conflict: the object changed since; the runtime repeats the reconcile.
        """
        resource = await self._resource(obj)
        live = self._live(resource, obj)
        patch = status_patch(live, new)
        if patch is None:
            return Effect.UNCHANGED
        return await self._patch(resource, live, patch, "status")

    async def patch(
        self,
        obj: JsonObject | Object,
        change: JsonObject,
        *,
        subresource: str = "",
        validation: Validation = Validation.STRICT,
        strategic: bool = False,
    ) -> Effect:
        """Merge a change into exactly the object that was read: annotations, finalizers.

        With another *validation* the server drops fields that it does not know, which by default
        it refuses. If *strategic*, lists are merged by the keys of their elements; custom resources
        do not have that.

        Raises:
            Conflict: the object changed since; the runtime repeats the reconcile.
        """
        resource = await self._resource(obj)
        live = self._live(resource, obj)
        exactly = {name: live["metadata"][name] for name in ("uid", "resourceVersion")}
        changed = {**change, "metadata": {**change.get("metadata", {}), **exactly}}
        content_type = STRATEGIC_MERGE_PATCH if strategic else MERGE_PATCH
        return await self._patch(resource, live, changed, subresource, validation, content_type)

    async def apply_status(
        self, obj: JsonObject | Object, status: JsonObject, *, any_version: bool = False
    ) -> JsonObject:
        """Apply our part of the status of an object that was read, and leave others theirs.

        What we applied before and do not mention now is removed. Always makes the call, so do not
        apply the same status again. Returns the object as stored. Raises `Conflict` if the object
        was replaced since, or, unless *any_version*, changed.
        """
        resource, key = await self._resource(obj), key_of(obj)
        uid, version = _identity(obj)
        metadata = {"name": key.name, "namespace": key.namespace, "uid": uid}
        if not any_version:
            metadata["resourceVersion"] = version
        desired = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {name: value for name, value in metadata.items() if value},
            "status": status,
        }
        stored = await self._environment.writes.apply_status(resource, desired, self._writer)
        before = getattr(obj, "status", None) if isinstance(obj, Object) else obj.get("status")
        self._environment.conditions.written(to_builtins(before), stored)
        return stored

    async def confirm(self, obj: JsonObject | Object) -> None:
        """Ask the server whether an object that was read is still as it was.

        A process that has just started may be shown the past. Before it does what cannot be undone
        on the strength of what it sees, and no write of its own would notice, it asks. Raises
        `Conflict` if it is not; the store has the news, and the runtime repeats the reconcile.
        """
        resource = await self._resource(obj)
        uid, version = _identity(obj)
        await self._environment.writes.cache.confirm(
            resource, key_of(obj), uid=uid, version=version, writer=self._writer
        )

    async def hold(self, obj: JsonObject | Object, finalizer: str) -> Effect:
        """Add a finalizer; no call when it is there. See `certwright.runtime.writes.patches`."""
        return await self._set_finalizers(obj, finalizer, with_finalizer)

    async def release(self, obj: JsonObject | Object, finalizer: str) -> Effect:
        """Remove a finalizer; no call when it is gone. See `certwright.runtime.writes.patches`."""
        return await self._set_finalizers(obj, finalizer, without_finalizer)

    async def delete(
        self, obj: JsonObject | Object, *, propagation: Propagation | None = None
    ) -> None:
        """Delete exactly the object that was read; one that is gone already is fine.

        Raises:
            Conflict: it changed since; the runtime repeats the reconcile.
        """
        uid, version = _identity(obj)
        resource = await self._resource(obj)
        await self._environment.writes.delete(
            resource, key_of(obj), uid=uid, resource_version=version, propagation=propagation
        )

    def event(
        self,
        obj: JsonObject | Object,
        type: EventType,  # noqa: A002 - the API's word
        reason: str,
        note: str,
        action: str = "Reconcile",
        *,
        source: str = "",
    ) -> None:
        """Record an event about an object. Never waits and never fails; repetitions are merged.

        *source* names another controller than this one, for readers who know it by that name.
        """
        self._environment.events.record(obj, type, reason, note, action, source=source)

    async def cpu(self, fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that may take more than 5 ms in a thread, off the event loop."""
        return await self._environment.pool.run(fn, *args, **kwargs)

    async def _set_finalizers(
        self, obj: JsonObject | Object, finalizer: str, change: FinalizerChange
    ) -> Effect:
        resource = await self._resource(obj)
        live = self._live(resource, obj)
        metadata = live["metadata"]
        finalizers = change(metadata.get("finalizers") or (), finalizer)
        if finalizers is None:
            return Effect.UNCHANGED
        return await self._patch(resource, live, finalizer_patch(metadata, finalizers))

    async def _patch(
        self,
        resource: Resource,
        live: JsonObject,
        patch: JsonObject,
        subresource: str = "",
        validation: Validation = Validation.STRICT,
        content_type: str = MERGE_PATCH,
    ) -> Effect:
        writes, key = self._environment.writes, key_of(live)
        stored = await writes.patch(
            resource, key, patch, subresource, self._writer, validation, content_type
        )
        if subresource == "status":
            self._environment.conditions.written(live.get("status"), stored)
        return Effect.WRITTEN

    def _live(self, resource: Resource, obj: JsonObject | Object) -> JsonObject:
        """Return an object that was read as it is now, given that only we changed it since.

        Raises:
            Conflict: others did, so what was decided may be wrong. Saves the call that
                would find out.
        """
        store = self._environment.stores.get(resource)
        if store is None:
            return to_builtins(obj) if isinstance(obj, Object) else obj
        uid, version = _identity(obj)
        entry = store.get(key_of(obj))
        if (
            entry is not None
            and entry.uid == uid
            and (entry.meta.resource_version == version or self.wrote(entry))
        ):
            return entry.obj()
        raise Conflict(f"{resource.kind} {key_of(obj)} changed or disappeared since it was read")

    async def _resource(self, obj: JsonObject | Object) -> Resource:
        if isinstance(obj, Object):
            return type(obj).resource
        gvk = GroupVersionKind.parse(obj.get("apiVersion") or "", obj.get("kind") or "")
        known = self._environment.kinds.get(gvk)
        return known or await self._environment.client.discovery.resource_for(gvk)


def _read(kind: type[T] | Resource, entry: Entry) -> Any:
    return entry.obj() if isinstance(kind, Resource) else entry.as_(kind)


def _read_all(kind: type[T] | Resource, entries: Iterable[Entry]) -> Sequence[Any]:
    return [_read(kind, entry) for entry in entries]


def _identity(obj: JsonObject | Object) -> tuple[str, str]:
    """Return uid and resourceVersion of an object that was read."""
    if isinstance(obj, Object):
        return obj.metadata.uid, obj.metadata.resource_version
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]

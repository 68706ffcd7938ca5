"""The writes of one controller: signed by its field manager, noted in the cache.

Every answer goes straight into the stores, so the next read sees what was just written,
however late the watch is.

A write with a precondition that the server refused would be refused again until the cache
has caught up. Until then, or for a few seconds, it is refused here: a watch that lags costs
no calls. The event that ends the lag wakes the key, so it waits no longer than necessary. If
it has not come by then, it was lost, and the object is read once to put the cache right.
"""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

import orjson
from msgspec import Struct, to_builtins

from certwright.client import Client, Propagation, Request, Response, request
from certwright.client.request import DeleteOptions, Validation, WriteOptions
from certwright.clock import Clock
from certwright.kube import (
    MERGE_PATCH,
    Conflict,
    JsonObject,
    Key,
    NotFound,
    Object,
    Resource,
    key_of,
)
from certwright.kube.comparison import is_applied, own_fields
from certwright.kube.ownership import projection_hash
from certwright.runtime.cache.cache import Cache
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.store import Listener, Store

STALE_SECONDS = 5.0
"""How long a refused precondition is believed to be still wrong; then the server is asked."""
MAX_REFUSED = 1024


class Effect(StrEnum):
    """What a write did to the cluster."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    """Nothing differed, so no call was made."""


class _Version(NamedTuple):
    """The state of an object that a write was decided on."""

    resource: Resource
    key: Key
    uid: str
    number: str


class Writes:
    """Sends writes and notes what the API server made of them."""

    def __init__(self, client: Client, cache: Cache, clock: Clock, field_manager: str) -> None:
        self.field_manager = field_manager
        self._client = client
        self.cache = cache
        self._clock = clock
        self._options = WriteOptions(field_manager)
        self._refused: dict[_Version, float] = {}  # until when

    async def apply(self, resource: Resource, desired: JsonObject, writer: int) -> JsonObject:
        """Server-side apply, forced; return the object as stored."""
        asked = request.apply(resource, desired, self._options)
        return self._note(resource, await self._client.send(asked), writer)

    async def create(self, resource: Resource, obj: JsonObject, writer: int) -> JsonObject:
        """Create an object; return it as stored; `AlreadyExists` if the name is taken."""
        asked = request.create(resource, obj, self._options)
        return self._note(resource, await self._client.send(asked), writer)

    async def apply_status(
        self, resource: Resource, desired: JsonObject, writer: int
    ) -> JsonObject:
        """Apply our part of the status of exactly the object its metadata names, forced.

        Raises:
            Conflict: the object has another uid, or another version if the metadata names one.
        """
        asked = request.apply(resource, desired, self._options, subresource="status")
        metadata = desired["metadata"]
        number = metadata.get("resourceVersion", "")
        version = _Version(resource, key_of(desired), metadata["uid"], number)
        return self._note(resource, await self._send(version, asked), writer)

    async def patch(
        self,
        resource: Resource,
        key: Key,
        patch: JsonObject,
        subresource: str,
        writer: int,
        validation: Validation = Validation.STRICT,
        content_type: str = MERGE_PATCH,
    ) -> JsonObject:
        """Merge a patch into the version its metadata names; `Conflict` if it has another."""
        options = WriteOptions(self.field_manager, validation=validation)
        asked = request.patch(
            resource, key, patch, options, content_type=content_type, subresource=subresource
        )
        metadata = patch["metadata"]
        version = _Version(resource, key, metadata["uid"], metadata["resourceVersion"])
        return self._note(resource, await self._send(version, asked), writer)

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str,
        resource_version: str,
        propagation: Propagation | None = None,
    ) -> None:
        """Delete exactly the object read; one already gone is fine; `Conflict` if it changed."""
        options = DeleteOptions(uid, resource_version, propagation)
        asked = request.delete(resource, key, options)
        try:
            answer = await self._send(_Version(resource, key, uid, resource_version), asked)
        except NotFound:
            return
        left = orjson.loads(answer.body)
        if left.get("kind") == resource.kind and left["metadata"].get("deletionTimestamp"):
            self.cache.note_write(resource, answer.body)  # finalizers or grace hold it
        else:
            self.cache.note_delete(resource, key, uid)

    async def _send(self, version: _Version, asked: Request) -> Response:
        """Send a write that is meant for one version of an object."""
        now = self._clock.monotonic()
        refused_until = self._refused.get(version)
        if refused_until is not None and refused_until > now:
            kind, key = version.resource.kind, version.key
            raise Conflict(f"{kind} {key} changed; the change has not arrived here yet")
        try:
            return await self._client.send(asked)
        except NotFound:
            self.cache.note_delete(version.resource, version.key, version.uid, own=False)
            raise
        except Conflict:
            self._refused = {v: until for v, until in self._refused.items() if until > now}
            if len(self._refused) < MAX_REFUSED:
                self._refused[version] = now + STALE_SECONDS
            if refused_until is not None:
                await self._read(version)
            raise

    async def _read(self, version: _Version) -> None:
        """Read an object whose change the cache has missed."""
        try:
            answer = await self._client.send(request.get(version.resource, version.key))
        except NotFound:
            self.cache.note_delete(version.resource, version.key, version.uid, own=False)
        else:
            self.cache.note_write(version.resource, answer.body, writer=0)

    def _note(self, resource: Resource, answer: Response, writer: int) -> JsonObject:
        stored: JsonObject = orjson.loads(answer.body)
        if _was_the_last(resource, stored["metadata"]):
            self.cache.note_delete(resource, key_of(stored), stored["metadata"]["uid"])
        else:
            self.cache.note_write(resource, answer.body, writer)
        return stored


def _was_the_last(resource: Resource, metadata: JsonObject) -> bool:
    """Return whether a write removed the last finalizer: the object it returned is gone.

    It has the version it had before, so a store would go on showing it with its finalizer.
    """
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in metadata and not held and resource.kind != "Namespace"


class _Applied(Struct, frozen=True):
    """What we know of an object after our last apply, or after having checked it."""

    desired: bytes
    version: str
    projection: str


class Applier:
    """Applies the objects of one controller; makes no call when nothing differs.

    After an apply it remembers a hash of the *returned* object, projected onto the fields our
    manager owns in it. Later the projection of the cached object is compared with that hash, so
    quantities, defaults and whatever else the server normalises need no special cases. After a
    restart nothing is remembered: then the cached object is left alone if what our manager owns
    in it is what is desired, no less and no more. In doubt, one apply is made: it is idempotent,
    and from then on the hash decides.
    """

    def __init__(self, writes: Writes, stores: Mapping[Resource, Store]) -> None:
        self._writes = writes
        self._stores = stores
        self._applied: dict[tuple[Resource, Key], _Applied] = {}

    async def apply(self, resource: Resource, desired: JsonObject, writer: int) -> Effect:
        """Make the cluster hold this object; no call if the cached one already does.

        Objects of kinds the controller does not watch are applied every time.
        """
        key = key_of(desired)
        digest = blake2b(orjson.dumps(desired, option=orjson.OPT_SORT_KEYS)).digest()
        store = self._stores.get(resource)
        entry = store.get(key) if store is not None else None
        if entry is not None and self._is_current((resource, key), entry, desired, digest):
            return Effect.UNCHANGED
        live = await self._writes.apply(resource, desired, writer)
        metadata = live["metadata"]
        owned = own_fields(metadata.get("managedFields") or [], self._writes.field_manager)
        if (
            owned is not None and store is not None and key in store
        ):  # else its deletion would go unnoticed
            projection = projection_hash(live, owned)
            self._applied[resource, key] = _Applied(digest, metadata["resourceVersion"], projection)
        return Effect.WRITTEN

    def forgets(self, resource: Resource) -> Listener:
        """Return a listener that drops what is remembered of deleted objects of a kind."""

        def on_change(old: Entry | None, new: Entry | None) -> None:
            if new is None and old is not None:
                self._applied.pop((resource, old.key), None)

        return on_change

    def _is_current(
        self, place: tuple[Resource, Key], entry: Entry, desired: JsonObject, digest: bytes
    ) -> bool:
        known = self._applied.get(place)
        if known is not None and known.desired != digest:
            return False
        if known is not None and known.version == entry.meta.resource_version:
            return True  # the very object we looked at last time
        owned = own_fields(entry.managed_fields, self._writes.field_manager)
        if owned is None:
            return False
        live = entry.obj()
        now = projection_hash(live, owned)
        if known is not None and known.projection != now:
            return False
        if known is None and not is_applied(live, owned, desired):
            return False
        self._applied[place] = _Applied(digest, entry.meta.resource_version, now)
        return True


def render(obj: JsonObject | Object, owner: JsonObject | Object | None = None) -> JsonObject:
    """Return what to send for an object: plain JSON, with its controller reference.

    An object without a namespace gets that of its owner. Raises `ValueError` if the owner has no
    uid (it was never stored), or lives in another namespace.
    """
    if isinstance(obj, Object):
        kind = type(obj).resource
        desired: JsonObject = to_builtins(obj)
        desired = {**desired, "apiVersion": kind.api_version, "kind": kind.kind}
    else:
        desired = dict(obj)
    desired.pop("status", None)
    if owner is None:
        return desired
    metadata = dict(desired.get("metadata") or {})
    namespace = key_of(owner).namespace
    if namespace and metadata.setdefault("namespace", namespace) != namespace:
        raise ValueError(
            f"{desired.get('kind')} {key_of(desired)} cannot be owned by"
            f" {key_of(owner)}: owners live in the same namespace or cluster-wide"
        )
    others = [ref for ref in metadata.get("ownerReferences") or () if not ref.get("controller")]
    metadata["ownerReferences"] = [*others, controller_reference(owner)]
    return {**desired, "metadata": metadata}


def controller_reference(owner: JsonObject | Object) -> JsonObject:
    """Return the reference that makes *owner* the controller of what carries it."""
    if isinstance(owner, Object):
        kind = type(owner).resource
        api_version, name, uid = kind.api_version, kind.kind, owner.metadata.uid
    else:
        api_version, name = owner.get("apiVersion", ""), owner.get("kind", "")
        uid = owner["metadata"].get("uid", "")
    if not uid:
        raise ValueError(f"{name} {key_of(owner)} has no uid: pass the owner as it was read")
    return {
        "apiVersion": api_version,
        "kind": name,
        "name": key_of(owner).name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }

"""Server-side apply that makes no call when nothing differs.

After an apply we remember a hash of the *returned* object, projected onto the fields our
manager owns in it. Later the projection of the cached object is compared with that hash, so
quantities, defaults and whatever else the server normalises need no special cases. After a
restart nothing is remembered: then the cached object is left alone if what our manager owns
in it is what is desired, no less and no more. In doubt, one apply is made: it is idempotent,
and from then on the hash decides.
"""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b

import orjson
from msgspec import Struct, to_builtins

from certwright.kube import JsonObject, Key, Object, Resource, key_of
from certwright.kube.comparison import is_applied, own_fields
from certwright.kube.ownership import projection_hash
from certwright.runtime.cache.entry import Entry
from certwright.runtime.cache.store import Store
from certwright.runtime.writes.writer import Writes


class Effect(StrEnum):
    """What a write did to the cluster."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    """Nothing differed, so no call was made."""


class _Applied(Struct, frozen=True):
    """What we know of an object after our last apply, or after having checked it."""

    desired: bytes
    version: str
    projection: str


class Applier:
    """Applies the objects of one controller and remembers what it applied."""

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
        ):  # else nobody says when it goes
            projection = projection_hash(live, owned)
            self._applied[resource, key] = _Applied(digest, metadata["resourceVersion"], projection)
        return Effect.WRITTEN

    def forget(self, resource: Resource, key: Key) -> None:
        """Forget an object that is gone."""
        self._applied.pop((resource, key), None)

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

    An object without a namespace gets that of its owner.

    Raises:
        ValueError: the owner has no uid (it was never stored), or lives in another namespace.
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

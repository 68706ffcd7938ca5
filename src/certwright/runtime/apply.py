"""Server-side apply that makes no call when nothing differs.

After an apply we remember a hash of the *returned* object, projected onto the fields our
manager owns in it. Later the projection of the cached object is compared with that hash, so
quantities, defaults and whatever else the server normalises need no special cases. After a
restart nothing is remembered: then the cached object is left alone if what our manager owns
in it is what is desired, no less and no more. In doubt, one apply is made: it is idempotent,
and from then on the hash decides.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import orjson
from msgspec import Struct, to_builtins

from certwright.kube import (
    FieldSet,
    JsonObject,
    Key,
    Object,
    Resource,
    key_of,
    project,
    projection_hash,
)
from certwright.runtime.entry import Entry
from certwright.runtime.store import Store
from certwright.runtime.writes import Writes

_MERGE_KEYS = ("name", "key", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey")
"""Fields that tell the items of a list apart, in the order they are tried."""


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

    async def apply(self, resource: Resource, desired: JsonObject) -> Effect:
        """Make the cluster hold this object; no call if the cached one already does.

        Objects of kinds the controller does not watch are applied every time.
        """
        key = key_of(desired)
        digest = blake2b(orjson.dumps(desired, option=orjson.OPT_SORT_KEYS)).digest()
        store = self._stores.get(resource)
        entry = store.get(key) if store is not None else None
        if entry is not None and self._is_current((resource, key), entry, desired, digest):
            return Effect.UNCHANGED
        live = await self._writes.apply(resource, desired)
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


def own_fields(managed: list[JsonObject], manager: str) -> FieldSet | None:
    """Return what a manager owns by apply, status aside; None if it owns nothing."""
    for entry in managed:
        mine = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if mine and not entry.get("subresource"):
            return FieldSet.parse(entry.get("fieldsV1") or {})
    return None


def is_applied(live: JsonObject, owned: FieldSet, desired: JsonObject) -> bool:
    """Say whether the fields we own in *live* are those of *desired*, with the same values.

    That *live* holds the values is not enough: whoever changes an atomic list takes it over,
    and one they only added to still has in it what we want.
    """
    mine = project(live, owned)
    identity = {name: live["metadata"].get(name) for name in ("namespace", "name")}
    whole = {
        **mine,
        "apiVersion": live.get("apiVersion"),
        "kind": live.get("kind"),
        "metadata": {**mine.get("metadata", {}), **identity},  # which nobody owns
    }
    return contains(whole, desired) and covers(desired, mine)


def contains(live: Any, desired: Any) -> bool:
    """Say whether *live* has everything *desired* asks for; it may have more.

    Items of lists are matched by what names them (``name``, ``type``…), else by position.
    Absent, null and empty are the same: the server drops what is empty.
    """
    return _matches(live, desired, lambda have, want: bool(have == want))


def covers(desired: Any, owned: Any) -> bool:
    """Say whether *desired* mentions every field of *owned*, whatever the values are."""
    return _matches(desired, owned, lambda _have, _want: True)


def _matches(have: Any, want: Any, same: Callable[[Any, Any], bool]) -> bool:
    if want is None or want in ({}, []):
        return have is None or have in ({}, []) or type(have) is type(want)
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            _matches(have.get(name), value, same) for name, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and _list_matches(have, want, same)
    return have is not None and same(have, want)


def _list_matches(have: list[Any], want: list[Any], same: Callable[[Any, Any], bool]) -> bool:
    key = _merge_key(want)
    if key is None:
        return len(have) == len(want) and all(map(_matches, have, want, [same] * len(want)))
    by_key = {item.get(key): item for item in have if isinstance(item, dict)}
    return all(_matches(by_key.get(item[key]), item, same) for item in want)


def _merge_key(items: list[Any]) -> str | None:
    """Return the field that tells all items apart, if there is one."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _MERGE_KEYS:
        values = [item.get(key) for item in items]
        if all(isinstance(v, str) for v in values) and len(set(values)) == len(values):
            return key
    return None

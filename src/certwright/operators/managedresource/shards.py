"""Companions in the cluster: written, read, and watched from the time on that there is one.

They are watched by their label and without their contents. Which state of each is right is
known, for it is the one we wrote or read last; any other is somebody else's doing.

Writing inventories that do not fit into a status: the rest goes beside it, first.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import orjson

from certwright.api.managedresources import InventoryReference, ObjectReference
from certwright.client import Client, TransportError, request
from certwright.kube import ApiError, Conflict, Invalid, JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap
from certwright.managed.shards import companion, companion_name, read_companion, split
from certwright.operators.managedresource.status import Update
from certwright.runtime import Cache, Entry, Store, StoreHandle

if TYPE_CHECKING:
    from certwright.operators.managedresource.keeper import Look


Touched: TypeAlias = Callable[[Key, str], None]
"""Told which ManagedResource it is about, and the name of the companion."""


class WatchedCompanions:
    """The companions of all ManagedResources; *touched* is called when others lay hands on one."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        *,
        label: str,
        namespaces: Sequence[str],
        touched: Touched,
    ) -> None:
        self._client = client
        self._cache = cache
        self._label = label
        self._namespaces = tuple(namespaces) or ("",)
        self._touched = touched
        self._shares: dict[str, StoreHandle] = {}
        self._owners: dict[Key, Key] = {}
        self._asking: set[Key] = set()  # until the answer is there, events tell nothing

    async def read(self, key: Key, owner: Key) -> tuple[list[ObjectReference], bool]:
        """Return the part of an inventory in a companion, and whether it is as we write them.

        Raises:
            ValueError: it is missing or was changed. The event that mends it is told, too.
            ApiError, TransportError: it cannot be read now.
        """
        with self._asking_for(key, owner) as store:
            try:
                answer = await self._client.send(request.get(ConfigMap, key))
            except NotFound:
                return read_companion(key, None), False
            found = read_companion(key, orjson.loads(answer.body))
            return found, _is_latest(store, key, answer.body)

    async def write(self, companion: JsonObject, owner: Key) -> bool:
        """Write a companion; say whether nobody has touched it since.

        Raises:
            ApiError, TransportError: it cannot be written now.
        """
        key = key_of(companion)
        options = request.WriteOptions(self._client.field_manager)
        apply = request.apply(ConfigMap, companion, options)
        with self._asking_for(key, owner) as store:
            try:
                answer = await self._client.send(apply)
            except Invalid:  # somebody else's, which is immutable, too
                await self._delete(store, key)
                answer = await self._client.send(apply)
            return _is_latest(store, key, answer.body)

    async def delete(self, key: Key) -> None:
        """Delete a companion, in the state that is known of it; one that is gone is fine.

        Raises:
            Conflict: it is in another state; look again.
            ApiError, TransportError: it cannot be deleted now.
        """
        self.forget(key)
        await self._delete(self._store(key.namespace), key)

    async def _delete(self, store: Store, key: Key) -> None:
        with suppress(NotFound):
            known = store.get(key) or store.decoder.entry(
                (await self._client.send(request.get(ConfigMap, key))).body
            )
            options = request.DeleteOptions(known.uid, known.meta.resource_version)
            await self._client.send(request.delete(ConfigMap, key, options))

    def forget(self, key: Key) -> None:
        """Do not care any more what becomes of a companion."""
        self._owners.pop(key, None)

    @contextmanager
    def _asking_for(self, key: Key, owner: Key) -> Iterator[Store]:
        """Tell nobody of a companion until the answer is there, and from then on *owner*."""
        self._owners[key] = owner
        self._asking.add(key)
        try:
            yield self._store(key.namespace)
        finally:
            self._asking.discard(key)

    def _store(self, namespace: str) -> Store:
        place = namespace if namespace in self._namespaces else ""
        share = self._shares.get(place)
        if share is None:
            share = self._cache.store(
                ConfigMap,
                namespace=place,
                labels=self._label,
                metadata_only=True,
                required=False,
            )
            self._shares[place] = share
            share.listen(self._changed)
        return share.store

    def _changed(self, old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or changed.key in self._asking:
            return
        if old and new and old.meta.resource_version == new.meta.resource_version:
            return
        owner = self._owners.get(changed.key)
        if owner is not None:
            self._touched(owner, changed.key.name)


def _is_latest(store: Store, key: Key, answer: bytes) -> bool:
    """Take in an answer; say whether the watch has not told of anything later."""
    version = store.decoder.entry(answer).meta.resource_version
    store.note_write(answer)
    known = store.get(key)
    return known is not None and known.meta.resource_version == version


@dataclass(frozen=True, slots=True)
class Placed:
    """What the status has to say about an inventory."""

    inline: Sequence[ObjectReference]
    companions: Sequence[InventoryReference]
    obsolete: Sequence[InventoryReference]
    """Those it named so far: it does until they are deleted, for else a crash would leave them."""

    @property
    def references(self) -> Sequence[InventoryReference]:
        """What the status says until then."""
        return [*self.companions, *self.obsolete]


class Unplaced(Exception):
    """A part of an inventory cannot be written now: what it lists must not be created."""


async def place(look: "Look", references: Sequence[ObjectReference]) -> Placed:
    """Write what does not fit into the status; return what is to stand there.

    Companions that are no longer needed are deleted by `drop_companions`, after that.

    Raises:
        Unplaced: a companion cannot be written.
        Conflict: this is an old state of the ManagedResource; look again.
    """
    parts = split(references)
    names = [companion_name(look.resource, entries) for entries in parts.companions]
    for name, entries in zip(names, parts.companions, strict=True):
        if name.name not in look.remembered.companions:
            await _write(look, name.name, entries)
    before = {reference.name for reference in look.resource.status.inventory_refs}
    unnamed = (before | look.remembered.companions.keys()) - {name.name for name in names}
    obsolete = [InventoryReference(name=name, obsolete=True) for name in sorted(unnamed)]
    return Placed(parts.inline, names, obsolete)


async def restore_companions(look: "Look") -> None:
    """Write companions again that others deleted or changed: what is remembered is right.

    Raises:
        Unplaced: one cannot be written.
        Conflict: this is an old state of the ManagedResource; look again.
    """
    known = look.remembered.companions
    for name in sorted(look.remembered.touched & known.keys()):
        await _write(look, name, known[name])


async def drop_companions(look: "Look", placed: Placed) -> None:
    """Delete companions that are no longer needed, and then name them no more."""
    for reference in placed.obsolete:
        await look.keeper.companions.delete(Key(look.key.namespace, reference.name))
        look.remembered.drop_companion(reference.name)
    if placed.obsolete:
        await look.write(Update(companions=placed.companions))


async def _write(look: "Look", name: str, entries: Sequence[ObjectReference]) -> None:
    await look.confirm()
    obj = companion(look.resource, name, entries, label=look.keeper.managed_by)
    try:
        untouched = await look.keeper.companions.write(obj, look.key)
    except Conflict:
        raise
    except (ApiError, TransportError) as error:
        key = Key(look.key.namespace, name)
        raise Unplaced(
            f"the ConfigMap {key} with a part of the inventory cannot be written: {error}"
        ) from error
    look.remembered.note_companion(name, entries, untouched=untouched)

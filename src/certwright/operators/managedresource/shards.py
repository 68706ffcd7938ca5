"""The inventory of a ManagedResource: in its status, and what does not fit in shards beside it.

Shards are ConfigMaps that are written before the status that names them, and never changed. They
are watched by their label and without their contents, from the time on that there is one. Which
state of each is right is known, for it is the one we wrote or read last; any other is the work
of others, and the shard is written again. One that is being deleted is held by a finalizer until
what it lists is written under another name.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import InventoryError, ObjectRef
from certwright.client import Client, TransportError, request
from certwright.keep import OutOfDate
from certwright.kube import (
    MERGE_PATCH,
    ApiError,
    Conflict,
    Invalid,
    JsonObject,
    Key,
    NotFound,
    key_of,
)
from certwright.kube.kinds import ConfigMap
from certwright.managed.shards import (
    SHARD_FINALIZER,
    read_shard,
    shard_entry,
    shard_manifest,
    shard_name,
    shards_in,
    split,
)
from certwright.operators.managedresource import inventory, messages
from certwright.operators.managedresource.input import Facts
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.state import Pass
from certwright.operators.managedresource.status import StatusUnwritten, Update
from certwright.runtime import Cache, Entry, Store, StoreHandle

Touched: TypeAlias = Callable[[Key, str], None]
"""Called with the key of a ManagedResource and the name of its shard."""


class ShardUnwritten(Exception):
    """A shard cannot be written now: what it lists must not be created."""


class ShardStore:
    """The shards of all ManagedResources; *touched* is called when others change one."""

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
        self._in_flight: set[Key] = set()  # until the answer is there, events tell nothing

    async def read(self, key: Key, owner: Key) -> tuple[list[ObjectReference], bool]:
        """Return the part of an inventory in a shard, and whether it is as we write them.

        Raises:
            ValueError: it is missing or was changed. The event that mends it is told, too.
            ApiError, TransportError: it cannot be read now.
        """
        with self._asking_for(key, owner) as store:
            try:
                answer = await self._client.send(request.get(ConfigMap, key))
            except NotFound:
                return read_shard(key, None), False
            found = read_shard(key, orjson.loads(answer.body))
            return found, store.note_write(answer.body)

    async def write(self, shard: JsonObject, owner: Key) -> bool:
        """Write a shard; return whether no other state of it has been seen since.

        Raises:
            ApiError, TransportError: it cannot be written now.
        """
        key = key_of(shard)
        options = request.WriteOptions(self._client.field_manager)
        apply = request.apply(ConfigMap, shard, options)
        with self._asking_for(key, owner) as store:
            try:
                answer = await self._client.send(apply)
            except Invalid:  # another ConfigMap of that name, which is immutable, too
                await self._delete(store, key)
                answer = await self._client.send(apply)
            return store.note_write(answer.body)

    async def delete(self, key: Key) -> None:
        """Delete a shard, in the state that is known of it; raises what `release` raises."""
        self.forget(key)
        await self._delete(self._store(key.namespace), key)

    async def release(self, key: Key) -> None:
        """Let a shard go with its ManagedResource, or at once if it is being deleted.

        Raises:
            Conflict: it is in another state; look again.
            ApiError, TransportError: it cannot be changed or deleted now.
        """
        self.forget(key)
        with suppress(NotFound):
            await self._release(self._store(key.namespace), key)

    def is_going(self, key: Key) -> bool:
        """Return whether a shard is being deleted."""
        known = self._store(key.namespace).get(key)
        return known is not None and known.meta.deleting

    def of(self, resource: ManagedResource) -> set[str]:
        """Return the names of the shards of a ManagedResource, as far as shards are watched."""
        share = self._shares.get(self._place(resource.metadata.namespace))
        owned = share.store.by_owner(resource.metadata.uid) if share is not None else ()
        return {entry.key.name for entry in owned if not entry.meta.deleting}

    async def _delete(self, store: Store, key: Key) -> None:
        known = store.get(key)
        try:
            known = await self._release(store, key)
            if not known.meta.deleting:
                options = request.DeleteOptions(known.uid, known.meta.resource_version)
                await self._client.send(request.delete(ConfigMap, key, options))
            is_gone = not known.meta.finalizers
        except NotFound:
            is_gone = True
        if is_gone and known is not None:
            store.note_delete(key, known.uid)

    async def _release(self, store: Store, key: Key) -> Entry:
        """Remove the finalizer from a shard; return it as it is then."""
        known = store.get(key) or store.decoder.entry(
            (await self._client.send(request.get(ConfigMap, key))).body
        )
        if SHARD_FINALIZER not in known.meta.finalizers:
            return known
        rest = [name for name in known.meta.finalizers if name != SHARD_FINALIZER]
        version = {"uid": known.uid, "resourceVersion": known.meta.resource_version}
        patch = {"metadata": {**version, "finalizers": rest or None}}
        options = request.WriteOptions(self._client.field_manager)
        asked = request.patch(ConfigMap, key, patch, options, content_type=MERGE_PATCH)
        return store.decoder.entry((await self._client.send(asked)).body)

    def forget(self, key: Key) -> None:
        """Stop telling what becomes of a shard."""
        self._owners.pop(key, None)

    @contextmanager
    def _asking_for(self, key: Key, owner: Key) -> Iterator[Store]:
        """Tell nothing of a shard until the answer is there, and from then on tell *owner*."""
        self._owners[key] = owner
        self._in_flight.add(key)
        try:
            yield self._store(key.namespace)
        finally:
            self._in_flight.discard(key)

    def _store(self, namespace: str) -> Store:
        place = self._place(namespace)
        share = self._shares.get(place)
        if share is None:
            share = self._cache.store(
                ConfigMap, namespace=place, labels=self._label, metadata_only=True, required=False
            )
            self._shares[place] = share
            share.listen(self._changed, own_writes=False)
        return share.store

    def _place(self, namespace: str) -> str:
        return namespace if namespace in self._namespaces else ""

    def _changed(self, old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or changed.key in self._in_flight:
            return
        if old and new and old.meta.resource_version == new.meta.resource_version:
            return
        owner = self._owners.get(changed.key)
        if owner is None and new is not None and new.meta.deleting:
            owner = _owner_of(new)  # which may be gone
        if owner is not None:
            self._touched(owner, changed.key.name)


def _owner_of(shard: Entry) -> Key | None:
    owner = shard.meta.controller
    if owner is None or owner.kind != ManagedResource.resource.kind:
        return None
    return Key(shard.key.namespace, owner.name)


@dataclass(frozen=True, slots=True)
class Placed:
    """What the status has to say about an inventory."""

    inline: Sequence[ObjectReference]
    """The objects that fit into it, and the shards that list the others."""
    obsolete: Sequence[ObjectReference]
    """Shards it named so far, or that an earlier process wrote and did not come to name: they are
    named until they are deleted, for else a crash would leave them."""

    @property
    def entries(self) -> Sequence[ObjectReference]:
        """What the status lists until then."""
        return [*self.inline, *self.obsolete]


async def read_inventory(pass_: Pass, shards: ShardStore) -> list[ObjectReference]:
    """Return the inventory, also the part of it that does not fit into the status.

    A shard that is lost is left out if an annotation asks for it: what only it listed stays.

    Raises:
        InventoryError: a shard is gone or cannot be understood: nothing may be deleted.
        ApiError, TransportError: a shard cannot be read now.
    """
    overflow: list[ObjectReference] = []
    known = pass_.state.shards
    for name in shards_in(pass_.resource.status.resources):
        if name not in known:
            try:
                found, untouched = await shards.read(Key(pass_.key.namespace, name), pass_.key)
            except ValueError as error:
                annotations = pass_.resource.metadata.annotations
                if annotations.get(keys.FORGET_INVENTORY) == name:
                    continue
                raise InventoryError(messages.inventory_lost(str(error), name)) from error
            pass_.state.note_shard(name, found, untouched=untouched)
        overflow += known[name]
    return recorded(pass_.resource, overflow)


async def place(
    pass_: Pass, shards: ShardStore, label: str, references: Sequence[ObjectReference]
) -> Placed:
    """Write what does not fit into the status; return what is to stand there.

    Shards that are no longer needed are deleted by `drop_shards`, after that.

    Raises:
        ShardUnwritten: a shard cannot be written.
        OutOfDate: this is an old state of the ManagedResource; look again.
    """
    parts, namespace, known = split(references), pass_.key.namespace, pass_.state.shards
    going = {name for name in known if shards.is_going(Key(namespace, name))}
    names = [
        shard_name(pass_.resource, entries, known=known, going=going) for entries in parts.overflow
    ]
    for name, entries in zip(names, parts.overflow, strict=True):
        if name not in pass_.state.shards:
            await _write(pass_, shards, label, name, entries)
    before = shards_in(pass_.resource.status.resources, obsolete=True)
    unnamed = {*before, *pass_.state.shards, *shards.of(pass_.resource)}.difference(names)
    return Placed(
        [*parts.inline, *(shard_entry(Key(namespace, name)) for name in names)],
        [shard_entry(Key(namespace, name), obsolete=True) for name in sorted(unnamed)],
    )


async def restore_shards(pass_: Pass, shards: ShardStore, label: str, *, replace: bool) -> None:
    """Write shards again that others deleted or changed; raises what `place` raises.

    One that is being deleted stays until it is released; it is *replaced* under another name, and
    `OutOfDate` is raised, because the status that this pass has read names the old one.
    """
    known, going = pass_.state.shards, False
    for name in sorted(pass_.state.touched & known.keys()):
        if shards.is_going(Key(pass_.key.namespace, name)):
            going = True
        else:
            await _write(pass_, shards, label, name, known[name])
    if going and replace:
        placed = await place(pass_, shards, label, await read_inventory(pass_, shards))
        await pass_.status.write(Update(resources=placed.entries))
        await drop_shards(pass_, shards, placed)
        raise OutOfDate("its inventory was moved just now")


async def release_shards(pass_: Pass, shards: ShardStore) -> None:
    """Let all shards go with their ManagedResource; raises what `ShardStore.release` raises."""
    named = shards_in(pass_.resource.status.resources, obsolete=True)
    for name in sorted({*named, *pass_.state.shards, *shards.of(pass_.resource)}):
        await shards.release(Key(pass_.key.namespace, name))


async def drop_shards(pass_: Pass, shards: ShardStore, placed: Placed) -> None:
    """Delete shards that are no longer needed, and then name them no more."""
    for shard in placed.obsolete:
        await shards.delete(Key(pass_.key.namespace, shard.name))
        pass_.state.drop_shard(shard.name)
    if placed.obsolete:
        await pass_.status.write(Update(resources=placed.inline))


async def _write(
    pass_: Pass, shards: ShardStore, label: str, name: str, entries: Sequence[ObjectReference]
) -> None:
    await pass_.confirm()
    obj = shard_manifest(pass_.resource, name, entries, label=label)
    try:
        untouched = await shards.write(obj, pass_.key)
    except Conflict:
        raise
    except (ApiError, TransportError) as error:
        key = Key(pass_.key.namespace, name)
        raise ShardUnwritten(messages.shard_unwritten(key, str(error))) from error
    pass_.state.note_shard(name, entries, untouched=untouched)


class ResourceInventory:
    """The `InventoryPort` of one pass, and what is written before its first object.

    Objects are entered together with the finalizer, in an annotation if the ManagedResource has
    no status yet, and in the status otherwise, together with conditions that promise nothing any
    more. What is struck off is left to the status that reports the pass, which costs one write
    for both.
    """

    def __init__(
        self, pass_: Pass, shards: ShardStore, label: str, *, facts: Facts, metadata: JsonObject
    ) -> None:
        self._pass = pass_
        self._shards = shards
        self._label = label
        self._facts = facts
        self._metadata = metadata
        self._beginning = asyncio.Lock()

    async def load(self) -> Sequence[ObjectRef]:
        """Return the objects that belonged to the ManagedResource before this pass."""
        return [ref_of(entry) for entry in self._facts.inventory]

    async def add(self, refs: Collection[ObjectRef]) -> None:
        """Put into the inventory what is about to be created, together with the finalizer."""
        del refs  # the entries have labels, too
        pass_, facts, metadata = self._pass, self._facts, self._metadata
        added = facts.changes.added
        if "finalizers" in metadata and added and not facts.inventory:
            intent = inventory.encode_intent(facts.plan.inventory, pass_.resource.metadata.uid)
            if intent is not None and not pass_.resource.status.secrets_data_checksum:
                annotations = {**metadata.get("annotations", {}), keys.INTENT: intent}
                metadata, added = {**metadata, "annotations": annotations}, ()
        if metadata:
            await pass_.ctx.patch(pass_.obj, {"metadata": metadata})
            pass_.state.confirmed = True
        if added:
            ahead = inventory.write_ahead(facts.changes)
            placed = await place(pass_, self._shards, self._label, ahead)
            await pass_.status.write(
                Update(conditions=messages.begun(pass_.status), resources=placed.entries)
            )

    async def begin(self) -> None:
        """Report that objects are about to change, unless that is known, and confirm the input.

        It is awaited before each write; all but the first find nothing to do.

        Raises:
            OutOfDate: this is an old state of the ManagedResource or its input; look again.
            StatusUnwritten: it could not be reported.
        """
        pass_ = self._pass
        async with self._beginning:
            if messages.promises(pass_.status) and self._is_changing():
                try:
                    await pass_.status.write(Update(conditions=messages.begun(pass_.status)))
                except Conflict as error:
                    raise OutOfDate(str(error)) from error
                except (ApiError, TransportError) as error:
                    raise StatusUnwritten(error) from error
        await pass_.confirm()

    def _is_changing(self) -> bool:
        """Return whether something else is declared than before, so that this is no repair."""
        facts = self._facts
        return not (facts.changes.same and facts.unchanged_input(self._pass.resource))

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Leave it to the status that reports the pass."""

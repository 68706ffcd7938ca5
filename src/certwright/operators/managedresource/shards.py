"""The inventory of a ManagedResource: in its status, and what does not fit in shards beside it.

Shards are ConfigMaps that are written before the status that names them, and never changed. They
are watched by their label and without their contents, from the time on that there is one. Which
state of each is right is known, for it is the one we wrote or read last; any other is the work
of others, and the shard is written again.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import InventoryReference, ObjectReference
from certwright.apply import InventoryError, ObjectRef
from certwright.client import Client, TransportError, request
from certwright.kube import ApiError, Conflict, Invalid, JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap
from certwright.managed.shards import read_shard, shard_manifest, shard_reference, split
from certwright.operators.managedresource import inventory, messages
from certwright.operators.managedresource.input import Facts
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.state import Pass
from certwright.operators.managedresource.status import APPLIED, Update
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
        """Delete a shard, in the state that is known of it; one that is gone is fine.

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
        place = namespace if namespace in self._namespaces else ""
        share = self._shares.get(place)
        if share is None:
            share = self._cache.store(
                ConfigMap, namespace=place, labels=self._label, metadata_only=True, required=False
            )
            self._shares[place] = share
            share.listen(self._changed, own_writes=False)
        return share.store

    def _changed(self, old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or changed.key in self._in_flight:
            return
        if old and new and old.meta.resource_version == new.meta.resource_version:
            return
        owner = self._owners.get(changed.key)
        if owner is not None:
            self._touched(owner, changed.key.name)


@dataclass(frozen=True, slots=True)
class Placed:
    """What the status has to say about an inventory."""

    inline: Sequence[ObjectReference]
    shards: Sequence[InventoryReference]
    obsolete: Sequence[InventoryReference]
    """Those it named so far: it does until they are deleted, for else a crash would leave them."""

    @property
    def references(self) -> Sequence[InventoryReference]:
        """What the status says until then."""
        return [*self.shards, *self.obsolete]


async def read_inventory(pass_: Pass, shards: ShardStore) -> list[ObjectReference]:
    """Return the inventory, also the part of it that does not fit into the status.

    A shard that is lost is left out if an annotation asks for it: what only it listed stays.

    Raises:
        InventoryError: a shard is gone or cannot be understood: nothing may be deleted.
        ApiError, TransportError: a shard cannot be read now.
    """
    overflow: list[ObjectReference] = []
    known = pass_.state.shards
    for reference in pass_.resource.status.inventory_refs:
        if reference.obsolete:
            continue
        if reference.name not in known:
            key = Key(pass_.key.namespace, reference.name)
            try:
                found, untouched = await shards.read(key, pass_.key)
            except ValueError as error:
                annotations = pass_.resource.metadata.annotations
                if annotations.get(keys.FORGET_INVENTORY) == reference.name:
                    continue
                raise InventoryError(messages.inventory_lost(str(error), reference.name)) from error
            pass_.state.note_shard(reference.name, found, untouched=untouched)
        overflow += known[reference.name]
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
    parts = split(references)
    named = [shard_reference(pass_.resource, entries) for entries in parts.overflow]
    for reference, entries in zip(named, parts.overflow, strict=True):
        if reference.name not in pass_.state.shards:
            await _write(pass_, shards, label, reference.name, entries)
    before = {reference.name for reference in pass_.resource.status.inventory_refs}
    unnamed = (before | pass_.state.shards.keys()) - {reference.name for reference in named}
    obsolete = [InventoryReference(name=name, obsolete=True) for name in sorted(unnamed)]
    return Placed(parts.inline, named, obsolete)


async def restore_shards(pass_: Pass, shards: ShardStore, label: str) -> None:
    """Write shards again that others deleted or changed; raises what `place` raises."""
    known = pass_.state.shards
    for name in sorted(pass_.state.touched & known.keys()):
        await _write(pass_, shards, label, name, known[name])


async def drop_shards(pass_: Pass, shards: ShardStore, placed: Placed) -> None:
    """Delete shards that are no longer needed, and then name them no more."""
    for reference in placed.obsolete:
        await shards.delete(Key(pass_.key.namespace, reference.name))
        pass_.state.drop_shard(reference.name)
    if placed.obsolete:
        await pass_.status.write(Update(shards=placed.shards))


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
    """The `InventoryPort` of one pass.

    Objects are entered together with the finalizer, in an annotation if the ManagedResource has
    no status yet, and in the status otherwise. What is struck off is left to the status that
    reports the pass, which costs one write for both.
    """

    def __init__(
        self, pass_: Pass, shards: ShardStore, label: str, *, facts: Facts, metadata: JsonObject
    ) -> None:
        self._pass = pass_
        self._shards = shards
        self._label = label
        self._facts = facts
        self._metadata = metadata

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
            reset = [
                messages.apply_progressing(pass_.status.condition(APPLIED)),
                *messages.checks_pending(),
            ]
            ahead = inventory.write_ahead(facts.changes)
            placed = await place(pass_, self._shards, self._label, ahead)
            await pass_.status.write(
                Update(
                    conditions=messages.with_summary(pass_.status, reset),
                    resources=placed.inline,
                    shards=placed.references,
                )
            )

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Leave it to the status that reports the pass."""

"""Where the inventory of an object set lives, and what every such place has to offer.

An inventory is written before the objects it lists are created, and an object is struck off
after it is gone: a crash at any point leaks nothing.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, Protocol

from certwright.apply.cluster import Cluster, Live
from certwright.apply.engine.declared import Owner
from certwright.apply.objectset.shards import SHARD_BYTES, fill
from certwright.apply.refs import ObjectRef
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key, NotFound
from certwright.kube.kinds import ConfigMap
from certwright.kube.names import dns_label_problems

LABEL: Final = "certwright.dev/inventory"
"""On each ConfigMap of an inventory: its name."""
OBJECTS: Final = "objects"
"""The key under which a ConfigMap lists objects, one per line."""
ATTEMPTS: Final = 5


class InventoryError(ValueError):
    """An inventory cannot be read: says which ConfigMap, and what is wrong with it."""


class InventoryPort(Protocol):
    """The place where the inventory of one object set lives.

    A place that is written together with other things (a status that reports the pass) may
    leave `discard` to that write; `add` must have written when it returns.
    """

    async def load(self) -> Sequence[ObjectRef]:
        """Return the objects that exist, or may exist.

        Raises:
            InventoryError: the list cannot be trusted, so nothing may be deleted or forgotten.
        """
        ...

    async def add(self, refs: Collection[ObjectRef]) -> None:
        """Enter objects that are about to be created."""
        ...

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Strike off objects that are gone, or not ours any more."""
        ...


@dataclass(frozen=True, slots=True)
class Shard:
    """One ConfigMap of an inventory; *live* is None until it is stored."""

    name: str
    refs: tuple[ObjectRef, ...]
    live: Live | None = None

    @property
    def text(self) -> str:
        """The objects as they are stored."""
        return "".join(f"{ref.id}\n" for ref in self.refs)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known to exist, or about to, under a name.

    An object never moves from one shard to another, so no order of writes can lose it.
    """

    name: str
    shards: tuple[Shard, ...] = ()

    @property
    def refs(self) -> list[ObjectRef]:
        """All objects, in the order they were entered."""
        return [ref for shard in self.shards for ref in shard.refs]

    def with_refs(
        self, refs: Iterable[ObjectRef], *, shard_bytes: int = SHARD_BYTES
    ) -> "Inventory":
        """Return the inventory with further objects; a known one stays in its place.

        An object that is known in another version of its group is entered in the new one.
        """
        fresh = {ref.identity: ref for ref in refs}
        known = [[fresh.pop(ref.identity, ref) for ref in shard.refs] for shard in self.shards]
        filled = fill(known, fresh.values(), _size, shard_bytes=shard_bytes)
        kept = [_with(shard, kept) for shard, kept in zip(self.shards, filled, strict=False)]
        taken = {shard.name for shard in self.shards}
        names = (_shard_name(self.name, number) for number in count(1))
        free = (name for name in names if name not in taken)
        added = [Shard(next(free), tuple(refs)) for refs in filled[len(kept) :]]
        return Inventory(self.name, (*kept, *added))

    def without(self, refs: Collection[ObjectRef]) -> "Inventory":
        """Return the inventory without objects that are gone."""
        gone = {ref.identity for ref in refs}
        shards = (
            _with(shard, [ref for ref in shard.refs if ref.identity not in gone])
            for shard in self.shards
        )
        return Inventory(self.name, tuple(shards))


class ConfigMapInventory:
    """An inventory under a name, in ConfigMaps of a namespace: an `InventoryPort`."""

    def __init__(
        self, cluster: Cluster, namespace: str, name: str, *, shard_bytes: int = SHARD_BYTES
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.owner = Owner(LABEL, f"{namespace}/{name}")
        """Whose the listed objects are, as an annotation on each of them says."""
        self._cluster = cluster
        self._shard_bytes = shard_bytes
        self._known: Inventory | None = None

    async def load(self) -> Sequence[ObjectRef]:
        """Return what the inventory lists, if it exists; `InventoryError` if it is damaged."""
        return (await self._load()).refs

    async def add(self, refs: Collection[ObjectRef]) -> None:
        """Enter objects that are about to be created; no call if all are known."""
        await self._store(lambda now: now.with_refs(refs, shard_bytes=self._shard_bytes))

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        """Strike off objects that are gone; ConfigMaps that are empty then go, too."""
        await self._store(lambda now: now.without(refs))

    async def _load(self) -> Inventory:
        if problems := dns_label_problems(self.name):
            raise ValueError(f"inventory {self.name!r}: {'; '.join(problems)}")
        found = await self._cluster.list(ConfigMap, self.namespace, labels=f"{LABEL}={self.name}")
        shards = sorted((shard_of(live) for live in found), key=lambda shard: shard.name)
        self._known = Inventory(self.name, tuple(shards))
        return self._known

    async def _store(self, change: Callable[[Inventory], Inventory]) -> None:
        """Write what a change makes different; start over when another process was faster."""
        inventory = self._known or await self._load()
        for attempt in range(ATTEMPTS):
            try:
                self._known = await self._write(inventory, change(inventory))
                return
            except (Conflict, AlreadyExists):
                if attempt == ATTEMPTS - 1:
                    raise
                inventory = await self._load()

    async def _write(self, old: Inventory, new: Inventory) -> Inventory:
        before = {shard.name: shard for shard in old.shards}
        shards = []
        for shard in new.shards:
            if shard is before.get(shard.name):
                shards.append(shard)
            elif (stored := await self._write_shard(shard)) is not None:
                shards.append(stored)
        return Inventory(new.name, tuple(shards))

    async def _write_shard(self, shard: Shard) -> Shard | None:
        live, key = shard.live, Key(self.namespace, shard.name)
        if live is None:
            stored = await self._cluster.create(ConfigMap, self._config_map(shard))
        elif shard.refs:
            version = {"uid": live.uid, "resourceVersion": live.resource_version}
            patch: JsonObject = {"metadata": version, "data": {OBJECTS: shard.text}}
            try:
                stored = await self._cluster.patch(ConfigMap, key, patch)
            except NotFound as error:  # it went with its namespace, or another process
                raise Conflict(f"ConfigMap {key} is gone") from error
        else:
            await self._cluster.delete(ConfigMap, live)
            return None
        return replace(shard, live=stored)

    def _config_map(self, shard: Shard) -> JsonObject:
        labels = {LABEL: self.name}
        metadata = {"namespace": self.namespace, "name": shard.name, "labels": labels}
        head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return {**head, "data": {OBJECTS: shard.text}}


def _with(shard: Shard, refs: Sequence[ObjectRef]) -> Shard:
    """Return a shard with these objects; the very same one if it lists them already."""
    return shard if shard.refs == tuple(refs) else replace(shard, refs=tuple(refs))


def _size(ref: ObjectRef) -> int:
    return len(ref.id.encode()) + 1


def _shard_name(name: str, number: int) -> str:
    """Name a ConfigMap; the dot keeps the second of ``a`` apart from an inventory ``a-2``."""
    return f"certwright-inventory-{name}" + (f".{number}" if number > 1 else "")


def shard_of(live: Live) -> Shard:
    """Read a ConfigMap of an inventory; `InventoryError` if it is damaged."""
    name = str(live.metadata["name"])
    data = live.obj.get("data") or {}
    if OBJECTS not in data:
        raise InventoryError(f"ConfigMap {name} is labelled {LABEL} and lists no {OBJECTS}")
    try:
        refs = tuple(ObjectRef.parse(line) for line in data[OBJECTS].splitlines() if line)
    except ValueError as error:
        raise InventoryError(f"ConfigMap {name}: {error}") from error
    return Shard(name, refs, live)

"""What would become of a kept set: the same engine with dry runs, from anywhere.

For command lines: what an operator reads from its stores is asked for here.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from certwright.apply import ChangeSet, Declared, Direct, Engine, ObjectRef, ObjectSet
from certwright.apply.engine.engine import OnEntry
from certwright.client import Client
from certwright.keep.marks import Marks
from certwright.kube import JsonObject, Key, NotFound


class ListedInventory:
    """An `InventoryPort` that lists what was read, and that nothing is written to."""

    def __init__(self, refs: Sequence[ObjectRef]) -> None:
        self._refs = refs

    async def load(self) -> Sequence[ObjectRef]:
        """Return what is listed."""
        return self._refs

    async def add(self, _refs: Collection[ObjectRef]) -> None:
        """Refuse: a preview writes nothing."""
        raise AssertionError("a preview writes nothing")

    discard = add


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object as the server has it."""

    value: JsonObject

    def obj(self) -> JsonObject:
        """Return the object."""
        return self.value


class KeptPreview:
    """The kept set of the custom resource at *key*, whose inventory lists *refs*."""

    def __init__(self, client: Client, marks: Marks, key: Key, refs: Sequence[ObjectRef]) -> None:
        self.annotation, self.field_manager = marks.annotation, marks.name
        self._client = client
        self._marks = marks
        engine = Engine(Direct(client, field_manager=marks.name), replaces=True)
        self._set = ObjectSet(engine, ListedInventory(refs), marks.owner(key))

    async def entry(self, ref: ObjectRef) -> ReadObject | None:
        """Return one of our objects; None if there is none."""
        try:
            resource = await self._client.discovery.resource_for(ref.gvk)
            found = await self._client.get(resource, ref.key)
        except NotFound:
            return None
        return ReadObject(found) if self._marks.has(found) else None

    async def apply(
        self, objects: Iterable[Declared], on_entry: OnEntry | None = None
    ) -> ChangeSet:
        """Return what applying objects would change."""
        declared = [self._marks.declared(one) for one in objects]
        return (await self._set.apply(declared, dry_run=True, on_entry=on_entry)).applied

    async def delete(
        self, refs: Collection[ObjectRef], on_entry: OnEntry | None = None
    ) -> ChangeSet:
        """Return what deleting some objects of the set would do."""
        return await self._set.delete(only=refs, dry_run=True, on_entry=on_entry)

"""Edits, additions and deletions of managed objects, and how long each lasts."""

import asyncio
import statistics
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from bench.managedworkload import KINDS
from certwright.client import Client
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap, Secret, ServiceAccount
from certwright.runtime import Cache, Entry
from certwright.runtime.cache.store import Listener

IN_FLIGHT = 20
EDIT: JsonObject = {"data": {"settings.yaml": "disturbed: true"}}
ADDITION: JsonObject = {"data": {"disturbed": "bW9yZQ=="}}
DISTURBANCES: dict[Resource, list[JsonObject | None]] = {
    ConfigMap: [EDIT, ADDITION, None],
    Secret: [ADDITION, None],
    ServiceAccount: [None],
}
"""What is done to an object of a kind: a merge patch, or a deletion (None)."""


@dataclass
class Repairs:
    """How many seconds each repair took, from the answer to the disturbance."""

    seconds: list[float] = field(default_factory=list)

    def percentile(self, number: int) -> float:
        """Return how long that many of a hundred took at most."""
        return statistics.quantiles(self.seconds, n=100)[number - 1]


class ObjectPlace(NamedTuple):
    """Which object it is."""

    resource: Resource
    key: Key


class ObjectWatcher:
    """Knows the latest state of every object, and wakes who waits for a change."""

    def __init__(self) -> None:
        self.entries: dict[ObjectPlace, Entry | None] = {}
        self.gone: dict[ObjectPlace, float] = {}
        """When an object was last seen to go."""
        self._waiting: dict[ObjectPlace, asyncio.Event] = {}

    def listener(self, resource: Resource) -> Listener:
        """Return what a store of a kind is to tell of changes."""

        def on_change(old: Entry | None, new: Entry | None) -> None:
            entry = new or old
            assert entry is not None
            place = ObjectPlace(resource, entry.key)
            self.entries[place] = new
            if new is None:
                self.gone[place] = asyncio.get_running_loop().time()
            if event := self._waiting.get(place):
                event.set()

        return on_change

    async def goes(self, place: ObjectPlace, since: float) -> None:
        """Return when the object has been seen to go after a moment."""
        event = self._waiting[place] = asyncio.Event()
        while self.gone.get(place, float("-inf")) < since:
            event.clear()
            await event.wait()
        del self._waiting[place]

    async def differs(self, place: ObjectPlace, version: str) -> None:
        """Return when the object is there with an undisturbed state newer than *version*."""
        event = self._waiting[place] = asyncio.Event()
        while True:
            entry = self.entries.get(place)
            if entry is not None and _is_repaired(entry, int(version)):
                break
            event.clear()
            await event.wait()
        del self._waiting[place]


def _is_repaired(entry: Entry, version: int) -> bool:
    return int(entry.meta.resource_version) > version and b"disturbed" not in entry.raw


async def disturb(
    client: Client, namespace: str, names: list[str], count: int, rng: Random
) -> Repairs:
    """Edit, add to or delete that many objects, some at a time, and see each repaired."""
    repairs, watcher, cache = Repairs(), ObjectWatcher(), Cache(client)
    chosen = rng.sample([(kind, name) for kind in KINDS for name in names], count)
    rest = iter(chosen)

    async def worker() -> None:
        clock = asyncio.get_running_loop().time
        for kind, name in rest:
            place = ObjectPlace(kind, Key(namespace, name))
            version = await _disturb(client, place, rng.choice(DISTURBANCES[kind]))
            began = clock()
            await watcher.differs(place, version)
            repairs.seconds.append(clock() - began)

    async with asyncio.TaskGroup() as group:
        for kind in KINDS:
            cache.store(kind, namespace=namespace).listen(watcher.listener(kind))
        watching = group.create_task(cache.run())
        await cache.wait_synced()
        async with asyncio.TaskGroup() as workers:
            for _ in range(IN_FLIGHT):
                workers.create_task(worker())
        watching.cancel()
    return repairs


async def _disturb(client: Client, place: ObjectPlace, change: JsonObject | None) -> str:
    """Change or delete an object; return the version that is no longer right."""
    if change is not None:
        obj = await client.patch(place.resource, place.key, change)
        return str(obj["metadata"]["resourceVersion"])
    obj = await client.get(place.resource, place.key)
    await client.delete(place.resource, place.key)
    return str(obj["metadata"]["resourceVersion"])

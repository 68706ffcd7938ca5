"""The target as the engine sees it: read from stores, written to, and noted there at once.

The stores hold what carries our label and nothing else, so an object that is not in them may
exist all the same; the engine knows and asks for a fresh read where that matters.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Final

import orjson

from certwright.apply import Direct, Live, ObjectRef
from certwright.client import request
from certwright.keep.stores import TargetStores
from certwright.kube import (
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Resource,
    ServiceUnavailable,
)
from certwright.kube.kinds import CustomResourceDefinition
from certwright.runtime import Entry

SERVED_SECONDS: Final = 0.1
"""How often a server is asked whether it serves a kind that was just established."""


class CachedLive(Live):
    """An object of a store, decoded as far as somebody looks."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @cached_property
    def obj(self) -> JsonObject:  # type: ignore[override]
        """Everything but managedFields."""
        return self._entry.obj()

    @cached_property
    def managed(self) -> Sequence[JsonObject]:  # type: ignore[override]
        """The entries of managedFields that the store keeps."""
        return self._entry.managed_fields

    @property
    def resource_version(self) -> str:
        """What tells this state of the object from others."""
        return self._entry.meta.resource_version

    @property
    def deleting(self) -> bool:
        """Whether the object is about to go."""
        return self._entry.meta.deleting


class WatchedCluster(Direct):
    """An `apply.Cluster` over the stores of the target; what they cannot know it asks for."""

    sees_all = False

    def __init__(self, stores: TargetStores, field_manager: str) -> None:
        super().__init__(stores.client, field_manager=field_manager)
        self._stores = stores

    async def read(self, resource: Resource, key: Key, *, fresh: bool = False) -> Live | None:
        """Return an object from its store, or as the server has it right now."""
        store = await self._stores.open(resource, key.namespace)
        entry = store.get(key)
        if not fresh:
            return None if entry is None else CachedLive(entry)
        try:
            answer = await self._client.send(request.get(resource, key))
        except NotFound:
            if entry is not None:
                self._stores.note_delete(resource, key, entry.uid)
            return None
        self._note_write(resource, answer.body)
        return Live.of(orjson.loads(answer.body))

    async def until(
        self, resource: Resource, key: Key, ready: Callable[[Live], bool], seconds: float
    ) -> Live | None:
        """Wait for the events that make an object ready."""
        store = await self._stores.open(resource, key.namespace)
        changed = asyncio.Event()
        stop = store.listen(lambda *_: changed.set())
        found: Live | None = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    changed.clear()
                    entry = store.get(key)
                    found = None if entry is None else CachedLive(entry)
                    if found is not None and ready(found):
                        break
                    await changed.wait()
                if resource == CustomResourceDefinition:
                    await self._served(found.obj["spec"])
        except TimeoutError:
            pass
        finally:
            stop()
        return found

    async def _served(self, definition: JsonObject) -> None:
        """Return when what a definition defines can be used: discovery takes a moment longer."""
        kinds = [
            GroupVersionKind(definition["group"], version["name"], definition["names"]["kind"])
            for version in definition["versions"]
            if version.get("served", True)
        ]
        for gvk in kinds:
            while self._client.discovery.known(gvk) is None:
                self._client.discovery.invalidate()
                with suppress(NotFound, ServiceUnavailable):
                    await self._client.discovery.resource_for(gvk)
                    break
                await asyncio.sleep(SERVED_SECONDS)

    async def _find(self, gvk: GroupVersionKind) -> Resource:
        """Return how a kind is served, and see to it that its objects are watched."""
        return await self._stores.resource(gvk)

    def _note_write(self, resource: Resource, raw: bytes) -> None:
        self._stores.note_write(resource, raw)

    def _note_deletion(self, resource: Resource, live: Live) -> None:
        self._stores.note_delete(resource, ObjectRef.of(live.obj).key, live.uid)

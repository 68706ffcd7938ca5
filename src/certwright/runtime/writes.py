"""The writes of one controller: signed by its field manager, noted in the cache.

Every answer goes straight into the stores, so the next read sees what was just written,
however late the watch is.
"""

import orjson

from certwright.client import Client, Propagation, Request, request
from certwright.client.request import DeleteOptions, WriteOptions
from certwright.kube import MERGE_PATCH, JsonObject, Key, NotFound, Resource
from certwright.runtime.cache import Cache


class Writes:
    """Sends writes and notes what the API server made of them."""

    def __init__(self, client: Client, cache: Cache, field_manager: str) -> None:
        self.field_manager = field_manager
        self._client = client
        self._cache = cache
        self._options = WriteOptions(field_manager)

    async def apply(self, resource: Resource, desired: JsonObject) -> JsonObject:
        """Server-side apply, forced; return the object as stored."""
        return await self._send(resource, request.apply(resource, desired, self._options))

    async def patch(
        self, resource: Resource, key: Key, patch: JsonObject, subresource: str = ""
    ) -> JsonObject:
        """Merge a patch into an object; return the object as stored."""
        asked = request.patch(
            resource, key, patch, self._options, content_type=MERGE_PATCH, subresource=subresource
        )
        return await self._send(resource, asked)

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str,
        resource_version: str,
        propagation: Propagation | None = None,
    ) -> None:
        """Delete exactly the object that was read; one that is gone already is fine."""
        options = DeleteOptions(uid, resource_version, propagation)
        try:
            answer = await self._client.send(request.delete(resource, key, options))
        except NotFound:
            self._cache.note_delete(resource, key, uid)
            return
        if orjson.loads(answer.body).get("kind") == resource.kind:
            self._cache.note_write(resource, answer.body)  # finalizers or grace hold it
        else:
            self._cache.note_delete(resource, key, uid)

    async def _send(self, resource: Resource, asked: Request) -> JsonObject:
        raw = (await self._client.send(asked)).body
        self._cache.note_write(resource, raw)
        stored: JsonObject = orjson.loads(raw)
        return stored

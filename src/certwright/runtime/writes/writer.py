"""The writes of one controller: signed by its field manager, noted in the cache.

Every answer goes straight into the stores, so the next read sees what was just written,
however late the watch is.

A write with a precondition that the server refused would be refused again until the cache
has caught up. Until then, or for a few seconds, it is refused here: a watch that lags costs
no calls. The event that ends the lag wakes the key, so nobody waits longer than necessary. If
it has not come by then, it was lost, and the object is read once to put the cache right.
"""

from typing import NamedTuple

import orjson

from certwright.client import Client, Propagation, Request, Response, request
from certwright.client.request import DeleteOptions, WriteOptions
from certwright.clock import Clock
from certwright.kube import MERGE_PATCH, Conflict, JsonObject, Key, NotFound, Resource, key_of
from certwright.runtime.cache.cache import Cache

STALE_SECONDS = 5.0
"""How long a refused precondition is believed to be still wrong; then the server is asked."""
MAX_REFUSED = 1024


class _Version(NamedTuple):
    """The state of an object that a write was decided on."""

    resource: Resource
    key: Key
    uid: str
    number: str


class Writes:
    """Sends writes and notes what the API server made of them."""

    def __init__(self, client: Client, cache: Cache, clock: Clock, field_manager: str) -> None:
        self.field_manager = field_manager
        self._client = client
        self.cache = cache
        self._clock = clock
        self._options = WriteOptions(field_manager)
        self._refused: dict[_Version, float] = {}  # until when

    async def apply(self, resource: Resource, desired: JsonObject, writer: int) -> JsonObject:
        """Server-side apply, forced; return the object as stored."""
        asked = request.apply(resource, desired, self._options)
        return self._note(resource, await self._client.send(asked), writer)

    async def apply_status(
        self, resource: Resource, desired: JsonObject, writer: int
    ) -> JsonObject:
        """Apply our part of the status of exactly the object its metadata names, forced.

        Raises:
            Conflict: the object has another uid, or another version if the metadata names one.
        """
        asked = request.apply(resource, desired, self._options, subresource="status")
        metadata = desired["metadata"]
        number = metadata.get("resourceVersion", "")
        version = _Version(resource, key_of(desired), metadata["uid"], number)
        return self._note(resource, await self._send(version, asked), writer)

    async def patch(
        self, resource: Resource, key: Key, patch: JsonObject, subresource: str, writer: int
    ) -> JsonObject:
        """Merge a patch into exactly the version of an object its metadata names.

        Raises:
            Conflict: the object has another version by now.
        """
        asked = request.patch(
            resource, key, patch, self._options, content_type=MERGE_PATCH, subresource=subresource
        )
        metadata = patch["metadata"]
        version = _Version(resource, key, metadata["uid"], metadata["resourceVersion"])
        return self._note(resource, await self._send(version, asked), writer)

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str,
        resource_version: str,
        propagation: Propagation | None = None,
    ) -> None:
        """Delete exactly the object that was read; one that is gone already is fine.

        Raises:
            Conflict: the object has another version by now.
        """
        options = DeleteOptions(uid, resource_version, propagation)
        asked = request.delete(resource, key, options)
        try:
            answer = await self._send(_Version(resource, key, uid, resource_version), asked)
        except NotFound:
            return
        left = orjson.loads(answer.body)
        if left.get("kind") == resource.kind and left["metadata"].get("deletionTimestamp"):
            self.cache.note_write(resource, answer.body)  # finalizers or grace hold it
        else:
            self.cache.note_delete(resource, key, uid)

    async def _send(self, version: _Version, asked: Request) -> Response:
        """Send a write that is meant for one version of an object."""
        now = self._clock.monotonic()
        refused_until = self._refused.get(version)
        if refused_until is not None and refused_until > now:
            kind, key = version.resource.kind, version.key
            raise Conflict(f"{kind} {key} changed; the change has not arrived here yet")
        try:
            return await self._client.send(asked)
        except NotFound:
            self.cache.note_delete(version.resource, version.key, version.uid, own=False)
            raise
        except Conflict:
            self._refused = {v: until for v, until in self._refused.items() if until > now}
            if len(self._refused) < MAX_REFUSED:
                self._refused[version] = now + STALE_SECONDS
            if refused_until is not None:
                await self._read(version)
            raise

    async def _read(self, version: _Version) -> None:
        """Put the cache right about an object whose change it never heard of."""
        try:
            answer = await self._client.send(request.get(version.resource, version.key))
        except NotFound:
            self.cache.note_delete(version.resource, version.key, version.uid, own=False)
        else:
            self.cache.note_write(version.resource, answer.body, writer=0)

    def _note(self, resource: Resource, answer: Response, writer: int) -> JsonObject:
        stored: JsonObject = orjson.loads(answer.body)
        if _was_the_last(resource, stored["metadata"]):
            self.cache.note_delete(resource, key_of(stored), stored["metadata"]["uid"])
        else:
            self.cache.note_write(resource, answer.body, writer)
        return stored


def _was_the_last(resource: Resource, metadata: JsonObject) -> bool:
    """Say whether a write took away the last finalizer: the object it returned is gone.

    It has the version it had before, so a store would go on showing it with its finalizer.
    """
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in metadata and not held and resource.kind != "Namespace"

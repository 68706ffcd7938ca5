"""The writing half of the client: create, apply, update, patch, delete.

Typed objects are views that drop fields they do not know, so they can be created and applied
but never sent as replacements: `Writer.update` takes dicts only.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, overload

from certwright.client import request as requests
from certwright.client import responses
from certwright.client.discovery import Discovery
from certwright.client.request import DeleteOptions, Propagation, Selection, WriteOptions
from certwright.client.responses import Decoders
from certwright.client.sender import Sender
from certwright.client.transport import Request
from certwright.kube import (
    MERGE_PATCH,
    GroupVersionKind,
    JsonObject,
    Key,
    Object,
    Resource,
    resource_of,
)

T = TypeVar("T", bound=Object)
Patch: TypeAlias = JsonObject | Sequence[JsonObject]


class WriteKeywords(TypedDict, total=False):
    """What every write accepts by keyword."""

    dry_run: bool
    """Let the server do everything but store the result."""
    field_manager: str | None
    """Who signs the fields; None stands for the client's own name."""
    validation: requests.Validation
    """What to do about fields the server does not know; refuse them by default."""


class ApplyKeywords(WriteKeywords, total=False):
    """What an apply accepts by keyword."""

    force: bool
    """Take over fields that other managers own, as is the default. Otherwise one that has
    another value is a `Conflict`, whose causes name the field and the manager."""
    subresource: str


class PatchKeywords(WriteKeywords, total=False):
    """What a patch accepts by keyword."""

    type: str
    """The media type; `MERGE_PATCH` by default."""
    subresource: str


class DeleteKeywords(TypedDict, total=False):
    """What every deletion accepts by keyword."""

    propagation: Propagation | None
    """What happens to dependents; the kind's own default if None."""
    grace_seconds: int | None
    dry_run: bool


class Writer:
    """Writes objects to one API server, signed by a field manager."""

    def __init__(
        self, sender: Sender, decoders: Decoders, discovery: Discovery, field_manager: str
    ) -> None:
        self._sender = sender
        self._decoders = decoders
        self.discovery = discovery
        self.field_manager = field_manager

    @overload
    async def create(self, obj: T, **keywords: Unpack[WriteKeywords]) -> T: ...
    @overload
    async def create(self, obj: JsonObject, **keywords: Unpack[WriteKeywords]) -> JsonObject: ...
    async def create(
        self, obj: T | JsonObject, **keywords: Unpack[WriteKeywords]
    ) -> T | JsonObject:
        """Create an object and return it as stored; `AlreadyExists` if the name is taken."""
        kind = await self._kind(obj)
        request = requests.create(resource_of(kind), obj, self._options(keywords))
        return await self._write(kind, request)

    @overload
    async def apply(self, obj: T, **keywords: Unpack[ApplyKeywords]) -> T: ...
    @overload
    async def apply(self, obj: JsonObject, **keywords: Unpack[ApplyKeywords]) -> JsonObject: ...
    async def apply(self, obj: T | JsonObject, **keywords: Unpack[ApplyKeywords]) -> T | JsonObject:
        """Apply on the server: make our fields as given, create the object if need be."""
        kind = await self._kind(obj)
        request = requests.apply(
            resource_of(kind),
            obj,
            self._options(keywords),
            force=keywords.get("force", True),
            subresource=keywords.get("subresource", ""),
        )
        return await self._write(kind, request)

    async def update(
        self, obj: JsonObject, *, subresource: str = "", **keywords: Unpack[WriteKeywords]
    ) -> JsonObject:
        """Replace an object; `Conflict` if it changed since its resourceVersion was read."""
        resource = await self._resource(obj)
        request = requests.update(resource, obj, self._options(keywords), subresource)
        return await self._write(resource, request)

    @overload
    async def patch(
        self, kind: type[T], key: Key, patch: Patch, **keywords: Unpack[PatchKeywords]
    ) -> T: ...
    @overload
    async def patch(
        self, kind: Resource, key: Key, patch: Patch, **keywords: Unpack[PatchKeywords]
    ) -> JsonObject: ...
    async def patch(
        self, kind: type[T] | Resource, key: Key, patch: Patch, **keywords: Unpack[PatchKeywords]
    ) -> Any:
        """Change an object by a patch, a merge patch by default."""
        request = requests.patch(
            resource_of(kind),
            key,
            patch,
            self._options(keywords),
            content_type=keywords.get("type", MERGE_PATCH),
            subresource=keywords.get("subresource", ""),
        )
        return await self._write(kind, request)

    async def create_subresource(
        self,
        kind: type[Object] | Resource,
        key: Key,
        subresource: str,
        body: JsonObject,
        **keywords: Unpack[WriteKeywords],
    ) -> JsonObject:
        """Post to a subresource: a token request, an eviction, a binding."""
        resource = resource_of(kind)
        options = self._options(keywords)
        request = requests.create_subresource(resource, key, subresource, body, options)
        return responses.to_dict(request, (await self._sender.send(request)).body)

    async def delete(
        self,
        kind: type[Object] | Resource,
        key: Key,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        **keywords: Unpack[DeleteKeywords],
    ) -> JsonObject:
        """Delete an object, if it still has this uid and resourceVersion.

        Returns the object when it lingers (finalizers, grace), else the server's ``Status``.
        `NotFound` if it is gone already, `Conflict` if a precondition fails.
        """
        options = DeleteOptions(uid, resource_version, **keywords)
        request = requests.delete(resource_of(kind), key, options)
        return responses.to_dict(request, (await self._sender.send(request)).body)

    async def delete_collection(
        self,
        kind: type[Object] | Resource,
        selection: Selection,
        **keywords: Unpack[DeleteKeywords],
    ) -> None:
        """Delete every object of a kind that the selection matches."""
        request = requests.delete_collection(
            resource_of(kind), selection, DeleteOptions(**keywords)
        )
        await self._sender.send(request)

    async def _write(self, kind: type[T] | Resource, request: Request) -> T | JsonObject:
        return self._decoders.read(kind, request, (await self._sender.send(request)).body)

    async def _kind(self, obj: T | JsonObject) -> type[T] | Resource:
        return type(obj) if isinstance(obj, Object) else await self._resource(obj)

    async def _resource(self, obj: JsonObject) -> Resource:
        gvk = GroupVersionKind.parse(obj.get("apiVersion") or "", obj.get("kind") or "")
        return self.discovery.known(gvk) or await self.discovery.resource_for(gvk)

    def _options(self, keywords: WriteKeywords) -> WriteOptions:
        return WriteOptions(
            keywords.get("field_manager") or self.field_manager,
            keywords.get("dry_run", False),
            keywords.get("validation", requests.Validation.STRICT),
        )

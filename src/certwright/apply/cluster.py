"""What the engine needs of a cluster, and the plainest way to give it: asking the server.

A program that watches its objects gives the engine a `Cluster` that reads from its caches
instead; the engine then makes no read at all, unless a write shows that the cache is behind.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any, Final, Protocol

import orjson

from certwright.apply.changeset import LastWriter
from certwright.apply.follow import follow
from certwright.apply.kinds import UnknownKind, defined_kind, is_of_kind, other_version
from certwright.apply.refs import ObjectRef
from certwright.client import Client, Propagation, Request, Selection, request, responses
from certwright.client.request import Validation, WriteOptions
from certwright.kube import (
    MERGE_PATCH,
    Forbidden,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Resource,
    parse_time,
)
from certwright.kube.comparison import own_fields
from certwright.kube.kinds import BUILT_IN, Namespace
from certwright.kube.ownership import FieldSet

POLL_SECONDS: Final = (0.05, 0.1, 0.2, 0.4)
"""How long to wait between two looks at an object that is about to change; the last repeats."""
_UNKNOWN_FIELD: Final = re.compile(r'unknown field "(.+)"')


class Live:
    """An object as it is in the cluster.

    *obj* holds everything but managedFields. *managed* are the entries of managedFields that
    are known: all after asking the server (then it is *whole*); a cache may keep less.
    """

    whole: bool = True
    dropped: tuple[str, ...] = ()
    """Fields of what was written that the server does not know and dropped."""

    def __init__(self, obj: JsonObject, managed: Sequence[JsonObject] = ()) -> None:
        self.obj = obj
        self.managed = managed

    @classmethod
    def of(cls, obj: JsonObject) -> "Live":
        """Return what the server answered, taken apart."""
        metadata = dict(obj["metadata"])
        managed = metadata.pop("managedFields", None) or ()
        return cls({**obj, "metadata": metadata}, managed)

    @cached_property
    def metadata(self) -> JsonObject:
        """The metadata, without managedFields."""
        metadata: JsonObject = self.obj["metadata"]
        return metadata

    @property
    def uid(self) -> str:
        """What tells this object from an earlier or later one of the same name."""
        return str(self.metadata.get("uid") or "")

    @property
    def resource_version(self) -> str:
        """What tells this state of the object from others."""
        return str(self.metadata.get("resourceVersion") or "")

    @property
    def labels(self) -> dict[str, str]:
        """The labels."""
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations."""
        return self.metadata.get("annotations") or {}

    @property
    def finalizers(self) -> list[str]:
        """Who has to agree before the object goes; for Namespaces also those of its content."""
        of_content: Any = (
            (self.obj.get("spec") or {}).get("finalizers") if self._is_namespace else None
        )
        return [*(self.metadata.get("finalizers") or ()), *(of_content or ())]

    @property
    def deleted_at(self) -> datetime | None:
        """When deletion was asked for; None while the object may stay."""
        text = self.metadata.get("deletionTimestamp")
        return parse_time(text) if text else None

    @property
    def deleting(self) -> bool:
        """Whether the object is about to go and must not be changed any more."""
        return bool(self.metadata.get("deletionTimestamp"))

    def own(self, manager: str) -> FieldSet | None:
        """Return what a field manager owns by apply; None if nothing."""
        return own_fields(self.managed, manager)

    def writers(self) -> list[LastWriter]:
        """Return who wrote to the object, as far as that is known, status aside."""
        return [
            LastWriter(*(str(entry.get(name) or "") for name in ("manager", "operation", "time")))
            for entry in self.managed
            if not entry.get("subresource")
        ]

    @property
    def _is_namespace(self) -> bool:
        return self.obj.get("kind") == "Namespace" and self.obj.get("apiVersion") == "v1"

    def __repr__(self) -> str:
        return f"<Live {ObjectRef.of(self.obj)} {self.resource_version}>"


class Cluster(Protocol):
    """Where objects are applied. Every method may raise `ApiError` and `TransportError`."""

    @property
    def field_manager(self) -> str:
        """Who signs what is written."""
        ...

    @property
    def sees_all(self) -> bool:
        """Whether `read` knows every object; a cache of some of them does not."""
        ...

    async def resource(self, gvk: GroupVersionKind, *, any_version: bool = False) -> Resource:
        """Return how a kind is served, in *any_version* if not in that one; else `UnknownKind`."""
        ...

    async def existing_kind(self, gvk: GroupVersionKind) -> Resource | None:
        """Return how a kind is served, or will be in a moment; None if there certainly is none."""
        ...

    async def read(self, resource: Resource, key: Key, *, fresh: bool = False) -> Live | None:
        """Return an object, from a cache perhaps; *fresh* asks the server. None if there is none.

        A fresh answer knows all entries of managedFields. Raises `UnknownKind` if the server does
        not serve the kind right now, so that it is open whether there is such an object.
        """
        ...

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Sequence[Live]:
        """Return the objects of a kind that match selectors, as the server has them."""
        ...

    async def apply(
        self, resource: Resource, obj: JsonObject, *, force: bool = True, dry_run: bool = False
    ) -> Live:
        """Server-side apply; a resourceVersion in *obj* is a precondition.

        Without *force*, a field that another manager owns with another value is a `Conflict`:
        so an object is created without taking over one that was not known.
        """
        ...

    async def create(self, resource: Resource, obj: JsonObject, *, dry_run: bool = False) -> Live:
        """Create an object; `AlreadyExists` if the name is taken."""
        ...

    async def update(self, resource: Resource, obj: JsonObject, *, dry_run: bool = False) -> Live:
        """Replace an object; uid and resourceVersion in its metadata are preconditions."""
        ...

    async def patch(
        self, resource: Resource, key: Key, patch: JsonObject, *, dry_run: bool = False
    ) -> Live:
        """Merge a patch; a uid and resourceVersion in its metadata are preconditions."""
        ...

    async def delete(
        self,
        resource: Resource,
        live: Live,
        *,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> Live | None:
        """Delete exactly this state; return what is left for now. `Conflict` if it changed."""
        ...

    async def finalize(self, resource: Resource, live: Live) -> Live | None:
        """Clear the finalizers of exactly this state of an object; return what is left of it."""
        ...

    async def until(
        self, resource: Resource, key: Key, ready: Callable[[Live], bool], seconds: float
    ) -> Live | None:
        """Wait until an object is ready, for so long at most; return it as it is by then."""
        ...


class Direct:
    """A cluster that is asked about everything: for command lines, scripts and tests."""

    sees_all = True
    validation = Validation.STRICT
    """What the server does about fields it does not know."""

    def __init__(self, client: Client, *, field_manager: str = "") -> None:
        self.field_manager = field_manager or client.field_manager
        self._client = client

    async def resource(self, gvk: GroupVersionKind, *, any_version: bool = False) -> Resource:
        """Return how a kind is served; unknown kinds are asked for again now and then."""
        try:
            return await self._find(gvk)
        except NotFound as error:
            other = await other_version(self._client, gvk) if any_version else None
            if other is None:
                raise UnknownKind(gvk) from error
            return other

    async def existing_kind(self, gvk: GroupVersionKind) -> Resource | None:
        """Ask the server anew what it serves, and which definitions there are."""
        await self._client.discovery.refresh()
        try:
            found = await self.resource(gvk, any_version=True)
        except UnknownKind:
            return await defined_kind(self._client, gvk)
        # Built-in kinds are known without asking, and servers can do without some of them.
        return await other_version(self._client, gvk) if found in BUILT_IN else found

    async def read(self, resource: Resource, key: Key, *, fresh: bool = False) -> Live | None:
        """Ask the server."""
        del fresh  # it always is
        try:
            return Live.of(await self._client.get(resource, key))
        except NotFound as error:
            refuse_unserved(resource, error)
            return None

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Sequence[Live]:
        """Ask the server."""
        found = await self._client.list(resource, namespace, labels=labels, fields=fields)
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [Live.of({**head, **item}) for item in found.items]

    async def apply(
        self, resource: Resource, obj: JsonObject, *, force: bool = True, dry_run: bool = False
    ) -> Live:
        """Server-side apply."""
        asked = request.apply(resource, obj, self._options(dry_run=dry_run), force=force)
        return await self._write(resource, asked, dry_run=dry_run)

    async def create(self, resource: Resource, obj: JsonObject, *, dry_run: bool = False) -> Live:
        """Create an object."""
        asked = request.create(resource, obj, self._options(dry_run=dry_run))
        return await self._write(resource, asked, dry_run=dry_run)

    async def update(self, resource: Resource, obj: JsonObject, *, dry_run: bool = False) -> Live:
        """Replace an object."""
        asked = request.update(resource, obj, self._options(dry_run=dry_run))
        return await self._write(resource, asked, dry_run=dry_run)

    async def patch(
        self, resource: Resource, key: Key, patch: JsonObject, *, dry_run: bool = False
    ) -> Live:
        """Merge a patch."""
        options = self._options(dry_run=dry_run)
        asked = request.patch(resource, key, patch, options, content_type=MERGE_PATCH)
        return await self._write(resource, asked, dry_run=dry_run)

    async def delete(
        self,
        resource: Resource,
        live: Live,
        *,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> Live | None:
        """Delete exactly this state of this object."""
        options = request.DeleteOptions(
            live.uid, live.resource_version, propagation, dry_run=dry_run
        )
        asked = request.delete(resource, ObjectRef.of(live.obj).key, options)
        try:
            answer = await self._client.send(asked)
        except NotFound as error:
            refuse_unserved(resource, error)
            self._note_deletion(resource, live)
            return None
        left = left_of(orjson.loads(answer.body), resource)
        if left is None and not dry_run:
            self._note_deletion(resource, live)
        elif not dry_run:
            self._note_write(resource, answer.body)
        return left

    async def finalize(self, resource: Resource, live: Live) -> Live | None:
        """Clear the finalizers of exactly this state of an object."""
        left = live
        key = ObjectRef.of(live.obj).key
        try:
            if resource == Namespace and (live.obj.get("spec") or {}).get("finalizers"):
                emptied = {**live.obj, "spec": {**live.obj["spec"], "finalizers": []}}
                left = Live.of(await self._client.update(emptied, subresource="finalize"))
            if left.metadata.get("finalizers"):
                version = {"uid": left.uid, "resourceVersion": left.resource_version}
                patch = {"metadata": {**version, "finalizers": None}}
                left = Live.of(await self._client.patch(resource, key, patch))
        except NotFound as error:
            refuse_unserved(resource, error)
            self._note_deletion(resource, live)
            return None
        remains = left_of(left.obj, resource)
        if remains is None:
            self._note_deletion(resource, live)
        return remains

    async def until(
        self, resource: Resource, key: Key, ready: Callable[[Live], bool], seconds: float
    ) -> Live | None:
        """Let the server tell; look again and again where it may only be asked."""
        found: Live | None = None
        try:
            async with asyncio.timeout(seconds), aclosing(self._states(resource, key)) as states:
                async for found in states:
                    if found is not None and ready(found):
                        break
        except TimeoutError:
            pass
        return found

    async def _states(self, resource: Resource, key: Key) -> AsyncGenerator[Live | None, None]:
        """Yield an object as it is, and again after each change, for ever."""
        only = Selection(key.namespace, fields=f"metadata.name={key.name}")
        try:
            async with aclosing(follow(self._client, resource, only)) as states:
                async for objects in states:
                    yield Live.of(objects[key]) if key in objects else None
        except Forbidden:  # who may write objects by their names may not always list them
            for attempt in count():
                yield await self.read(resource, key)
                await asyncio.sleep(POLL_SECONDS[min(attempt, len(POLL_SECONDS) - 1)])

    def _options(self, *, dry_run: bool) -> WriteOptions:
        return WriteOptions(self.field_manager, dry_run, self.validation)

    async def _write(self, resource: Resource, asked: Request, *, dry_run: bool) -> Live:
        answer = await self._client.send(asked)
        if not dry_run:
            self._note_write(resource, answer.body)
        live = Live.of(orjson.loads(answer.body))
        if "warning" in answer.headers:
            told = map(_UNKNOWN_FIELD.fullmatch, responses.warnings(answer.headers))
            live.dropped = tuple(found[1] for found in told if found)
        return live

    async def _find(self, gvk: GroupVersionKind) -> Resource:
        return await self._client.discovery.resource_for(gvk)

    def _note_write(self, resource: Resource, raw: bytes) -> None:
        """Take note of an object as the server has it now: for caches of objects."""

    def _note_deletion(self, resource: Resource, live: Live) -> None:
        """Take note that an object is gone: for caches of objects."""


def refuse_unserved(resource: Resource, error: NotFound) -> None:
    """Raise `UnknownKind` if "not found" says nothing about the object that was asked about."""
    if is_of_kind(error):
        raise UnknownKind(resource.gvk) from error


def left_of(answer: JsonObject, resource: Resource) -> Live | None:
    """Return what a deletion left of an object: None when the answer says it is gone.

    The server answers with the object while something holds it (finalizers, a grace period),
    and with a ``Status`` or the last state of the object otherwise.
    """
    if answer.get("kind") != resource.kind or not answer["metadata"].get("deletionTimestamp"):
        return None
    left = Live.of(answer)
    held = left.finalizers or answer["metadata"].get("deletionGracePeriodSeconds")
    return left if held else None

"""Requests as values: what each verb means in HTTP, decided without a socket.

Every function returns a `Request` and raises `ValueError` or `TypeError` when the caller's
arguments cannot name an object. Writes ask for strict field validation unless told otherwise,
so that a misspelt field is refused instead of dropped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import orjson
from msgspec import Struct

from certwright.client.transport import Request
from certwright.kube import JSON_PATCH, JsonObject, Key, Object, Resource, key_of
from certwright.kube.patches import APPLY_PATCH

JSON = "application/json"
_ACCEPT_JSON = (("accept", JSON),)
_ACCEPT_METADATA = (
    ("accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"),
)
_ACCEPT_METADATA_LIST = (
    ("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"),
)
_SEND_JSON = (*_ACCEPT_JSON, ("content-type", JSON))

_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~:@!$&'()*+,;=-]+")
"""One path segment: what the server accepts as a name and what needs no quoting in a URL."""

_SUBRESOURCE = re.compile(r"[A-Za-z0-9]+(/[A-Za-z0-9._-]+)*")


class Propagation(StrEnum):
    """What happens to the dependents of a deleted object."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Validation(StrEnum):
    """What the server does about fields it does not know."""

    STRICT = "Strict"
    WARN = "Warn"
    IGNORE = "Ignore"


class WriteOptions(Struct, frozen=True, gc=False):
    """What every write may carry; the defaults are what a controller wants."""

    field_manager: str = ""
    dry_run: bool = False
    validation: Validation = Validation.STRICT


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind: one namespace or all, and selectors in their text form."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How a watch starts and what it sends."""

    resource_version: str = ""
    initial_events: bool = False
    """Stream the present objects first, then a bookmark: the streaming list."""
    bookmarks: bool = True
    timeout_seconds: int | None = None
    """When the server ends the watch; it picks 30 to 60 minutes by itself."""
    metadata_only: bool = False


EVERYWHERE = Selection()
"""All objects of a kind."""

WATCH = WatchOptions()
"""From now on, with bookmarks."""


def get(resource: Resource, key: Key, subresource: str = "") -> Request:
    """Read one object, or a subresource of it."""
    path = object_path(resource, key, subresource)
    return Request("get", "GET", path, (), _ACCEPT_JSON, None, resource, subresource)


def list_page(
    resource: Resource,
    selection: Selection,
    *,
    limit: int = 500,
    continue_token: str = "",
    resource_version: str = "",
    match: str = "",
    metadata_only: bool = False,
) -> Request:
    """Read one page of a collection.

    *match* is ``resourceVersionMatch`` and only makes sense with a *resource_version*;
    both are left out of follow-up pages because the continue token holds them.
    """
    query = _selectors(selection)
    if limit:
        query.append(("limit", str(limit)))
    if continue_token:
        query.append(("continue", continue_token))
    elif resource_version:
        query.append(("resourceVersion", resource_version))
        if match:
            query.append(("resourceVersionMatch", match))
    headers = _ACCEPT_METADATA_LIST if metadata_only else _ACCEPT_JSON
    path = collection_path(resource, selection.namespace)
    return Request("list", "GET", path, tuple(query), headers, None, resource)


def watch(resource: Resource, selection: Selection, options: WatchOptions = WATCH) -> Request:
    """Follow a collection; the response is one JSON event per line."""
    query = [("watch", "true"), *_selectors(selection)]
    if options.bookmarks or options.initial_events:
        query.append(("allowWatchBookmarks", "true"))
    if options.initial_events:
        # The server insists on this match and on bookmarks for a streaming list.
        query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    if options.resource_version:
        query.append(("resourceVersion", options.resource_version))
    if options.timeout_seconds is not None:
        query.append(("timeoutSeconds", str(options.timeout_seconds)))
    headers = _ACCEPT_METADATA if options.metadata_only else _ACCEPT_JSON
    path = collection_path(resource, selection.namespace)
    return Request("watch", "GET", path, tuple(query), headers, None, resource)


def create(resource: Resource, obj: JsonObject | Object, options: WriteOptions) -> Request:
    """Create an object; its name may be left to the server with ``generateName``."""
    key = key_of(obj)
    if resource.namespaced and not key.namespace:
        raise ValueError(f"{resource.kind} {key.name!r} needs a namespace to be created in")
    path = collection_path(resource, key.namespace)
    body = encode(resource, obj)
    return Request("create", "POST", path, _write(options), _SEND_JSON, body, resource)


def create_subresource(
    resource: Resource, key: Key, subresource: str, body: JsonObject, options: WriteOptions
) -> Request:
    """Post to a subresource: a token request, an eviction, a binding."""
    path = object_path(resource, key, subresource)
    query, data = _write(options), orjson.dumps(body)
    return Request("create", "POST", path, query, _SEND_JSON, data, resource, subresource)


def update(
    resource: Resource, obj: JsonObject, options: WriteOptions, subresource: str = ""
) -> Request:
    """Replace an object; with a resourceVersion in its metadata only if unchanged since."""
    path = object_path(resource, key_of(obj), subresource)
    body = encode(resource, obj)
    query = _write(options)
    return Request("update", "PUT", path, query, _SEND_JSON, body, resource, subresource)


def apply(
    resource: Resource,
    obj: JsonObject | Object,
    options: WriteOptions,
    *,
    force: bool = True,
    subresource: str = "",
) -> Request:
    """Apply on the server: create or change so that our fields are as given."""
    if not options.field_manager:
        raise ValueError(f"applying {resource.kind} {key_of(obj)} needs a field manager")
    path = object_path(resource, key_of(obj), subresource)
    query = (("force", "true" if force else "false"), *_write(options))
    headers = (*_ACCEPT_JSON, ("content-type", APPLY_PATCH))
    body = encode(resource, obj)
    return Request("patch", "PATCH", path, query, headers, body, resource, subresource)


def patch(
    resource: Resource,
    key: Key,
    change: JsonObject | Sequence[JsonObject],
    options: WriteOptions,
    *,
    content_type: str,
    subresource: str = "",
) -> Request:
    """Change an object by a JSON patch (a list), a merge patch or a strategic merge patch."""
    is_list = not isinstance(change, Mapping)
    if is_list != (content_type == JSON_PATCH):
        raise TypeError(f"a body of type {type(change).__name__} is no {content_type}")
    path = object_path(resource, key, subresource)
    headers = (*_ACCEPT_JSON, ("content-type", content_type))
    body = orjson.dumps(change)
    query = _write(options)
    return Request("patch", "PATCH", path, query, headers, body, resource, subresource)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Under which conditions an object goes, and how."""

    uid: str | None = None
    resource_version: str | None = None
    propagation: Propagation | None = None
    grace_seconds: int | None = None
    dry_run: bool = False

    def encode(self) -> bytes | None:
        """Return the body, or None when everything is left to the server."""
        body: JsonObject = {}
        given = {"uid": self.uid, "resourceVersion": self.resource_version}
        if preconditions := {name: value for name, value in given.items() if value is not None}:
            body["preconditions"] = preconditions
        if self.propagation is not None:
            body["propagationPolicy"] = str(self.propagation)
        if self.grace_seconds is not None:
            body["gracePeriodSeconds"] = self.grace_seconds
        if self.dry_run:
            body["dryRun"] = ["All"]
        if not body:
            return None
        return orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", **body})


DELETE = DeleteOptions()
"""Unconditionally, in the way the kind prefers."""


def delete(resource: Resource, key: Key, options: DeleteOptions = DELETE) -> Request:
    """Delete one object, if it is still the one the preconditions describe."""
    path = object_path(resource, key)
    body = options.encode()
    headers = _ACCEPT_JSON if body is None else _SEND_JSON
    query = _DRY_RUN if options.dry_run else ()
    return Request("delete", "DELETE", path, query, headers, body, resource)


def delete_collection(
    resource: Resource, selection: Selection, options: DeleteOptions = DELETE
) -> Request:
    """Delete every object the selection matches."""
    if resource.namespaced and not selection.namespace:
        raise ValueError(f"deleting a collection of {resource.kind} needs a namespace")
    path = collection_path(resource, selection.namespace)
    body = options.encode()
    headers = _ACCEPT_JSON if body is None else _SEND_JSON
    query = (*_selectors(selection), *(_DRY_RUN if options.dry_run else ()))
    return Request("deletecollection", "DELETE", path, query, headers, body, resource)


def raw(path: str, accept: str = JSON) -> Request:
    """Read a path that is no object: discovery, version, health."""
    return Request("get", "GET", path, (), (("accept", accept),))


def encode(resource: Resource, obj: JsonObject | Object) -> bytes:
    """Return an object as JSON; typed objects get the apiVersion and kind they leave out."""
    if isinstance(obj, Object):
        fields: dict[str, Any] = msgspec.to_builtins(obj)
        return orjson.dumps({**fields, "apiVersion": resource.api_version, "kind": resource.kind})
    return orjson.dumps(obj)


def object_path(resource: Resource, key: Key, subresource: str = "") -> str:
    """Return the path of one object, refusing names that would lead elsewhere."""
    if not _SEGMENT.fullmatch(key.name) or (
        key.namespace and not _SEGMENT.fullmatch(key.namespace)
    ):
        raise ValueError(f"{resource.kind} {str(key)!r}: not a possible namespace and name")
    if subresource and not _SUBRESOURCE.fullmatch(subresource):
        raise ValueError(f"{subresource!r} is not a subresource")
    return resource.path(key.namespace, key.name, subresource)


def collection_path(resource: Resource, namespace: str) -> str:
    """Return the path of a collection, refusing namespaces that would lead elsewhere."""
    if namespace and not _SEGMENT.fullmatch(namespace):
        raise ValueError(f"{namespace!r} is not a possible namespace")
    return resource.path(namespace)


_DRY_RUN = (("dryRun", "All"),)


def _write(options: WriteOptions) -> tuple[tuple[str, str], ...]:
    query = [("fieldValidation", str(options.validation))]
    if options.field_manager:
        query.append(("fieldManager", options.field_manager))
    if options.dry_run:
        query += _DRY_RUN
    return tuple(query)


def _selectors(selection: Selection) -> list[tuple[str, str]]:
    query = []
    if selection.labels:
        query.append(("labelSelector", selection.labels))
    if selection.fields:
        query.append(("fieldSelector", selection.fields))
    return query

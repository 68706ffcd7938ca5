"""What ManagedResources keep: in use, whether anything refers to it or not.

The operator would bring back what is deleted, for the collector to delete it again.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import orjson

from certwright.api.managedresources import ManagedResource
from certwright.api.resourcekeys import INTENT
from certwright.client import Client, Selection
from certwright.kube import JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap
from certwright.managed.shards import read_companion
from certwright.operators.garbagecollector.decision import Place


async def inventories(client: Client, namespaces: tuple[str, ...] = ()) -> Mapping[Place, str]:
    """Return what the ManagedResources of a cluster keep, and which of them does.

    Raises:
        ApiError, TransportError: they cannot be read.
        ValueError: part of an inventory is missing.
    """
    users: dict[Place, str] = {}
    for namespace in namespaces or ("",):
        try:
            async for page in client.pages(ManagedResource, Selection(namespace)):
                for item in page.items:
                    obj: JsonObject = orjson.loads(memoryview(item))
                    async for place in kept_by(client, obj):
                        users.setdefault(place, f"ManagedResource {key_of(obj)}")
        except NotFound:
            continue  # the kind is not there, and so are none of them
    return users


async def kept_by(client: Client, managed_resource: JsonObject) -> AsyncGenerator[Place, None]:
    """Yield what one ManagedResource keeps; parts of its inventory may be in ConfigMaps.

    Raises:
        ValueError: such a ConfigMap is missing, or cannot be read.
    """
    status: JsonObject = managed_resource.get("status") or {}
    for place in (*_listed(status), *_intended(managed_resource)):
        yield place
    for reference in status.get("inventoryRefs") or ():
        if reference.get("obsolete"):
            continue
        key = Key(key_of(managed_resource).namespace, reference["name"])
        try:
            companion = await client.get(ConfigMap, key)
        except NotFound:
            companion = None
        for entry in read_companion(key, companion):
            yield Place(entry.kind, entry.namespace, entry.name)


def _listed(status: JsonObject) -> Iterator[Place]:
    for entry in status.get("resources") or ():
        if entry.get("apiVersion") == "v1":
            kind, name = entry.get("kind") or "", entry.get("name") or ""
            yield Place(kind, entry.get("namespace") or "", name)


def _intended(managed_resource: JsonObject) -> Iterator[Place]:
    """Yield the inventory that is written before the first object is, and counts until then."""
    status = managed_resource.get("status") or {}
    if status.get("resources") or status.get("secretsDataChecksum"):
        return
    annotations = managed_resource["metadata"].get("annotations") or {}
    for text in _texts(annotations.get(INTENT)):
        match text.split("/"):
            case ["v1", kind, namespace, name]:
                yield Place(kind, namespace, name)


def _texts(value: Any) -> Iterator[str]:
    try:
        found = orjson.loads(value or "[]")
    except orjson.JSONDecodeError:
        return  # written by hand; the status will say what is kept
    for text in found if isinstance(found, list) else ():
        if isinstance(text, str):
            yield text

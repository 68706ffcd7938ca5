"""What ManagedResources keep counts as used, whether anything refers to it or not.

The operator would restore what the collector deletes, and the collector would delete it again.
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
from certwright.operators.garbagecollector.decision import ObjectKey


async def inventories(client: Client, namespaces: tuple[str, ...] = ()) -> Mapping[ObjectKey, str]:
    """Return what the ManagedResources of a cluster keep, each with the ManagedResource.

    Raises:
        ApiError, TransportError: they cannot be read.
        ValueError: part of an inventory is missing.
    """
    users: dict[ObjectKey, str] = {}
    for namespace in namespaces or ("",):
        try:
            async for page in client.pages(ManagedResource, Selection(namespace)):
                for item in page.items:
                    obj: JsonObject = orjson.loads(memoryview(item))
                    async for key in kept_by(client, obj):
                        users.setdefault(key, f"ManagedResource {key_of(obj)}")
        except NotFound:
            continue  # this cluster does not have the kind
    return users


async def kept_by(client: Client, managed_resource: JsonObject) -> AsyncGenerator[ObjectKey, None]:
    """Yield what one ManagedResource keeps; parts of its inventory may be in ConfigMaps.

    Raises:
        ValueError: such a ConfigMap is missing, or cannot be read.
    """
    status: JsonObject = managed_resource.get("status") or {}
    for listed in (*_listed(status), *_intended(managed_resource)):
        yield listed
    for reference in status.get("inventoryRefs") or ():
        if reference.get("obsolete"):
            continue
        key = Key(key_of(managed_resource).namespace, reference["name"])
        try:
            companion = await client.get(ConfigMap, key)
        except NotFound:
            companion = None
        for entry in read_companion(key, companion):
            yield ObjectKey(entry.kind, entry.namespace, entry.name)


def _listed(status: JsonObject) -> Iterator[ObjectKey]:
    for entry in status.get("resources") or ():
        if entry.get("apiVersion") == "v1":
            kind, name = entry.get("kind") or "", entry.get("name") or ""
            yield ObjectKey(kind, entry.get("namespace") or "", name)


def _intended(managed_resource: JsonObject) -> Iterator[ObjectKey]:
    """Yield the inventory that is written before the first pass; later ones replace it."""
    status = managed_resource.get("status") or {}
    if status.get("resources") or status.get("secretsDataChecksum"):
        return
    annotations = managed_resource["metadata"].get("annotations") or {}
    for text in _texts(annotations.get(INTENT)):
        match text.split("/"):
            case ["v1", kind, namespace, name]:
                yield ObjectKey(kind, namespace, name)


def _texts(value: Any) -> Iterator[str]:
    try:
        found = orjson.loads(value or "[]")
    except orjson.JSONDecodeError:
        return  # edited by hand; the status lists what is kept
    for text in found if isinstance(found, list) else ():
        if isinstance(text, str):
            yield text

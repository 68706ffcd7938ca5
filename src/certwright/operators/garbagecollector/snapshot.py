"""Everything collectable and everything that uses it, as of one moment.

All lists are requested at the same resourceVersion, which counts through all kinds of a cluster.
Otherwise a reference could be missed that moves between two objects: from one that is listed late
and already without it to one that was listed early and did not have it yet.

Nothing is cached between passes. A pass per hour costs a few lists; watching every pod of a
cluster would cost memory and CPU all the time, and a cache may be stale just when it matters.
Candidates are read by metadata only, so the contents of Secrets are never in memory, and pages
are dropped once their references are noted.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec
import orjson

from certwright.api.managedresources import ManagedResource
from certwright.api.resourcekeys import INTENT, KEEP_OBJECT, OBSOLETE, truthy
from certwright.client import Client, Selection
from certwright.kube import Gone, JsonObject, Key, NotFound, Resource, key_of, kinds, parse_time
from certwright.kube.kinds import ConfigMap
from certwright.kube.rawjson import identity, is_deep, shallow
from certwright.managed.references import references_in, uses_of
from certwright.managed.shards import FIELD_PATH, read_shard
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE
from certwright.operators.garbagecollector.decision import Candidate, ObjectKey
from certwright.operators.garbagecollector.settings import CollectorSettings

PAGE: Final = 250
"""Objects per page: a few milliseconds of work between two turns of the event loop."""

PROMETHEUS: Final = Resource("monitoring.coreos.com", "v1", "Prometheus", "prometheuses")

COLLECTED: Final = (kinds.Secret, kinds.ConfigMap)
USERS: Final = (
    kinds.Pod, kinds.PodTemplate, kinds.ReplicationController, kinds.ServiceAccount,
    kinds.Deployment, kinds.StatefulSet, kinds.DaemonSet, kinds.ReplicaSet,
    kinds.ControllerRevision, kinds.Job, kinds.CronJob, kinds.Ingress,
    PROMETHEUS, ManagedResource.resource,
)  # fmt: skip
"""Whose objects use ConfigMaps and Secrets. Old ReplicaSets and ControllerRevisions count: a
rollback may need them."""

_ALWAYS_SERVED: Final = {"", "apps", "batch"}


@dataclass(slots=True)
class Snapshot:
    """What the lists of one moment contain."""

    candidates: list[Candidate] = field(default_factory=list)
    users: dict[ObjectKey, str] = field(default_factory=dict)
    """What uses a candidate: the first object that was found."""
    revision: str = ""


async def take_snapshot(
    client: Client, settings: CollectorSettings, namespaces: tuple[str, ...] = ()
) -> Snapshot:
    """List candidates and their users, in some namespaces or in all that are configured.

    Starts over once when the server has compacted the resourceVersion in between.

    Raises:
        ApiError, TransportError: something could not be read. Kinds the server does not serve
            have no objects, unless they are kinds that every server serves.
        ValueError: part of the inventory of a ManagedResource is missing.
    """
    try:
        return await _take_snapshot(client, settings, namespaces)
    except Gone:
        return await _take_snapshot(client, settings, namespaces)


async def _take_snapshot(
    client: Client, settings: CollectorSettings, namespaces: tuple[str, ...]
) -> Snapshot:
    scope = namespaces or settings.namespaces or ("",)
    everywhere = settings.namespaces or ("",)
    snapshot = Snapshot()
    for resource in COLLECTED:
        async for item in _items(client, resource, scope, snapshot, f"{COLLECTABLE}=true"):
            snapshot.candidates.append(candidate_of(resource.kind, item))
    keys = {candidate.key for candidate in snapshot.candidates}
    if not keys:
        return snapshot
    for resource in (*USERS, *settings.further_kinds):
        # The inventory of a ManagedResource reaches beyond its namespace.
        where = everywhere if resource == ManagedResource.resource else scope
        try:
            async for item in _items(client, resource, where, snapshot):
                if is_deep(item):
                    note_unreadable(snapshot.users, keys, resource, item)
                    continue
                obj: JsonObject = orjson.loads(item)
                note_uses(snapshot.users, keys, resource, obj)
                if resource == ManagedResource.resource:
                    async for key in kept_by(client, obj):
                        snapshot.users.setdefault(key, user_name(resource, obj))
        except NotFound:
            if resource.group in _ALWAYS_SERVED:
                raise
    return snapshot


async def _items(
    client: Client,
    resource: Resource,
    namespaces: Iterable[str],
    snapshot: Snapshot,
    labels: str = "",
) -> AsyncGenerator[bytes, None]:
    """Yield the objects of a kind at the revision of the snapshot, which the first page sets.

    Deep ones are without managedFields.
    """
    for namespace in namespaces:
        pages = client.pages(
            resource,
            Selection(namespace, labels),
            limit=PAGE,
            resource_version=snapshot.revision,
            match="Exact" if snapshot.revision else "",
            metadata_only=bool(labels),
        )
        async for page in pages:
            snapshot.revision = snapshot.revision or page.metadata.resource_version
            for item in page.items:
                yield shallow(bytes(item))


def note_uses(
    users: dict[ObjectKey, str], keys: set[ObjectKey], resource: Resource, obj: JsonObject
) -> None:
    """Enter an object as the user of those *keys* that it refers to."""
    metadata: JsonObject = obj["metadata"]
    # Servers leave these two out of the items of a list.
    typed = {**obj, "apiVersion": resource.api_version, "kind": resource.kind}
    used = {
        ObjectKey(reference.kind, metadata.get("namespace") or "", reference.name)
        for reference in references_in(metadata.get("annotations")) | uses_of(typed)
    }
    for key in used & keys:
        users.setdefault(key, user_name(resource, obj))


def note_unreadable(
    users: dict[ObjectKey, str], keys: set[ObjectKey], resource: Resource, raw: bytes
) -> None:
    """Enter an object that is too deep to be read as the user of all that it might refer to.

    That is what is in its namespace; ManagedResources refer to what is anywhere.
    """
    obj: JsonObject = orjson.loads(identity(raw))
    namespace = obj["metadata"].get("namespace") or ""
    reaches_far = not namespace or resource == ManagedResource.resource
    for key in keys:
        if reaches_far or key.namespace == namespace:
            users.setdefault(key, f"{user_name(resource, obj)}, which is too deep to be read")


def user_name(resource: Resource, obj: JsonObject) -> str:
    """Return the name of an object in a reason."""
    return f"{resource.kind} {key_of(obj)}"


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    creation_timestamp: datetime
    namespace: str = ""
    deletion_timestamp: str = ""
    annotations: dict[str, str] = {}


class _Item(msgspec.Struct):
    metadata: _Metadata


_DECODER: Final = msgspec.json.Decoder(_Item)


def candidate_of(kind: str, item: msgspec.Raw | bytes) -> Candidate:
    """Return a candidate from the metadata of an object."""
    metadata = _DECODER.decode(item).metadata
    return Candidate(
        key=ObjectKey(kind, metadata.namespace, metadata.name),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=metadata.creation_timestamp,
        unused_since=_instant(metadata.annotations.get(UNUSED_SINCE)),
        keep=truthy(metadata.annotations.get(KEEP_OBJECT)),
        deleting=bool(metadata.deletion_timestamp),
    )


def _instant(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None  # edited by hand: it is written anew


# What ManagedResources keep: it counts as used, or it would be deleted and restored for ever


async def inventories(client: Client, namespaces: tuple[str, ...] = ()) -> Mapping[ObjectKey, str]:
    """Return what the ManagedResources of a cluster keep, each with the ManagedResource."""
    users: dict[ObjectKey, str] = {}
    for namespace in namespaces or ("",):
        try:
            async for page in client.pages(ManagedResource, Selection(namespace)):
                for item in page.items:
                    raw = shallow(bytes(item))
                    if is_deep(raw):
                        named = key_of(orjson.loads(identity(raw)))
                        raise ValueError(f"ManagedResource {named} is too deep to be read")
                    obj: JsonObject = orjson.loads(raw)
                    async for key in kept_by(client, obj):
                        users.setdefault(key, f"ManagedResource {key_of(obj)}")
        except NotFound:
            continue  # this cluster does not have the kind
    return users


async def kept_by(client: Client, managed_resource: JsonObject) -> AsyncGenerator[ObjectKey, None]:
    """Yield what one ManagedResource keeps; `ValueError` if a part of its inventory is missing."""
    status: JsonObject = managed_resource.get("status") or {}
    for listed in (*_listed(status), *_intended(managed_resource)):
        yield listed
    for entry in status.get("resources") or ():
        if entry.get("fieldPath") != FIELD_PATH or OBSOLETE in (entry.get("annotations") or {}):
            continue
        key = Key(key_of(managed_resource).namespace, entry["name"])
        try:
            companion = await client.get(ConfigMap, key)
        except NotFound:
            companion = None
        for kept in read_shard(key, companion):
            yield ObjectKey(kept.kind, kept.namespace, kept.name)


def _listed(status: JsonObject) -> Iterator[ObjectKey]:
    for entry in status.get("resources") or ():
        if entry.get("apiVersion") == "v1" and entry.get("fieldPath") != FIELD_PATH:
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

"""Write a declaration to a cluster: its Secrets first, then the ManagedResource.

Only what differs is written. Secrets are immutable and named by their contents, so a reader of
the ManagedResource sees the old contents or the new, never a mixture.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.client import Client
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap, Secret
from certwright.kube.patches import create_merge_patch
from certwright.managed.declaration import SECRET_PREFIX, Declaration, render
from certwright.managed.references import PREFIX
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE, contents_of, make_unique

_ATTEMPTS: Final = 5
"""How often to begin again when another client was faster."""


@dataclass(frozen=True)
class Progress:
    """A step that was taken, or what a wait is for."""

    what: str
    """``created``, ``updated``, ``unchanged``, ``waiting``, ``deleted``"""
    subject: str
    """Kind and key."""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.subject} {self.what}{': ' if self.detail else ''}{self.detail}"


OnProgress = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Report nothing."""


async def ensure(client: Client, obj: JsonObject) -> JsonObject:
    """Make an immutable copy of a ConfigMap or Secret exist, named by its contents; return it.

    The name is that of `make_unique`, or the one with *by_keys* when other contents have taken it.
    An object that exists already counts as new again for the garbage collector, so there is time to
    begin using it. Raises `Conflict` if both names are taken by other contents.
    """
    for by_keys in (False, True):
        unique = make_unique(obj, by_keys=by_keys)
        stored = await _exist(client, unique, in_use=False)
        if _same(stored, unique):
            return stored
    raise Conflict(
        f"{obj['kind']} {key_of(unique)} exists with other contents; delete or rename it"
    )


async def deploy(
    client: Client,
    declaration: Declaration,
    *,
    must_exist: bool = False,
    on_progress: OnProgress = silent,
) -> JsonObject:
    """Create or update a ManagedResource and its Secrets; return it as stored.

    Labels and annotations that other clients set on the ManagedResource stay. Secrets that it
    referred to before become collectable, if this library made them.

    Raises:
        PackingError: the objects cannot be packed.
        NotFound: it does not exist and *must_exist* is set.
        Conflict: a Secret of that name exists with other contents, or other clients change
            the ManagedResource all the time.
    """
    rendered = await asyncio.to_thread(render, declaration)
    current = await _find(client, declaration.key)
    if current is None and must_exist:
        raise NotFound(f"ManagedResource {declaration.key} does not exist; create it first")
    in_use = _secret_names(current) if current else set()
    for secret in rendered.secrets:
        name = secret["metadata"]["name"]
        stored = await _exist(client, secret, in_use=name in in_use, on_progress=on_progress)
        if not _same(stored, secret):
            raise Conflict(f"Secret {key_of(secret)} exists with other contents; delete it")
    stored = await _write(client, rendered.managed_resource, current, on_progress)
    for name in sorted(in_use - _secret_names(stored)):
        await _release(client, Key(declaration.key.namespace, name))
    return stored


async def set_keep_objects(client: Client, key: Key, *, keep: bool = True) -> JsonObject:
    """Set whether the objects stay when the ManagedResource is deleted; return it as stored."""
    patch = {"spec": {"keepObjects": keep}}
    return await client.patch(ManagedResource.resource, key, patch)


async def _exist(
    client: Client, unique: JsonObject, *, in_use: bool, on_progress: OnProgress = silent
) -> JsonObject:
    """Create an object, or make sure that the one of that name is not about to be collected."""
    resource = Secret if unique["kind"] == Secret.kind else ConfigMap
    key = key_of(unique)
    for _ in range(_ATTEMPTS):
        try:
            if not in_use:
                created = await client.create(unique)
                on_progress(Progress("created", f"{resource.kind} {key}"))
                return created
            stored = await client.get(resource, key)
            on_progress(Progress("unchanged", f"{resource.kind} {key}"))
            return stored
        except NotFound:
            in_use = False  # it was deleted by hand
        except AlreadyExists:
            labels = unique["metadata"]["labels"]
            patch = {"metadata": {"annotations": {UNUSED_SINCE: None}, "labels": labels}}
            try:
                stored = await client.patch(resource, key, patch)
            except NotFound:
                continue  # the collector was faster
            on_progress(Progress("unchanged", f"{resource.kind} {key}"))
            return stored
    raise Conflict(
        f"{resource.kind} {key} appears and disappears; find out which client deletes it"
    )


async def _write(
    client: Client, wanted: JsonObject, current: JsonObject | None, on_progress: OnProgress
) -> JsonObject:
    key = key_of(wanted)
    for _ in range(_ATTEMPTS):
        try:
            if current is None:
                created = await client.create(wanted)
                on_progress(Progress("created", f"ManagedResource {key}"))
                return created
            patch = update_patch(current, wanted)
            if patch is None:
                on_progress(Progress("unchanged", f"ManagedResource {key}"))
                return current
            stored = await client.patch(ManagedResource.resource, key, patch)
            on_progress(Progress("updated", f"ManagedResource {key}"))
            return stored
        except (AlreadyExists, Conflict, NotFound):
            current = await _find(client, key)
    raise Conflict(
        f"ManagedResource {key} is changed by another client all the time; find that client"
    )


def update_patch(current: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """Return the merge patch that brings a ManagedResource up to date; None if nothing differs.

    The spec is replaced, labels and annotations are added to those there are, references from
    before are removed.
    """
    old, new = current["metadata"], wanted["metadata"]
    annotations = {
        name: value
        for name, value in (old.get("annotations") or {}).items()
        if not name.startswith(PREFIX)
    }
    target = {
        "metadata": {
            "labels": {**(old.get("labels") or {}), **(new.get("labels") or {})},
            "annotations": {**annotations, **(new.get("annotations") or {})},
        },
        "spec": wanted["spec"],
    }
    present = {
        "metadata": {
            "labels": old.get("labels") or {},
            "annotations": old.get("annotations") or {},
        },
        "spec": current.get("spec") or {},
    }
    patch = create_merge_patch(present, target)
    if not patch:
        return None
    versioned = {**patch.get("metadata", {}), "resourceVersion": old["resourceVersion"]}
    return {**patch, "metadata": versioned}


async def _release(client: Client, key: Key) -> None:
    """Make a Secret collectable that no ManagedResource refers to any more.

    Only one that this library named: users may need the others.
    """
    if not key.name.startswith(SECRET_PREFIX):
        return
    try:
        secret = await client.get(Secret, key)
        if COLLECTABLE not in (secret["metadata"].get("labels") or {}):
            patch = {"metadata": {"labels": {COLLECTABLE: "true"}}}
            await client.patch(Secret, key, patch)
    except NotFound:
        pass


async def _find(client: Client, key: Key) -> JsonObject | None:
    try:
        return await client.get(ManagedResource.resource, key)
    except NotFound:
        return None


def _secret_names(managed_resource: JsonObject) -> set[str]:
    references = (managed_resource.get("spec") or {}).get("secretRefs") or []
    return {reference["name"] for reference in references if reference.get("name")}


def _same(stored: JsonObject, wanted: JsonObject) -> bool:
    def of(obj: JsonObject) -> tuple[object, ...]:
        type_ = (obj.get("type") or "Opaque") if obj["kind"] == Secret.kind else ""
        return (contents_of(obj), type_)

    return of(stored) == of(wanted)

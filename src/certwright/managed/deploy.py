"""Bring a declaration to a cluster: its Secrets first, then the ManagedResource.

Nothing is written that is there already. Secrets are immutable and have names of their own, so
whoever reads the ManagedResource in between sees the old contents or the new, never a mixture.
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
from certwright.managed.unique import (
    COLLECTABLE,
    UNUSED_SINCE,
    contents_of,
    make_unique,
)

_ATTEMPTS: Final = 5
"""How often to begin again when others are faster."""


@dataclass(frozen=True)
class Progress:
    """Something that was done, or is waited for."""

    what: str
    """``created``, ``updated``, ``unchanged``, ``waiting``, ``deleted``"""
    subject: str
    """Kind and key."""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.subject} {self.what}{': ' if self.detail else ''}{self.detail}"


OnProgress = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Tell nobody."""


async def ensure(client: Client, obj: JsonObject) -> JsonObject:
    """Make an immutable copy of a ConfigMap or Secret exist, named by its contents; return it.

    The name is that of `make_unique`, or the one with *by_keys* when other contents have taken
    it. One that was there before counts as new again for the garbage collector: there is as
    much time to begin using it.

    Raises:
        Conflict: both names are taken by other contents.
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

    Labels and annotations that others put on the ManagedResource stay. Secrets that it referred
    to before become collectable, if a client like this one made them.

    Raises:
        PackingError: the objects cannot be packed.
        NotFound: it is not there and *must_exist*.
        Conflict: a Secret of that name exists with other contents, or others change the
            ManagedResource all the time.
    """
    rendered = await asyncio.to_thread(render, declaration)
    current = await _find(client, declaration.key)
    if current is None and must_exist:
        raise NotFound(f"ManagedResource {declaration.key} does not exist; create it first")
    in_use = _secret_names(current) if current else set()
    for secret in rendered.secrets:
        name = secret["metadata"]["name"]
        stored = await _exist(client, secret, in_use=name in in_use, tell=on_progress)
        if not _same(stored, secret):
            raise Conflict(f"Secret {key_of(secret)} exists with other contents; delete it")
    stored = await _write(client, rendered.managed_resource, current, on_progress)
    for name in sorted(in_use - _secret_names(stored)):
        await _release(client, Key(declaration.key.namespace, name))
    return stored


async def set_keep_objects(client: Client, key: Key, *, keep: bool = True) -> JsonObject:
    """Decide whether the objects stay when the ManagedResource goes; return it as stored."""
    patch = {"spec": {"keepObjects": keep}}
    return await client.patch(ManagedResource.resource, key, patch)


async def _exist(
    client: Client, unique: JsonObject, *, in_use: bool, tell: OnProgress = silent
) -> JsonObject:
    """Create an object, or make sure that the one of that name is not about to be collected."""
    resource = Secret if unique["kind"] == Secret.kind else ConfigMap
    key = key_of(unique)
    for _ in range(_ATTEMPTS):
        try:
            if not in_use:
                created = await client.create(unique)
                tell(Progress("created", f"{resource.kind} {key}"))
                return created
            stored = await client.get(resource, key)
            tell(Progress("unchanged", f"{resource.kind} {key}"))
            return stored
        except NotFound:
            in_use = False  # collected by mistake, or by hand
        except AlreadyExists:
            labels = unique["metadata"]["labels"]
            patch = {"metadata": {"annotations": {UNUSED_SINCE: None}, "labels": labels}}
            try:
                stored = await client.patch(resource, key, patch)
            except NotFound:
                continue  # collected in this moment
            tell(Progress("unchanged", f"{resource.kind} {key}"))
            return stored
    raise Conflict(f"{resource.kind} {key} appears and disappears; somebody deletes it")


async def _write(
    client: Client, wanted: JsonObject, current: JsonObject | None, tell: OnProgress
) -> JsonObject:
    key = key_of(wanted)
    for _ in range(_ATTEMPTS):
        try:
            if current is None:
                created = await client.create(wanted)
                tell(Progress("created", f"ManagedResource {key}"))
                return created
            patch = update_patch(current, wanted)
            if patch is None:
                tell(Progress("unchanged", f"ManagedResource {key}"))
                return current
            stored = await client.patch(ManagedResource.resource, key, patch)
            tell(Progress("updated", f"ManagedResource {key}"))
            return stored
        except (AlreadyExists, Conflict, NotFound):
            current = await _find(client, key)
    raise Conflict(f"ManagedResource {key} keeps being changed by others")


def update_patch(current: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """Return the merge patch that brings a ManagedResource up to date; None if it is.

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
    """Let a Secret be collected that no longer belongs to a ManagedResource.

    Only one that a client named: others may belong to people.
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

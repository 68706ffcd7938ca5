"""Whose an object is: ``[<cluster id>:]<namespace>/<name>`` of its ManagedResource.

The cluster id tells source clusters apart that share a target. It is configured literally, or
taken from the ConfigMap ``kube-system/cluster-identity`` of the source cluster. Whether another
ManagedResource has given up an object is asked of the server, since caches may be old.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import Live, ObjectRef, Owner
from certwright.apply.engine.declared import OwnerState
from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound, parse_time
from certwright.operators.managedresource.configuration import ManagedResourceSettings
from certwright.operators.managedresource.inventory import (
    Equivalences,
    read_recorded,
    recorded,
    ref_of,
)
from certwright.runtime import BadObject, Entry, Store

FIELD_MANAGER: Final = "certwright-resource-manager"
"""Who signs the fields of target objects, in the usual installation; no other client does."""
FORMER: Final = "certwright"
"""Who signed them before, by server-side apply."""
PREDECESSOR: Final = "gardener-resource-manager"
"""The field manager whose objects we take over."""
_USUAL_LABEL: Final = ManagedResourceSettings().managed_by_label_value
IDENTITY: Final = Key("kube-system", "cluster-identity")
"""The ConfigMap of the source cluster that holds its id."""
_IDENTITY_KEY: Final = "cluster-identity"
_REQUIRED: Final = "<cluster>"
_OPTIONAL: Final = "<default>"


@dataclass(frozen=True, slots=True)
class Origin:
    """A ManagedResource as the objects it keeps name it."""

    cluster_id: str
    key: Key

    @classmethod
    def parse(cls, text: str) -> "Origin":
        """Read an annotation; `ValueError` unless it has one slash and at most one colon."""
        cluster_id, colon, place = text.partition(":")
        if not colon:
            cluster_id, place = "", text
        namespace, _, name = place.partition("/")
        if ":" in place or place.count("/") != 1:
            raise ValueError(f"{text!r} is not of the form [cluster:]namespace/name")
        return cls(cluster_id, Key(namespace, name))

    def __str__(self) -> str:
        prefix = f"{self.cluster_id}:" if self.cluster_id else ""
        return f"{prefix}{self.key.namespace}/{self.key.name}"


def owner_of(annotations: JsonObject, cluster_id: str) -> Key | None:
    """Return the ManagedResource an object belongs to, if it is one of this source cluster.

    None when there is no origin, none that can be read, or one with another cluster id.
    """
    text = annotations.get(keys.ORIGIN)
    if not isinstance(text, str):
        return None
    try:
        origin = Origin.parse(text)
    except ValueError:
        return None
    return origin.key if origin.cluster_id == cluster_id else None


def needs_identity(configured: str) -> bool:
    """Return whether the ConfigMap must be read to know the cluster id."""
    return configured in {_REQUIRED, _OPTIONAL}


def resolve_cluster_id(configured: str, identity: JsonObject | None) -> str:
    """Return the cluster id; *identity* is the ConfigMap, None if there is none.

    Raises:
        ValueError: the id is required to come from the ConfigMap, which does not have it.
    """
    if not needs_identity(configured):
        return configured
    data: Any = identity.get("data") if identity is not None else None
    found = data.get(_IDENTITY_KEY) if isinstance(data, dict) else None
    if isinstance(found, str) and found:
        return found
    if configured == _OPTIONAL:
        return ""
    missing = "does not exist" if identity is None else f"has no key {_IDENTITY_KEY!r}"
    raise ValueError(
        f"the cluster id is {configured}, but the ConfigMap {IDENTITY} of the source cluster "
        f"{missing}; create it, or configure an id, or {_OPTIONAL} to do without"
    )


Lists: TypeAlias = Callable[[ObjectRef], bool]
"""Returns whether an inventory lists an object."""


def _lists(resource: ManagedResource, inventory: Iterable[ObjectReference]) -> Lists:
    canonical = Equivalences.of(resource.spec.equivalences).canonical
    listed = {canonical(ref_of(entry)) for entry in inventory}
    return lambda ref: canonical(ref) in listed


async def read_inventory_of(source: Client, key: Key) -> Lists | None:
    """Ask the source cluster for a ManagedResource and its inventory; None if there is none.

    Raises:
        ApiError, TransportError: the source cluster does not answer.
    """
    try:
        resource = await source.get(ManagedResource, key)
    except NotFound:
        return None
    try:
        return _lists(resource, await read_recorded(source, resource))
    except (NotFound, ValueError):
        return lambda _ref: True  # a part of it is lost, or is just being written anew


class Owners:
    """Knows the ManagedResources of this process, and names them as owners of objects.

    *wake* is called with a ManagedResource when another one gives up an object that it wants.
    """

    def __init__(self, cluster_id: str, wake: Callable[[Key], None] = lambda _key: None) -> None:
        self._cluster_id = cluster_id
        self._wake = wake
        self._stores: dict[str, Store] = {}
        self._refused: dict[Key, dict[Key, set[ObjectRef]]] = {}

    def serve(self, namespace: str, store: Store) -> bool:
        """Use a complete store of ManagedResources; an empty namespace says that it has all.

        Return whether it is new.
        """
        if namespace in self._stores:
            return False
        self._stores[namespace] = store
        store.listen(self._changed)
        return True

    def origin(self, key: Key) -> Origin:
        """Return how the objects of a ManagedResource name it."""
        return Origin(self._cluster_id, key)

    def of(self, key: Key, client: Client) -> Owner:
        """Return the owner of the objects of a ManagedResource, for one pass."""
        seen: dict[Key, Lists] = {}
        asked: dict[Key, Lists | None] = {}

        async def state(other: Key, ref: ObjectRef) -> OwnerState:
            """Say what the store shows; that it has given up an object is asked, once."""
            if other not in seen:
                seen[other] = self._seen(other)
            lists: Lists | None = seen[other]
            if not seen[other](ref):
                if other not in asked:
                    asked[other] = await read_inventory_of(client, other)
                lists = asked[other]
            if lists is None:
                return OwnerState.GONE
            if not lists(ref):
                return OwnerState.RELEASED
            self._refused.setdefault(other, {}).setdefault(key, set()).add(ref)
            return OwnerState.HOLDS

        return owner(self.origin(key), state)

    def _seen(self, key: Key) -> Lists:
        """Return what a ManagedResource lists as far as we see it; all if we may not see it."""
        store = self._stores.get("") or self._stores.get(key.namespace)
        if store is None:
            return lambda _ref: bool(self._stores)
        return _listed_in(store.get(key))

    def _changed(self, old: Entry | None, new: Entry | None) -> None:
        """Wake those who want what a ManagedResource does not list any more."""
        changed = new or old
        waiting = self._refused.get(changed.key) if changed is not None else None
        if changed is None or waiting is None:
            return
        lists = _listed_in(new)
        for key in [key for key, refs in waiting.items() if not all(map(lists, refs))]:
            del waiting[key]
            self._wake(key)
        if not waiting:
            del self._refused[changed.key]


def _listed_in(entry: Entry | None) -> Lists:
    """Return what the status of a cached ManagedResource lists, without its shards."""
    if entry is None:
        return lambda _ref: False
    try:
        resource = entry.as_(ManagedResource)
        return _lists(resource, recorded(resource))
    except BadObject:
        return lambda _ref: True


def field_manager(managed_by: str) -> str:
    """Return who signs the fields of target objects in an installation with this label.

    Installations do not see each other's objects, so their names must differ: only then does
    the server refuse to create what another one has created before.
    """
    return FIELD_MANAGER if managed_by == _USUAL_LABEL else f"{FIELD_MANAGER}:{managed_by}"


def _is_signature(manager: str) -> bool:
    return manager == PREDECESSOR or manager.partition(":")[0] in {FIELD_MANAGER, FORMER}


def owner(origin: Origin, state: Callable[[Key, ObjectRef], Awaitable[OwnerState]]) -> Owner:
    """Return whose the objects are; *state* tells of another ManagedResource of our source.

    What is not an origin names no owner. One that has our name and another cluster id is taken
    over when it is first met, because ids change, and because a ManagedResource may have been
    moved here from another cluster. After that the id tells us apart: what another installation
    has taken from us is its own, and what it has left is not deleted.
    """

    def former(value: str) -> bool:
        other = _parsed(value)
        return other is not None and other.key == origin.key

    async def state_of(value: str, ref: ObjectRef) -> OwnerState:
        other = _parsed(value)
        if other is None or other.cluster_id != origin.cluster_id:
            return OwnerState.HOLDS
        return await state(other.key, ref)

    def withheld(value: str, annotations: Mapping[str, str]) -> str:
        other = _parsed(value)
        if other is None or _domain(other) == _domain(origin) or _hands_over(annotations, origin):
            return ""
        return f"its owner has to agree: annotate it there with {keys.HAND_OVER_TO}={origin.key}"

    return Owner(
        keys.ORIGIN,
        str(origin),
        (keys.DESCRIPTION, keys.DIGEST),
        aliases=lambda value: _parsed(value) is None,
        former=former,
        state=state_of,
        withheld=withheld,
        signs=_is_signature,
        digest=keys.DIGEST,
    )


def _domain(origin: Origin) -> tuple[str, str]:
    """Return what the ManagedResources of the same people have in common."""
    return origin.cluster_id, origin.key.namespace


def _hands_over(annotations: Mapping[str, str], origin: Origin) -> bool:
    """Return whether the owner of an object lets a ManagedResource take it."""
    listed = str(annotations.get(keys.HAND_OVER_TO) or "").split(",")
    return any(fnmatchcase(str(origin.key), pattern.strip()) for pattern in listed)


def _parsed(value: str) -> Origin | None:
    try:
        return Origin.parse(value)
    except ValueError:
        return None


def is_foreign(live: Live, since: datetime | None, *, respected: bool) -> bool:
    """Return whether an object was never ours, though it was wanted: none of us ever wrote it.

    So it is with one that others provide, and with one that refused to be changed. What
    appeared *since* we want it may be the work of an earlier version that left no trace, unless
    objects of others are *respected*: it is a fall-back only, or not to be adopted.
    """
    if live.annotations.get(keys.ORIGIN):
        return False
    if any(_is_signature(writer.manager) for writer in live.writers()):
        return False
    if respected:
        return True
    created = str(live.metadata.get("creationTimestamp") or "")
    return bool(created) and since is not None and parse_time(created) <= since

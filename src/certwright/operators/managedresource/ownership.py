"""Whose an object is: ``[<cluster id>:]<namespace>/<name>`` of its ManagedResource.

The cluster id tells source clusters apart that share a target. It is configured literally, or
taken from the ConfigMap ``kube-system/cluster-identity`` of the source cluster. Whether the
ManagedResource that owns an object still exists is asked of the server, since caches may be old.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.apply import Live, Owner
from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound, parse_time
from certwright.operators.managedresource.configuration import ManagedResourceSettings
from certwright.runtime import Store

FIELD_MANAGER: Final = "certwright"
"""Who signs the fields of target objects, in the usual installation."""
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


async def exists(source: Client, key: Key) -> bool:
    """Ask the source cluster; `ApiError` or `TransportError` if it does not answer."""
    try:
        await source.get(ManagedResource, key)
    except NotFound:
        return False
    return True


class Owners:
    """Knows the ManagedResources of this process, and names them as owners of objects."""

    def __init__(self, cluster_id: str) -> None:
        self.stores: dict[str, Store] = {}
        """The ManagedResources, by the namespace they are confined to; all under the empty one."""
        self._cluster_id = cluster_id

    def origin(self, key: Key) -> Origin:
        """Return how the objects of a ManagedResource name it."""
        return Origin(self._cluster_id, key)

    def of(self, key: Key, client: Client) -> Owner:
        """Return the owner of the objects of a ManagedResource, for one pass."""
        asked: dict[Key, bool] = {}

        async def exists_still(other: Key) -> bool:
            """Return whether there is another one; that there is none is asked, once."""
            if other not in asked:
                asked[other] = self._may_exist(other) or await exists(client, other)
            return asked[other]

        return owner(self.origin(key), exists_still)

    def _may_exist(self, key: Key) -> bool:
        """Return whether there may be a ManagedResource: we see it, or cannot see it."""
        store = self.stores.get("") or self.stores.get(key.namespace)
        return store is None or key in store


def field_manager(managed_by: str) -> str:
    """Return who signs the fields of target objects in an installation with this label.

    Installations do not see each other's objects, so their names must differ: only then does
    the server refuse to create what another one has created before.
    """
    return FIELD_MANAGER if managed_by == _USUAL_LABEL else f"{FIELD_MANAGER}:{managed_by}"


def _is_signature(manager: str) -> bool:
    return manager == PREDECESSOR or manager.partition(":")[0] == FIELD_MANAGER


def owner(origin: Origin, exists: Callable[[Key], Awaitable[bool]]) -> Owner:
    """Return whose the objects are.

    Those that carry our name with another cluster id are ours too, for ids change, and what is
    not an origin is nobody's. Those of a ManagedResource that does not *exist* any more may be
    taken, and are not deleted before they are.
    """

    def aliases(value: str) -> bool:
        other = _parsed(value)
        return other is None or other.key == origin.key

    async def succeeds(value: str) -> bool:
        other = _parsed(value)
        if other is None or other.cluster_id != origin.cluster_id:
            return False
        return not await exists(other.key)

    def withheld(value: str, annotations: Mapping[str, str]) -> str:
        other = _parsed(value)
        if other is None or _domain(other) == _domain(origin) or _hands_over(annotations, origin):
            return ""
        return f"its owner has to agree: annotate it there with {keys.HAND_OVER_TO}={origin.key}"

    return Owner(keys.ORIGIN, str(origin), (keys.DESCRIPTION,), aliases, succeeds, withheld)


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

    So it is with one that somebody else provides, and with one that refused to be changed. What
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

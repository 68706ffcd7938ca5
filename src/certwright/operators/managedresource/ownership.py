"""Whose an object is: ``[<cluster id>:]<namespace>/<name>`` of its ManagedResource.

The cluster id tells source clusters apart that share a target. It is configured literally, or
taken from the ConfigMap ``kube-system/cluster-identity`` of the source cluster.

Whether a ManagedResource exists: the server's word, since views of it may be old.
"""

from dataclasses import dataclass
from typing import Any, Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound

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
        """Read an annotation.

        Raises:
            ValueError: there is more than one colon, or not exactly one slash.
        """
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
    """Ask the source cluster.

    Raises:
        ApiError, TransportError: it does not tell.
    """
    try:
        await source.get(ManagedResource, key)
    except NotFound:
        return False
    return True

"""Whether a ManagedResource exists: the server's word, since views of it may be old."""

from certwright.api.managedresources import ManagedResource
from certwright.client import Client
from certwright.kube import Key, NotFound


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

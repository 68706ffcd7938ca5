"""Letting go of an object that is to be ignored from now on: it stays, without our name."""

from certwright.api import resourcekeys as keys
from certwright.apply import Cluster, ObjectRef
from certwright.kube import Conflict
from certwright.operators.managedresource.ownership import Origin


async def release(cluster: Cluster, ref: ObjectRef, origin: Origin) -> None:
    """Take our name off an object, unless it carries another one by now.

    Raises:
        NotFound: it is gone, or its kind is.
        ApiError, TransportError: it cannot be changed now.
    """
    resource = await cluster.resource(ref.gvk)
    marks = {keys.ORIGIN: None, keys.DESCRIPTION: None}
    for fresh in (False, True):
        live = await cluster.read(resource, ref.key, fresh=fresh)
        if live is None and not fresh:
            continue  # it may have lost our label
        if live is None or live.annotations.get(keys.ORIGIN) != str(origin):
            return
        version = {"uid": live.uid, "resourceVersion": live.resource_version}
        try:
            await cluster.patch(resource, ref.key, {"metadata": {**version, "annotations": marks}})
            return
        except Conflict:
            if fresh:
                raise

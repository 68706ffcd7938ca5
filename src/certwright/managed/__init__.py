"""Write ManagedResources, wait for them and delete them: the client side.

What enters are objects and options; what leaves is a ManagedResource with its Secrets, in a
cluster or on paper, and an answer to whether it is healthy.

==================  =============================================================
`declaration`       objects and options, and the ManagedResource and Secrets made from them
`deploy`            writes these to a cluster, and only what differs
`wait`              waits until a ManagedResource is healthy, or deleted
`readiness`         whether it is applied and healthy, and if not, why
`secretdata`        objects into the bytes of a Secret, and out again
`unique`            immutable ConfigMaps and Secrets, named by their contents
`references`        which of them an object uses, and the annotations that protect them
`shards`            inventories that do not fit into a status
==================  =============================================================
"""

from certwright.managed.declaration import Declaration, KeepOptions, render
from certwright.managed.deploy import Progress, deploy, ensure, set_keep_objects
from certwright.managed.readiness import Readiness, readiness
from certwright.managed.references import Reference, annotate, uses_of
from certwright.managed.secretdata import PackingError, pack, unpack
from certwright.managed.unique import make_unique
from certwright.managed.wait import delete, wait_until_healthy

__all__ = [
    "Declaration",
    "KeepOptions",
    "PackingError",
    "Progress",
    "Readiness",
    "Reference",
    "annotate",
    "delete",
    "deploy",
    "ensure",
    "make_unique",
    "pack",
    "readiness",
    "render",
    "set_keep_objects",
    "unpack",
    "uses_of",
    "wait_until_healthy",
]

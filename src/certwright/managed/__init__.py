"""Write ManagedResources, wait for them and delete them: the client side.

==================  =============================================================
`declaration`       objects and options, and the ManagedResource and Secrets made from them
`deploying`         writes these to a cluster, and only what differs
`waiting`           waits until a ManagedResource is healthy, or gone
`readiness`         whether it is applied and healthy, and if not, why
`packing`           objects into the bytes of a Secret, and out again
`unique`            immutable ConfigMaps and Secrets, named by their contents
`references`        annotations that protect them from being collected
`usage`             which of them an object uses, read from its structure
==================  =============================================================
"""

from certwright.managed.declaration import Declaration, Options, Rendered, render
from certwright.managed.deploy import OnProgress, Progress, deploy, ensure, set_keep_objects
from certwright.managed.package import PackingError, pack, unpack
from certwright.managed.readiness import Readiness, readiness
from certwright.managed.references import (
    annotate,
    annotations_for,
    kind_of_key,
    reference_key,
    references_in,
)
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE, make_unique
from certwright.managed.usage import Reference, uses_of
from certwright.managed.wait import delete, wait_until_healthy

__all__ = [
    "COLLECTABLE",
    "UNUSED_SINCE",
    "Declaration",
    "OnProgress",
    "Options",
    "PackingError",
    "Progress",
    "Readiness",
    "Reference",
    "Rendered",
    "annotate",
    "annotations_for",
    "delete",
    "deploy",
    "ensure",
    "kind_of_key",
    "make_unique",
    "pack",
    "readiness",
    "reference_key",
    "references_in",
    "render",
    "set_keep_objects",
    "unpack",
    "uses_of",
    "wait_until_healthy",
]

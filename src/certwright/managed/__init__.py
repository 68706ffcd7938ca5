"""Write ManagedResources, wait for them and delete them: the client side.

Objects and options enter; a ManagedResource with its Secrets leaves, in a cluster or on paper.
`declaration` makes it, `deploy` writes what differs, `wait` waits until it is healthy (`readiness`)
or gone. `secretdata` packs objects into Secrets, `unique` names ConfigMaps and Secrets by their
contents, `references` finds those in use, `shards` holds what does not fit into a status, and
`dependencies` knows which ones wait for others.
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

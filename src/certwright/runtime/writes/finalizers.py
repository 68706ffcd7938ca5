"""Finalizers: an object stays until its controller has cleaned up behind it.

Expected flow, in a reconcile::

    if greeting.metadata.deletion_timestamp is not None:
        await remove_everything_outside_the_cluster(greeting)   # must be idempotent
        await ctx.release(greeting, FINALIZER)                  # now it may go
        return DONE
    await ctx.hold(greeting, FINALIZER)                         # before creating anything outside
    ...

1. `hold` adds the finalizer, unless it is there; from then on a deletion only marks the object.
2. Whatever lives outside the cluster is created after `hold` returned, never before.
3. A deletion sets ``deletionTimestamp``; the reconcile sees it and cleans up.
4. `release` removes the finalizer, unless it is gone; the API server then deletes the object.

Guarantees: what was created after `hold` is cleaned up before the object disappears, unless
somebody removes the finalizer by hand. Both patches carry the resourceVersion of the object
they were computed from, so they never undo the finalizer of another controller: if the object
changed meanwhile they raise `Conflict` and the reconcile is repeated. Clean-up may run more
than once. What lives inside the cluster needs no finalizer: owner references do that.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from certwright.kube import JsonObject

FinalizerChange: TypeAlias = Callable[[Sequence[str], str], list[str] | None]
"""From the finalizers and a name to the new finalizers, or None if nothing changes."""


def with_finalizer(finalizers: Sequence[str], name: str) -> list[str] | None:
    """Return the finalizers with *name* added, or None if it is there already."""
    return None if name in finalizers else [*finalizers, name]


def without_finalizer(finalizers: Sequence[str], name: str) -> list[str] | None:
    """Return the finalizers with *name* removed, or None if it is not there."""
    return [other for other in finalizers if other != name] if name in finalizers else None


def finalizer_patch(metadata: JsonObject, finalizers: list[str]) -> JsonObject:
    """Return the merge patch that sets the finalizers of exactly the object that was read."""
    return {
        "metadata": {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "finalizers": finalizers,
        }
    }

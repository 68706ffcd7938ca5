"""Merge patches for statuses and finalizers; none when nothing differs.

Each carries the resourceVersion the decision was based on: what was computed from a stale read
is a `Conflict`, which the runtime retries, and never overwrites a newer state or undoes the
finalizer of another controller.

A finalizer is for what lives outside the cluster: `ctx.hold` before creating it, `ctx.release`
after removing it. What was created after `hold` is cleaned up before the object disappears,
unless the finalizer is removed by hand. Clean-up may run more than once.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Struct

from certwright.kube import JsonObject
from certwright.kube.patches import create_merge_patch


def status_patch(live: JsonObject, new: JsonObject | Struct) -> JsonObject | None:
    """Return the merge patch that gives a *live* object its *new* status, None if it has it.

    A typed status is compared as its type sees it: fields it does not know are left alone,
    and a default is the same whether it is spelt out or not.
    """
    before = live.get("status")
    if not isinstance(before, dict):
        before = {}
    if isinstance(new, Struct):
        before = _as_seen_by(type(new), before)
        new = msgspec.to_builtins(new)
    if _is_same(before, new):
        return None
    change = create_merge_patch(_without_nulls(before), _without_nulls(new))
    if not change:
        return None
    metadata = live["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": precondition, "status": change}


def _is_same(before: JsonObject, new: object) -> bool:
    """Return whether two statuses are the same letter by letter, as nearly all are."""
    try:
        return orjson.dumps(before) == orjson.dumps(new)
    except orjson.JSONEncodeError:
        return False


def _without_nulls(value: Any) -> Any:
    """Drop nulls, which mean "absent" to a server and "delete" in a merge patch."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _as_seen_by(kind: type[Struct], status: JsonObject) -> JsonObject:
    try:
        seen: Any = msgspec.to_builtins(msgspec.convert(status, kind))
    except msgspec.ValidationError:
        return status  # of a wrong shape: replaced field by field
    return seen if isinstance(seen, dict) else status


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

"""Status: one write when it differs, none when it is equal.

The write is a merge patch with the resourceVersion the decision was based on, so a status
computed from a stale read is a `Conflict`, which the runtime retries, and never overwrites a
newer one. ``ctx.status`` sends it.
"""

from typing import Any

import msgspec
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
    change = create_merge_patch(_without_nulls(before), _without_nulls(new))
    if not change:
        return None
    metadata = live["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": precondition, "status": change}


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

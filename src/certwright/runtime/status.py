"""Status: one write when it differs, none when it is equal.

The write is a merge patch with the resourceVersion the decision was based on, so a status
computed from a stale read is a `Conflict`, which the runtime retries, and never overwrites a
newer one. ``ctx.status`` sends it.
"""

from typing import Any

import msgspec
from msgspec import Struct

from certwright.kube import JsonObject, create_merge_patch


def status_patch(live: JsonObject, new: JsonObject | Struct) -> JsonObject | None:
    """Return the merge patch that gives a *live* object its *new* status, None if it has it.

    A typed status is compared as its type sees it: fields it does not know are left alone,
    and a default is the same whether it is spelt out or not.
    """
    before = live.get("status")
    if not isinstance(before, dict):
        before = {}
    wanted: JsonObject = msgspec.to_builtins(new) if isinstance(new, Struct) else new
    if isinstance(new, Struct):
        before = _as_seen_by(type(new), before)
    change = create_merge_patch(before, wanted)
    if not change:
        return None
    metadata = live["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": precondition, "status": change}


def _as_seen_by(kind: type[Struct], status: JsonObject) -> JsonObject:
    try:
        seen: Any = msgspec.to_builtins(msgspec.convert(status, kind))
    except msgspec.ValidationError:
        return status  # of a wrong shape: replaced field by field
    return seen if isinstance(seen, dict) else status

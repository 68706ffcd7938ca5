"""How objects are deleted: what is kept, what goes along, when finalizers are cleared."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from certwright.apply.cluster import Live
from certwright.apply.engine.declared import Owner, OwnerState
from certwright.apply.refs import ObjectRef
from certwright.client import Propagation
from certwright.kube import LabelSelector

_FOREGROUND_GROUPS: Final = frozenset({"apps", "extensions", "batch"})


@dataclass(frozen=True, slots=True)
class DeleteRules:
    """What to do about objects that are no longer wanted."""

    keep: Callable[[ObjectRef, Live], str] = lambda _ref, _live: ""
    """Return why an object stays; an empty text lets it go."""
    finalize_after: Callable[[Live], timedelta | None] = lambda _live: None
    """Return after how much waiting finalizers are cleared; `ValueError` if that is unclear."""
    claims: bool = False
    """Delete the PersistentVolumeClaims of StatefulSets along with them."""


KEEP_NOTHING = DeleteRules()
"""Everything goes, at the pace of its finalizers."""


async def reason_to_keep(
    ref: ObjectRef, live: Live, owner: Owner | None, rules: DeleteRules
) -> str:
    """Return why an object is not deleted; empty if it is.

    What carries the mark of another owner is theirs, also if that one is gone: it may have left
    the object on purpose. It is not if that owner exists and does not list it. What carries no
    mark was ours: marks can be removed, and earlier versions set none.
    """
    other = other_owner(live, owner)
    if owner is None or not other or await owner.state(other, ref) is OwnerState.RELEASED:
        return rules.keep(ref, live)
    return f"it belongs to {other} now"


def other_owner(live: Live, owner: Owner | None) -> str:
    """Return the mark of another owner on an object; empty if it has none."""
    marked = live.annotations.get(owner.annotation) if owner is not None else None
    return "" if owner is None or not marked or owner.owns(marked) else marked


def propagation_for(ref: ObjectRef) -> Propagation | None:
    """Return how dependents go: before workloads, so that these are gone when they are gone."""
    return Propagation.FOREGROUND if ref.group in _FOREGROUND_GROUPS else None


def is_overdue(live: Live, rules: DeleteRules, now: datetime) -> bool:
    """Return whether finalizers hold an object too long; `ValueError` if its limit is malformed."""
    since = live.deleted_at
    patience = rules.finalize_after(live) if since is not None and live.finalizers else None
    return since is not None and patience is not None and now - since >= patience


def claims_selector(ref: ObjectRef, live: Live) -> str:
    """Return the selector of the claims that go along with a StatefulSet; empty if none do."""
    if ref.kind != "StatefulSet" or ref.group not in {"apps", "extensions"}:
        return ""
    spec: dict[str, Any] = live.obj.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels")
    if not spec.get("volumeClaimTemplates") or not labels:
        return ""
    return str(LabelSelector.from_labels(labels))

"""How objects are deleted: what is kept, what goes along, what is said about what lingers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from certwright.apply.cluster import Live
from certwright.apply.refs import ObjectRef


def _keep_none(_ref: ObjectRef, _live: Live) -> str:
    return ""


def _never(_live: Live) -> timedelta | None:
    return None


@dataclass(frozen=True, slots=True)
class DeleteRules:
    """What to do about objects that are no longer wanted."""

    keep: Callable[[ObjectRef, Live], str] = _keep_none
    """Return why an object stays; an empty text lets it go."""
    finalize_after: Callable[[Live], timedelta | None] = _never
    """Return after how much waiting finalizers are cleared; `ValueError` if that is unclear."""
    claims: bool = False
    """Delete the PersistentVolumeClaims of StatefulSets along with them."""


KEEP_NOTHING = DeleteRules()
"""Everything goes, at the pace of its finalizers."""

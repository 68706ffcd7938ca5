"""Which changes are worth another look. Pure functions over what was and what is.

A missing or unreadable side always passes: looking once too often is the safe mistake.
"""

from collections.abc import Callable, Container
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from certwright.issuer.conditions import READY, STATE
from certwright.kube import Condition, find_condition
from certwright.runtime import Entry, Predicate

_OURS = frozenset({READY, STATE})


class _Metadata(Struct, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Status(Struct):
    conditions: list[Condition] | None = None


class Seen(Struct):
    """What the predicates look at."""

    metadata: _Metadata = field(default_factory=_Metadata)
    status: _Status | None = None

    @property
    def conditions(self) -> list[Condition]:
        """The conditions, or none."""
        return (self.status.conditions if self.status else None) or []


Changed: TypeAlias = Callable[[Seen | None, Seen | None], bool]


def seen(entry: Entry | None) -> Seen | None:
    """Read an entry; None if there is none or it has another shape."""
    if entry is None:
        return None
    try:
        return msgspec.json.decode(entry.raw, type=Seen)
    except msgspec.DecodeError:
        return None


def request_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake for a CertificateRequest: conditions came or went, or one other than Ready changed.

    Ready is ours: its changes are our own doing. Annotations count, labels do not.
    """
    if old is None or new is None:
        return True
    return len(old.conditions) != len(new.conditions) or _others_changed(old, new, {READY})


def foreign_part_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake for a request of either kind, and sleep through our own doing altogether.

    What an author's `WithCondition` sets does wake: the author wants to be asked again.
    """
    if old is None or new is None:
        return True
    counts = [sum(one.type not in _OURS for one in side.conditions) for side in (old, new)]
    return counts[0] != counts[1] or _others_changed(old, new, _OURS)


def signing_request_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake for a Kubernetes signing request: as above, and every condition counts."""
    if old is None or new is None:
        return True
    return len(old.conditions) != len(new.conditions) or _others_changed(old, new, ())


def issuer_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake an issuer's own loop: its spec or annotations changed, or Ready came or went."""
    if old is None or new is None:
        return True
    return (
        old.metadata.generation != new.metadata.generation
        or _annotations(old) != _annotations(new)
        or (_ready(old) is None) != (_ready(new) is None)
    )


def readiness_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake the requests of an issuer: Ready came, went, flipped or speaks of another spec."""
    if old is None or new is None:
        return True
    before, after = _ready(old), _ready(new)
    if before is None or after is None:
        return before is not after
    return (before.status, before.observed_generation) != (after.status, after.observed_generation)


def marks_changed(old: Seen | None, new: Seen | None) -> bool:
    """Wake for labels and annotations: by these an author may tell what to ignore."""
    if old is None or new is None:
        return True
    labels = [side.metadata.labels or {} for side in (old, new)]
    return labels[0] != labels[1] or _annotations(old) != _annotations(new)


def either(*changes: Changed) -> Changed:
    """Return the predicate that passes what one of several does."""
    return lambda old, new: any(changed(old, new) for changed in changes)


def on_entries(changed: Changed) -> Predicate:
    """Return the predicate that reads entries first."""

    def predicate(old: Entry | None, new: Entry | None) -> bool:
        if old is None or new is None:
            return True
        return changed(seen(old), seen(new))

    return predicate


def _others_changed(old: Seen, new: Seen, ignored: Container[str]) -> bool:
    if _annotations(old) != _annotations(new):
        return True
    for before in old.conditions:
        if before.type in ignored:
            continue
        after = find_condition(new.conditions, before.type)
        if after is None or after.status != before.status:
            return True
    return False


def _annotations(side: Seen) -> dict[str, str]:
    return side.metadata.annotations or {}


def _ready(side: Seen) -> Condition | None:
    return find_condition(side.conditions, READY)

"""Which changes wake a controller. Pure functions over the old and the new state.

A missing or unreadable side always passes: one pass too many does no harm.
"""

from collections.abc import Callable, Container
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from certwright.issuer.requests.kind import StoredRequest
from certwright.issuer.status import READY, STATE
from certwright.kube import Condition, find_condition
from certwright.runtime import Entry, Predicate

_OURS = frozenset({READY, STATE})


class _Metadata(Struct, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Status(Struct):
    conditions: list[Condition] | None = None


class Outline(Struct):
    """As much of an issuer as the predicates compare."""

    metadata: _Metadata = field(default_factory=_Metadata)
    status: _Status | None = None

    @property
    def conditions(self) -> list[Condition]:
        """The conditions, or none."""
        return (self.status.conditions if self.status else None) or []


Side: TypeAlias = Outline | StoredRequest
"""One side of a change; requests are decoded anyway."""
Changed: TypeAlias = Callable[[Side | None, Side | None], bool]
Read: TypeAlias = Callable[[bytes], Side]


def read_outline(raw: bytes) -> Outline:
    """Decode what the predicates compare."""
    return msgspec.json.decode(raw, type=Outline)


def request_changed(old: Side | None, new: Side | None) -> bool:
    """Wake for a CertificateRequest: annotations or conditions changed, and not just our Ready."""
    if old is None or new is None:
        return True
    return len(old.conditions) != len(new.conditions) or _others_changed(old, new, {READY})


def foreign_part_changed(old: Side | None, new: Side | None) -> bool:
    """Wake for a request of either kind, but not for what we wrote ourselves.

    The condition that an author's `WithCondition` sets does wake: the author is to be called again.
    """
    if old is None or new is None:
        return True
    counts = [sum(one.type not in _OURS for one in side.conditions) for side in (old, new)]
    return counts[0] != counts[1] or _others_changed(old, new, _OURS)


def signing_request_changed(old: Side | None, new: Side | None) -> bool:
    """Wake for a Kubernetes signing request: as above, and every condition counts."""
    if old is None or new is None:
        return True
    return len(old.conditions) != len(new.conditions) or _others_changed(old, new, ())


def issuer_changed(old: Side | None, new: Side | None) -> bool:
    """Wake an issuer's own controller: its spec or annotations changed, or Ready came or went."""
    if old is None or new is None:
        return True
    return (
        old.metadata.generation != new.metadata.generation
        or _annotations(old) != _annotations(new)
        or (_ready(old) is None) != (_ready(new) is None)
    )


def readiness_changed(old: Side | None, new: Side | None) -> bool:
    """Wake the requests of an issuer: Ready came, went, flipped or is of another generation."""
    if old is None or new is None:
        return True
    before, after = _ready(old), _ready(new)
    if before is None or after is None:
        return before is not after
    return (before.status, before.observed_generation) != (after.status, after.observed_generation)


def marks_changed(old: Side | None, new: Side | None) -> bool:
    """Wake for labels and annotations: an author may decide by them what to ignore."""
    if old is None or new is None:
        return True
    labels = [side.metadata.labels or {} for side in (old, new)]
    return labels[0] != labels[1] or _annotations(old) != _annotations(new)


def either(*changes: Changed) -> Changed:
    """Return the predicate that passes what any of several passes."""
    return lambda old, new: any(changed(old, new) for changed in changes)


def on_entries(changed: Changed, read: Read = read_outline) -> Predicate:
    """Return the predicate that reads entries first."""

    def predicate(old: Entry | None, new: Entry | None) -> bool:
        if old is None or new is None:
            return True
        try:
            return changed(read(old.raw), read(new.raw))
        except msgspec.DecodeError:
            return True

    return predicate


def _others_changed(old: Side, new: Side, ignored: Container[str]) -> bool:
    if _annotations(old) != _annotations(new):
        return True
    for before in old.conditions:
        if before.type in ignored:
            continue
        after = find_condition(new.conditions, before.type)
        if after is None or after.status != before.status:
            return True
    return False


def _annotations(side: Side) -> dict[str, str]:
    return side.metadata.annotations or {}


def _ready(side: Side) -> Condition | None:
    return find_condition(side.conditions, READY)

"""Condition arithmetic of requests and issuers. Pure: the time is an argument.

An apply removes what it no longer mentions, so a status is built as a whole: conditions are
put into what will be written, and take their transition time from what is there.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec.structs import replace

from certwright.api.certificates import SigningCondition
from certwright.kube import Condition, find_condition

C = TypeVar("C", Condition, SigningCondition)

READY = "Ready"
APPROVED = "Approved"
DENIED = "Denied"
FAILED = "Failed"
INVALID_REQUEST = "InvalidRequest"
STATE = "SigningState"
"""Ours: holds what `Pending` carries from one attempt to the next."""

FORBIDDEN_ON_REQUESTS = frozenset({READY, APPROVED, DENIED, STATE})
FORBIDDEN_ON_SIGNING_REQUESTS = frozenset({APPROVED, DENIED, FAILED, STATE})
"""Condition types that authors must not set: they belong to others, or to this library."""


def put_condition(
    existing: Iterable[Condition], patch: Sequence[Condition], new: Condition, now: datetime
) -> list[Condition]:
    """Return *patch* with *new* in it: in the place of its type, or at the end.

    Its transition time is *now*, unless the *existing* condition has the same status: then
    it is kept.
    """
    before = find_condition(existing, new.type)
    same = before is not None and before.status == new.status
    since = (before.last_transition_time if before is not None and same else None) or now
    return _placed(patch, replace(new, last_transition_time=_whole(since)))


def put_signing_condition(
    existing: Iterable[SigningCondition],
    patch: Sequence[SigningCondition],
    new: SigningCondition,
    now: datetime,
) -> list[SigningCondition]:
    """As `put_condition`, for Kubernetes' signing requests: these also say when it was written."""
    before = next((one for one in existing if one.type == new.type), None)
    same = before is not None and before.status == new.status
    since = (before.last_transition_time if before is not None and same else None) or now
    stamped = replace(new, last_transition_time=_whole(since), last_update_time=_whole(now))
    return _placed(patch, stamped)


def transitioned(
    existing: Iterable[Condition | SigningCondition], new: Condition | SigningCondition
) -> bool:
    """Whether a condition is of a new type or changes its status: others will notice."""
    return all(one.type != new.type or one.status != new.status for one in existing)


def _placed(patch: Sequence[C], new: C) -> list[C]:
    placed = [new if one.type == new.type else one for one in patch]
    if new not in placed:
        placed.append(new)
    return placed


def _whole(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)

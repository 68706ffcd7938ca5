"""What a pass over a request or an issuer leads to: conditions, an event, when to look again. Pure.

An apply removes what it no longer mentions, so a status is built as a whole: conditions are
put into what will be written, and take their transition time from what is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from msgspec.structs import replace

from certwright.api.certificates import SigningCondition
from certwright.issuer.kinds import IssuerKey
from certwright.kube import Condition, JsonObject, Resource
from certwright.runtime.writes.events import EventType

C = TypeVar("C", Condition, SigningCondition)

READY = "Ready"
APPROVED = "Approved"
DENIED = "Denied"
FAILED = "Failed"
INVALID_REQUEST = "InvalidRequest"
STATE = "SigningState"
"""Ours: holds the state that `Pending` hands to the next attempt."""


class Phase(StrEnum):
    """Where a request stands, judging by the request alone."""

    CLOSED = "closed"
    """It is final, invalid or being deleted: nothing is written to it."""
    UNAPPROVED = "unapproved"
    """It is neither approved nor denied."""
    DENIED = "denied"
    """It is denied, and its Ready condition does not show it yet."""
    NEW = "new"
    """Only of issuer-lib, which writes a Ready condition before anything else."""
    APPROVED = "approved"
    """It is to be signed."""


class Requeue(StrEnum):
    """When an object is looked at again."""

    DONE = "done"
    """When something changes that concerns it."""
    WAIT = "wait"
    """When the issuer changes."""
    POLL = "poll"
    """After `StatusUpdate.after`; earlier failures are forgotten."""
    BACKOFF = "backoff"
    """After a delay that grows, at least `StatusUpdate.after`."""
    STOP = "stop"
    """Never by itself: it failed for good, or the change that is written wakes it."""


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """An event about the object."""

    type: EventType
    reason: str
    action: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusUpdate:
    """What to write and when to look again. *status* is all of ours; None writes nothing."""

    status: JsonObject | None = None
    event: StatusEvent | None = None
    requeue: Requeue = Requeue.DONE
    after: timedelta = timedelta()
    is_final: bool = False
    """Whether the request is final once this is written."""


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a request waits for its issuer: the reason of the event, and the message."""

    reason: str
    message: str


def issuer_missing(issuer: IssuerKey) -> WaitReason:
    """Return the reason to wait for an issuer that does not exist."""
    missing = f'{issuer.kind.qualified} "{issuer.key.name}" not found'
    return WaitReason("WaitingForIssuerExist", f"{missing}. Waiting for it to be created.")


def issuer_outdated() -> WaitReason:
    """Return the reason to wait for an issuer not checked since its spec changed or it failed."""
    return WaitReason(
        "WaitingForIssuerReady",
        "Waiting for issuer to become ready. Current issuer ready condition is outdated.",
    )


def issuer_not_ready(ready: Condition | None, generation: int) -> WaitReason | None:
    """Return why an issuer cannot sign, judging by its Ready condition; None if it can."""
    if ready is None:
        return WaitReason(
            "WaitingForIssuerReady",
            "Waiting for issuer to become ready. Current issuer ready condition: <none>.",
        )
    if ready.observed_generation < generation:
        return issuer_outdated()
    if ready.status != "True":
        return WaitReason(
            "WaitingForIssuerReady",
            "Waiting for issuer to become ready. Current issuer ready condition is"
            f' "{ready.reason}": {ready.message}.',
        )
    return None


def unserved(kind: Resource, requests: str) -> str:
    """Return the note on a request that names a kind which does not answer such requests."""
    return (
        f"{kind.kind} is a namespaced kind and does not answer {requests}s: name an issuer of the"
        f" cluster kind of {kind.group}, or let {kind.kind} answer them"
        " (IssuerApp(namespaced_csrs=True))"
    )


def find(conditions: Iterable[C], type_: str) -> C | None:
    """Return the condition of a type, of either kind of conditions."""
    return next((one for one in conditions if one.type == type_), None)


def put_condition(existing: Iterable[C], patch: Sequence[C], new: C, now: datetime) -> list[C]:
    """Return *patch* with *new* in it: in the place of its type, or at the end.

    Its transition time is *now*, unless the *existing* condition has the same status: then
    it is kept. Conditions of Kubernetes' signing requests also get the time of this write.
    """
    before = find(existing, new.type)
    same = before is not None and before.status == new.status
    since = (before.last_transition_time if before is not None and same else None) or now
    stamped = replace(new, last_transition_time=since.replace(microsecond=0))
    if isinstance(stamped, SigningCondition):
        stamped = replace(stamped, last_update_time=now.replace(microsecond=0))
    placed = [stamped if one.type == new.type else one for one in patch]
    if stamped not in placed:
        placed.append(stamped)
    return placed

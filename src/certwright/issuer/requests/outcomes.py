"""What one look at an object leads to: a status to apply, an event, and when to look again."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from certwright.issuer.requests.match import IssuerAt
from certwright.kube import Condition, JsonObject
from certwright.runtime.writes.events import EventType

Compat: TypeAlias = Literal["v1", "upstream"]
"""``v1`` is how this library behaves; ``upstream`` is Go's issuer-lib to the letter."""


class Next(StrEnum):
    """When to look again."""

    DONE = "done"
    """When something changes that is worth a look; for most: never."""
    WAIT = "wait"
    """When the issuer changes."""
    POLL = "poll"
    """After `Change.after`; earlier failures are forgotten."""
    BACKOFF = "backoff"
    """After a delay that grows, at least `Change.after`."""
    STOP = "stop"
    """Never by itself. Ended badly, or to be woken by the change it writes."""


@dataclass(frozen=True, slots=True)
class Notice:
    """An event about the object."""

    type: EventType
    reason: str
    action: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to write and what to do next. *status* is all of ours; None writes nothing."""

    status: JsonObject | None = None
    notice: Notice | None = None
    next: Next = Next.DONE
    after: timedelta = field(default=timedelta())
    is_final: bool = False
    """Whether the request is settled by it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a request waits for its issuer: the reason of the event, and the message."""

    reason: str
    message: str


def missing(at: IssuerAt) -> Waiting:
    """Wait for an issuer that does not exist."""
    return Waiting("WaitingForIssuerExist", f"{at.missing_text}. Waiting for it to be created.")


def outdated() -> Waiting:
    """Wait for an issuer that was not checked since its spec changed, or failed just now."""
    return Waiting(
        "WaitingForIssuerReady",
        "Waiting for issuer to become ready. Current issuer ready condition is outdated.",
    )


def not_ready(ready: Condition | None, generation: int) -> Waiting | None:
    """Say why an issuer cannot sign, judging by its Ready condition; None if it can."""
    if ready is None:
        return Waiting(
            "WaitingForIssuerReady",
            "Waiting for issuer to become ready. Current issuer ready condition: <none>.",
        )
    if ready.observed_generation < generation:
        return outdated()
    if ready.status != "True":
        return Waiting(
            "WaitingForIssuerReady",
            "Waiting for issuer to become ready. Current issuer ready condition is"
            f' "{ready.reason}": {ready.message}.',
        )
    return None


def pending_text(text: str, compat: Compat) -> str:
    """Say that signing takes its time; upstream says so twice."""
    prefix = "Signing still in progress. Reason: "
    return f"{prefix * (2 if compat == 'upstream' else 1)}{text}"

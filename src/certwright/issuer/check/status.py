"""What an issuer says about itself, and what is to be done with it next. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import to_builtins

from certwright.issuer.conditions import READY, put_condition
from certwright.issuer.requests.outcomes import Change, Compat, Next, Notice
from certwright.kube import Condition, ConditionStatus, find_condition


class IssuerStep(StrEnum):
    """What an issuer needs."""

    LEAVE = "leave"
    """It failed for good, and its spec did not change since."""
    INITIALIZE = "initialize"
    REPORT = "report"
    """A request found out that it cannot sign: that is the result."""
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an issuer is not ready, and whether only a change of its spec helps."""

    text: str
    is_permanent: bool = False


def issuer_step(
    conditions: Sequence[Condition], generation: int, *, is_reported: bool, is_changed: bool = False
) -> IssuerStep:
    """Decide what an issuer needs.

    *is_reported*: a request complained since. *is_changed*: something its spec refers to
    changed, which gives one that failed for good another chance.
    """
    ready = find_condition(conditions, READY)
    if ready is None:
        return IssuerStep.INITIALIZE
    failed = ready.status == "False" and ready.reason == "Failed"
    if failed and ready.observed_generation >= generation and not is_changed:
        return IssuerStep.LEAVE
    if is_reported and ready.status == "True":
        return IssuerStep.REPORT
    return IssuerStep.CHECK


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerScribe:
    """Writes the status of issuers, in the words of one app."""

    field_owner: str
    compat: Compat = "v1"

    def initialize(self, conditions: Sequence[Condition], generation: int, now: datetime) -> Change:
        """Say that the issuer was seen."""
        message = f"{self.field_owner} has started reconciling this Issuer"
        ready = _ready("Unknown", "Initializing", message, generation)
        return Change(status={"conditions": to_builtins(put_condition(conditions, [], ready, now))})

    def checked(
        self,
        conditions: Sequence[Condition],
        generation: int,
        trouble: Trouble | None,
        now: datetime,
    ) -> Change:
        """Say what the check found."""
        if trouble is None:
            message = "Succeeded checking the issuer"
            ready = _ready("True", "Checked", message, generation)
            notice, step = Notice("Normal", "Checked", "Synced", message), Next.DONE
        elif trouble.is_permanent:
            message = f"Failed permanently: {trouble.text}"
            ready = _ready("False", "Failed", message, generation)
            notice, step = Notice("Warning", "PermanentError", "SyncFailed", message), Next.STOP
        else:
            message = f"Not ready yet: {trouble.text}"
            ready = _ready("False", "Pending", message, generation)
            notice, step = Notice("Warning", "RetryableError", "SyncFailed", message), Next.BACKOFF
        [written] = put_condition(conditions, [], ready, now)
        if self.compat == "v1" and written in conditions:
            return Change(next=step)
        return Change(status={"conditions": [to_builtins(written)]}, notice=notice, next=step)


def _ready(status: ConditionStatus, reason: str, message: str, generation: int) -> Condition:
    return Condition(
        type=READY, status=status, reason=reason, message=message, observed_generation=generation
    )

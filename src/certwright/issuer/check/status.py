"""What an issuer needs next, and the status that shows the result. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import to_builtins

from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.result import CheckFailure
from certwright.issuer.status import READY, Requeue, StatusEvent, StatusUpdate, put_condition
from certwright.kube import Condition, ConditionStatus, find_condition


class IssuerStep(StrEnum):
    """What an issuer needs."""

    LEAVE = "leave"
    """It failed for good, and neither its spec nor a Secret changed since."""
    INITIALIZE = "initialize"
    REPORT = "report"
    """A request met a failure of the issuer: that is the result."""
    CHECK = "check"


def issuer_step(
    conditions: Sequence[Condition], generation: int, *, is_reported: bool, is_changed: bool = False
) -> IssuerStep:
    """Return what an issuer needs.

    *is_reported*: a request reported a failure since. *is_changed*: a Secret that its spec
    refers to changed, which gives one that failed for good another chance.
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


@dataclass(frozen=True, slots=True)
class IssuerStatusWriter:
    """Builds the status of issuers."""

    settings: IssuerSettings

    def initialize(
        self, conditions: Sequence[Condition], generation: int, now: datetime
    ) -> StatusUpdate:
        """Return Ready=Unknown."""
        message = f"{self.settings.field_manager} has started reconciling this Issuer"
        ready = _ready("Unknown", "Initializing", message, generation)
        return StatusUpdate(
            status={"conditions": to_builtins(put_condition(conditions, [], ready, now))}
        )

    def checked(
        self,
        conditions: Sequence[Condition],
        generation: int,
        failure: CheckFailure | None,
        now: datetime,
    ) -> StatusUpdate:
        """Return the result of a check."""
        if failure is None:
            message = "Succeeded checking the issuer"
            ready = _ready("True", "Checked", message, generation)
            event = StatusEvent("Normal", "Checked", "Synced", message)
            requeue = Requeue.DONE
        elif failure.is_permanent:
            message = f"Failed permanently: {failure.text}"
            ready = _ready("False", "Failed", message, generation)
            event = StatusEvent("Warning", "PermanentError", "SyncFailed", message)
            requeue = Requeue.STOP
        else:
            message = f"Not ready yet: {failure.text}"
            ready = _ready("False", "Pending", message, generation)
            event = StatusEvent("Warning", "RetryableError", "SyncFailed", message)
            requeue = Requeue.BACKOFF
        [written] = put_condition(conditions, [], ready, now)
        if self.settings.compatibility.skips_repeated and written in conditions:
            return StatusUpdate(requeue=requeue)
        return StatusUpdate(
            status={"conditions": [to_builtins(written)]}, event=event, requeue=requeue
        )


def _ready(status: ConditionStatus, reason: str, message: str, generation: int) -> Condition:
    return Condition(
        type=READY, status=status, reason=reason, message=message, observed_generation=generation
    )

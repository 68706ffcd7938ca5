"""Issuers, row by row as upstream treats them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import pytest
from tests.support.issuer.issuer_rows import FIELD_OWNER, T1, T2, at, condition

from certwright.issuer.author import Author
from certwright.issuer.check.status import IssuerStatusWriter, IssuerStep, issuer_step
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.result import CheckFailure, check_failure
from certwright.issuer.sign.sign import error_rules
from certwright.issuer.status import Requeue
from certwright.issuer.verbs import Permanent
from certwright.kube import Condition

pytestmark = pytest.mark.scenario("ISS-100")

CHECKED, STARTED = (
    "Succeeded checking the issuer",
    f"{FIELD_OWNER} has started reconciling this Issuer",
)


def ready(status: str, reason: str, message: str, since: datetime, observed: int) -> dict[str, Any]:
    times = {"lastTransitionTime": at(since), "observedGeneration": observed}
    return condition("Ready", status, reason, message, **times)


@dataclass
class Row:
    """One row: what the issuer says, what is reported or checked, and what must come of it."""

    name: str
    before: dict[str, Any]
    """Its Ready condition; empty when it has none."""
    generation: int = 80
    check: Any = "not called"
    """What check raises; empty when it succeeds."""
    reported: CheckFailure | None = None
    after: dict[str, Any] | None = None
    """The Ready condition written; None when nothing is."""
    event: str = ""
    requeue: Requeue = Requeue.DONE


ROWS = [
    Row(
        "trigger-when-ready",
        before=ready("True", "Checked", CHECKED, T1, 80),
        check="",
        after=ready("True", "Checked", CHECKED, T1, 80),
        event=f"Normal Checked {CHECKED}",
    ),
    Row("ignore-failed", before=ready("False", "Failed", "[error message]", T1, 80)),
    Row(
        "failed-ignore-reported-error",
        before=ready("False", "Failed", "[error message]", T1, 80),
        reported=CheckFailure("[specific error]"),
    ),
    Row(
        "ready-reported-error",
        before=ready("True", "Checked", CHECKED, T1, 80),
        reported=CheckFailure("[specific error]"),
        after=ready("False", "Pending", "Not ready yet: [specific error]", T2, 80),
        event="Warning RetryableError Not ready yet: [specific error]",
        requeue=Requeue.BACKOFF,
    ),
    Row(
        "recheck-outdated-ready",
        before=ready("True", "Checked", CHECKED, T1, 80),
        generation=81,
        check="",
        after=ready("True", "Checked", CHECKED, T1, 81),
        event=f"Normal Checked {CHECKED}",
    ),
    Row(
        "initialize-ready-condition",
        before={},
        after=ready("Unknown", "Initializing", STARTED, T2, 80),
    ),
    Row(
        "retry-on-error",
        before=ready("Unknown", "Initializing", STARTED, T1, 80),
        check=ValueError("[specific error]"),
        after=ready("False", "Pending", "Not ready yet: [specific error]", T2, 80),
        event="Warning RetryableError Not ready yet: [specific error]",
        requeue=Requeue.BACKOFF,
    ),
    Row(
        "dont-retry-on-permanent-error",
        before=ready("Unknown", "Initializing", STARTED, T1, 80),
        check=Permanent("[specific error]"),
        after=ready("False", "Failed", "Failed permanently: [specific error]", T2, 80),
        event="Warning PermanentError Failed permanently: [specific error]",
        requeue=Requeue.STOP,
    ),
    Row(
        "success-issuer",
        before=ready("Unknown", "Initializing", STARTED, T1, 80),
        check="",
        after=ready("True", "Checked", CHECKED, T2, 80),
        event=f"Normal Checked {CHECKED}",
    ),
    Row(
        "success-recover",
        before=ready("False", "Initializing", STARTED, T1, 80),
        generation=81,
        check="",
        after=ready("True", "Checked", CHECKED, T2, 81),
        event=f"Normal Checked {CHECKED}",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_upstream(row: Row) -> None:
    conditions = msgspec.convert([row.before] if row.before else [], list[Condition])
    settings = IssuerSettings(group="x", field_owner=FIELD_OWNER, compat="upstream")
    writer = IssuerStatusWriter(settings)
    step = issuer_step(conditions, row.generation, is_reported=row.reported is not None)
    match step:
        case IssuerStep.LEAVE:
            assert row.after is None
            return
        case IssuerStep.INITIALIZE:
            update = writer.initialize(conditions, row.generation, T2)
        case IssuerStep.REPORT:
            assert row.check == "not called"
            update = writer.checked(conditions, row.generation, row.reported, T2)
        case IssuerStep.CHECK:
            assert row.check != "not called"
            rules = error_rules(Author(), settings)
            failure = check_failure(row.check, rules) if row.check else None
            update = writer.checked(conditions, row.generation, failure, T2)
    assert update.status == {"conditions": [row.after]}
    event = update.event
    assert (f"{event.type} {event.reason} {event.note}" if event else "") == row.event
    assert update.requeue == row.requeue


def test_no_row_is_forgotten() -> None:
    """The 11th, of an issuer that is gone, is left to a cluster."""
    assert len({row.name for row in ROWS}) == 10

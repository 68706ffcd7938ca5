"""CertificateRequests, row by row as upstream answers them: status, event and what comes next."""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct
from tests.support.issuer.issuer_rows import (
    FIELD_OWNER,
    ISSUER,
    LEFT_ALONE,
    T1,
    T2,
    Reconciler,
    at,
    both_issuers,
    condition,
    entry_of,
    issuer,
    request_kind,
)

from certwright.issuer.request import Bundle
from certwright.issuer.status import Requeue
from certwright.issuer.verbs import Pending, Permanent, WithCondition
from certwright.kube import JsonObject

pytestmark = pytest.mark.scenario("ISS-100")

READY_UNKNOWN = condition(
    "Ready", "Unknown", "Initializing", f"{FIELD_OWNER} has started reconciling this CertificateRequest",
    lastTransitionTime=at(T1),
)  # fmt: skip
APPROVED = condition(
    "Approved", "True", "ApprovedReason", "ApprovedMessage", lastTransitionTime=at(T1)
)
DENIED = condition("Denied", "True", "DeniedReason", "DeniedMessage", lastTransitionTime=at(T1))
CUSTOM = condition("[condition type]", "True", "[reason]", "test error", lastTransitionTime=at(T1))
EMPTY_BUNDLE = Bundle(b"cert", b"")


def request(
    *conditions: dict[str, Any],
    created: datetime = T2,
    kind: str = "TestIssuer",
    group: str = "testing.cert-manager.io",
) -> Struct:
    return entry_of(
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "CertificateRequest",
            "metadata": {"name": "cr1", "namespace": "ns1", "creationTimestamp": at(created)},
            "spec": {
                "request": "",
                "issuerRef": {"name": "issuer-1", "kind": kind, "group": group},
            },
            "status": {"conditions": list(conditions)},
        },
        own=("Ready",),
    )


def pending(message: str, since: datetime = T2) -> JsonObject:
    return condition("Ready", "False", "Pending", message, lastTransitionTime=at(since))


def failed(message: str) -> JsonObject:
    return condition("Ready", "False", "Failed", message, lastTransitionTime=at(T2))


def custom(since: datetime = T2) -> JsonObject:
    return {**CUSTOM, "lastTransitionTime": at(since)}


LONG_AGO = T2 - timedelta(minutes=2)
OLD = request(READY_UNKNOWN, APPROVED, created=LONG_AGO)
NEW = request(READY_UNKNOWN, APPROVED)


def set_condition(cause: Exception) -> WithCondition:
    return WithCondition("[condition type]", "True", "[reason]", cause)


@dataclass
class Row:
    """One row: what is there, what sign does, and what must come of it."""

    name: str
    request: Any = NEW
    sign: Any = None
    issuer: Any = None
    """None: both are ready. An entry: this one instead of the namespaced one."""
    conditions: list[dict[str, Any]] | None = None
    """None: left alone."""
    more: dict[str, Any] = field(default_factory=dict)
    event: str = ""
    requeue: Requeue = Requeue.DONE
    after: timedelta = timedelta()


def waiting(name: str, message: str, reason: str = "WaitingForIssuerReady", **row: Any) -> Row:
    return Row(
        name,
        conditions=[pending(message)],
        event=f"Normal {reason} {message}",
        requeue=Requeue.WAIT,
        **row,
    )


NOT_READY = condition(
    "Ready", "False", "[REASON]", "[MESSAGE]", lastTransitionTime=at(T1), observedGeneration=70
)
WAIT = "Waiting for issuer to become ready. Current issuer ready condition"
STILL = "Signing still in progress. Reason: Signing still in progress. Reason: "
PERMANENT = "Failed permanently to sign CertificateRequest: test error"
RETRY = "Failed to sign CertificateRequest, will retry: test error"
DENIED_TEXT = "Detected that the CertificateRequest is denied, so it will never be Ready."
FAILED_AT = {"failureTime": at(T2)}
SIGNED = {"certificate": b64encode(b"cert").decode()}
ISSUED = condition(
    "Ready", "True", "Issued", "Succeeded signing the CertificateRequest", lastTransitionTime=at(T2)
)
ISSUED_EVENT = "Normal Issued Succeeded signing the CertificateRequest"
ERROR = ValueError("test error")

ROWS = [
    Row("ignore-unless-approved-or-denied", request=request()),
    Row(
        "issuer-ref-unknown-group", request=request(READY_UNKNOWN, APPROVED, group="unknown-group")
    ),
    Row("issuer-ref-unknown-kind", request=request(READY_UNKNOWN, APPROVED, kind="unknown-kind")),
    Row("already-ready", request=request(APPROVED, condition("Ready", "True", "Issued"))),
    Row("already-failed", request=request(APPROVED, condition("Ready", "False", "Failed"))),
    Row("already-denied", request=request(APPROVED, condition("Ready", "False", "Denied"))),
    Row(
        "initialize-ready-condition",
        request=request(APPROVED),
        conditions=[{**READY_UNKNOWN, "lastTransitionTime": at(T2)}],
    ),
    Row(
        "set-ready-denied",
        request=request(READY_UNKNOWN, APPROVED, DENIED),
        conditions=[condition("Ready", "False", "Denied", DENIED_TEXT, lastTransitionTime=at(T2))],
        more=FAILED_AT,
        event=f"Warning PermanentError {DENIED_TEXT}",
        requeue=Requeue.STOP,
    ),
    waiting(
        "set-ready-pending-missing-issuer",
        'testissuers.testing.cert-manager.io "issuer-1" not found. Waiting for it to be created.',
        "WaitingForIssuerExist",
        issuer="missing",
    ),
    waiting(
        "set-ready-pending-issuer-has-no-ready-condition",
        f"{WAIT}: <none>.",
        issuer=issuer(ready={}),
    ),
    waiting(
        "set-ready-pending-issuer-is-not-ready",
        f'{WAIT} is "[REASON]": [MESSAGE].',
        issuer=issuer(ready=NOT_READY),
    ),
    waiting(
        "set-ready-pending-issuer-ready-outdated",
        f"{WAIT} is outdated.",
        issuer=issuer(generation=71),
    ),
    Row(
        "timeout-permanent-error",
        request=OLD,
        sign=ERROR,
        conditions=[failed(PERMANENT)],
        more=FAILED_AT,
        event=f"Warning PermanentError {PERMANENT}",
        requeue=Requeue.STOP,
    ),
    Row(
        "retry-on-pending-error",
        request=OLD,
        sign=Pending("reason for being pending"),
        conditions=[pending(f"{STILL}reason for being pending")],
        event=f"Warning RetryableError {STILL}reason for being pending",
        requeue=Requeue.POLL,
        after=timedelta(seconds=1),
    ),
    Row(
        "retry-on-pending-error-custom",
        request=OLD,
        sign=Pending("reason for being pending", after=timedelta(seconds=5)),
        conditions=[pending(f"{STILL}reason for being pending")],
        event=f"Warning RetryableError {STILL}reason for being pending",
        requeue=Requeue.POLL,
        after=timedelta(seconds=5),
    ),
    Row(
        "error-set-certificate-request-condition-should-add-new-condition-and-retry",
        sign=set_condition(ERROR),
        conditions=[custom(), pending(RETRY)],
        event=f"Warning RetryableError {RETRY}",
        requeue=Requeue.STOP,
    ),
    Row(
        "error-set-certificate-request-condition-should-update-existing-condition-and-retry",
        request=request(READY_UNKNOWN, APPROVED, CUSTOM),
        sign=set_condition(ERROR),
        conditions=[custom(T1), pending(RETRY)],
        event=f"Warning RetryableError {RETRY}",
        requeue=Requeue.BACKOFF,
    ),
    Row(
        "error-set-certificate-request-condition-should-add-new-condition-and-timeout",
        request=OLD,
        sign=set_condition(ERROR),
        conditions=[custom(), failed(PERMANENT)],
        more=FAILED_AT,
        event=f"Warning PermanentError {PERMANENT}",
        requeue=Requeue.STOP,
    ),
    Row(
        "error-set-certificate-request-condition-should-update-existing-condition-and-timeout",
        request=request(READY_UNKNOWN, APPROVED, CUSTOM, created=LONG_AGO),
        sign=set_condition(ERROR),
        conditions=[custom(T1), failed(PERMANENT)],
        more=FAILED_AT,
        event=f"Warning PermanentError {PERMANENT}",
        requeue=Requeue.STOP,
    ),
    Row(
        "error-set-certificate-request-condition-should-not-timeout-if-pending",
        request=OLD,
        sign=set_condition(Pending("test error")),
        conditions=[custom(), pending(f"{STILL}test error")],
        event=f"Warning RetryableError {STILL}test error",
        requeue=Requeue.STOP,
        after=timedelta(seconds=1),
    ),
    Row(
        "error-set-certificate-request-condition-should-not-retry-on-permanent-error",
        sign=set_condition(Permanent("test error")),
        conditions=[custom(), failed(PERMANENT)],
        more=FAILED_AT,
        event=f"Warning PermanentError {PERMANENT}",
        requeue=Requeue.STOP,
    ),
    Row(
        "fail-on-permanent-error",
        sign=Permanent("test error"),
        conditions=[failed(PERMANENT)],
        more=FAILED_AT,
        event=f"Warning PermanentError {PERMANENT}",
        requeue=Requeue.STOP,
    ),
    Row(
        "retry-on-error",
        sign=ERROR,
        conditions=[pending(RETRY)],
        event=f"Warning RetryableError {RETRY}",
        requeue=Requeue.BACKOFF,
    ),
    Row("success-issuer", sign=EMPTY_BUNDLE, conditions=[ISSUED], more=SIGNED, event=ISSUED_EVENT),
    Row(
        "success-clusterissuer",
        request=request(READY_UNKNOWN, APPROVED, kind="TestClusterIssuer"),
        sign=EMPTY_BUNDLE,
        conditions=[ISSUED],
        more=SIGNED,
        event=ISSUED_EVENT,
    ),
]


@pytest.mark.scenario("ISS-40")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_upstream(row: Row) -> None:
    issuers = both_issuers()
    if row.issuer is not None:
        where = next(place for place in issuers if place.kind is ISSUER)
        del issuers[where]
        if row.issuer != "missing":
            issuers[where] = row.issuer
    looked = Reconciler(request_kind("upstream"), issuers).look(row.request, row.sign)
    if row.conditions is None:
        assert looked == LEFT_ALONE
        return
    assert looked.update is not None
    assert looked.update.status == {"conditions": row.conditions, **row.more}
    assert (looked.event, looked.requeue) == (row.event, row.requeue)
    assert looked.update.after == row.after


def test_no_row_is_forgotten() -> None:
    """The 26th, of a request that is gone, is left to a cluster."""
    assert len({row.name for row in ROWS}) == 25


@pytest.mark.scenario("ISS-27")
@pytest.mark.parametrize(("ca", "written"), [(b"", {}), (b"root", {"ca": "cm9vdA=="})])
def test_an_authority_is_written_if_there_is_one(ca: bytes, written: JsonObject) -> None:
    kind = request_kind("upstream", set_ca=True)
    row = Row("an authority", sign=Bundle(b"cert", ca))
    looked = Reconciler(kind, both_issuers()).look(row.request, row.sign)
    assert looked.update is not None
    assert looked.update.status == {"conditions": [ISSUED], **SIGNED, **written}

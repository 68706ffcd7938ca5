"""Kubernetes' signing requests, row by row as upstream answers them."""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct
from tests.support.issuer.issuer_rows import (
    CLUSTER_ISSUER,
    LEFT_ALONE,
    T1,
    T2,
    Reconciler,
    at,
    both_issuers,
    condition,
    entry_of,
    issuer,
    signing_kind,
)

from certwright.issuer.request import Bundle
from certwright.issuer.status import Requeue
from certwright.issuer.verbs import Pending, Permanent, WithCondition
from certwright.kube import JsonObject

pytestmark = pytest.mark.scenario("ISS-100")

TIMES = {"lastTransitionTime": at(T1), "lastUpdateTime": at(T1)}
APPROVED = condition("Approved", "True", "ApprovedReason", "ApprovedMessage", **TIMES)
CUSTOM = condition("[condition type]", "True", "[reason]", "test error", **TIMES)
SIGNER = "testclusterissuers.testing.cert-manager.io/issuer-1"
LONG_AGO = T2 - timedelta(minutes=2)


def request(
    *conditions: JsonObject, created: datetime = T2, signer: str = SIGNER, certificate: str = ""
) -> Struct:
    status: JsonObject = {"conditions": list(conditions)}
    if certificate:
        status["certificate"] = certificate
    return entry_of(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "cr1", "creationTimestamp": at(created)},
            "spec": {"request": "", "signerName": signer},
            "status": status,
        }
    )


NEW, OLD = request(APPROVED), request(APPROVED, created=LONG_AGO)
ERROR = ValueError("test error")
WAIT = "Waiting for issuer to become ready. Current issuer ready condition"
STILL = "Signing still in progress. Reason: Signing still in progress. Reason: "
FAILED_TEXT = "CertificateSigningRequest has failed permanently: test error"
RETRY = "Failed to sign CertificateSigningRequest, will retry: test error"
NOT_READY = condition(
    "Ready", "False", "[REASON]", "[MESSAGE]", lastTransitionTime=at(T1), observedGeneration=70
)
FAILED = condition(
    "Failed", "True", "Failed", FAILED_TEXT, lastTransitionTime=at(T2), lastUpdateTime=at(T2)
)


def custom(since: datetime = T2) -> JsonObject:
    return {**CUSTOM, "lastTransitionTime": at(since), "lastUpdateTime": at(T2)}


def set_condition(cause: Exception) -> WithCondition:
    return WithCondition("[condition type]", "True", "[reason]", cause)


@dataclass
class Row:
    """One row: what is there, what sign does, and what must come of it."""

    name: str
    request: Any = NEW
    sign: Any = None
    issuer: Any = None
    conditions: list[dict[str, Any]] | None = None
    """None: left alone. Empty: an empty status."""
    more: dict[str, Any] = field(default_factory=dict)
    event: str = ""
    requeue: Requeue = Requeue.DONE
    after: timedelta = timedelta()


def waiting(name: str, message: str, reason: str = "WaitingForIssuerReady", **row: Any) -> Row:
    return Row(name, conditions=[], event=f"Normal {reason} {message}", requeue=Requeue.WAIT, **row)


def failing(name: str, conditions: list[dict[str, str]], **row: Any) -> Row:
    event = f"Warning PermanentError {FAILED_TEXT}"
    return Row(name, conditions=conditions, event=event, requeue=Requeue.STOP, **row)


def retrying(name: str, conditions: list[dict[str, str]], requeue: Any, **row: Any) -> Row:
    event = f"Warning RetryableError {RETRY}"
    return Row(name, conditions=conditions, event=event, requeue=requeue, **row)


ROWS = [
    Row("ignore-unless-approved-or-denied", request=request()),
    Row("issuer-ref-unknown-group", request=request(APPROVED, signer="testclusterissuers.x.y/issuer-1")),
    Row("issuer-ref-unknown-kind", request=request(APPROVED, signer="x.testing.cert-manager.io/issuer-1")),
    Row("already-ready", request=request(APPROVED, certificate="AAAA")),
    Row("already-failed", request=request(APPROVED, condition("Failed", "True"))),
    Row("already-denied", request=request(APPROVED, condition("Denied", "True"))),
    waiting(
        "set-ready-pending-missing-issuer",
        'testclusterissuers.testing.cert-manager.io "issuer-1" not found.'
        " Waiting for it to be created.",
        "WaitingForIssuerExist",
        issuer="missing",
    ),
    waiting(
        "set-ready-pending-issuer-has-no-ready-condition",
        f"{WAIT}: <none>.",
        issuer=issuer(CLUSTER_ISSUER, ready={}),
    ),
    waiting(
        "set-ready-pending-issuer-is-not-ready",
        f'{WAIT} is "[REASON]": [MESSAGE].',
        issuer=issuer(CLUSTER_ISSUER, ready=NOT_READY),
    ),
    waiting(
        "set-ready-pending-issuer-ready-outdated",
        f"{WAIT} is outdated.",
        issuer=issuer(CLUSTER_ISSUER, generation=71),
    ),
    failing("timeout-permanent-error", [FAILED], request=OLD, sign=ERROR),
    Row(
        "retry-on-pending-error",
        request=OLD,
        sign=Pending("reason for being pending"),
        conditions=[],
        event=f"Warning Pending {STILL}reason for being pending",
        requeue=Requeue.POLL,
        after=timedelta(seconds=1),
    ),
    Row(
        "retry-on-pending-error-custom",
        request=OLD,
        sign=Pending("reason for being pending", after=5),
        conditions=[],
        event=f"Warning Pending {STILL}reason for being pending",
        requeue=Requeue.POLL,
        after=timedelta(seconds=5),
    ),
    retrying(
        "error-set-certificate-request-condition-should-add-new-condition-and-retry",
        [custom()],
        Requeue.STOP,
        sign=set_condition(ERROR),
    ),
    retrying(
        "error-set-certificate-request-condition-should-update-existing-condition-and-retry",
        [custom(T1)],
        Requeue.BACKOFF,
        request=request(APPROVED, CUSTOM),
        sign=set_condition(ERROR),
    ),
    failing(
        "error-set-certificate-request-condition-should-add-new-condition-and-timeout",
        [custom(), FAILED],
        request=OLD,
        sign=set_condition(ERROR),
    ),
    failing(
        "error-set-certificate-request-condition-should-update-existing-condition-and-timeout",
        [custom(T1), FAILED],
        request=request(APPROVED, CUSTOM, created=LONG_AGO),
        sign=set_condition(ERROR),
    ),
    Row(
        "error-set-certificate-request-condition-should-not-timeout-if-pending",
        request=OLD,
        sign=set_condition(Pending("test error")),
        conditions=[custom()],
        event=f"Warning Pending {STILL}test error",
        requeue=Requeue.STOP,
        after=timedelta(seconds=1),
    ),
    failing(
        "error-set-certificate-request-condition-should-not-retry-on-permanent-error",
        [custom(), FAILED],
        sign=set_condition(Permanent("test error")),
    ),
    failing("fail-on-permanent-error", [FAILED], sign=Permanent("test error")),
    retrying("retry-on-error", [], Requeue.BACKOFF, sign=ERROR),
    Row("success-issuer", request=request(APPROVED, signer="testissuers.testing.cert-manager.io/ns1.issuer-1")),
    Row(
        "success-clusterissuer",
        sign=Bundle(b"cert"),
        conditions=[],
        more={"certificate": b64encode(b"cert").decode()},
        event="Normal Issued Succeeded signing the CertificateSigningRequest",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_upstream(row: Row) -> None:
    issuers = both_issuers()
    if row.issuer is not None:
        where = next(place for place in issuers if place.kind is CLUSTER_ISSUER)
        del issuers[where]
        if row.issuer != "missing":
            issuers[where] = row.issuer
    looked = Reconciler(signing_kind("upstream"), issuers).look(row.request, row.sign)
    if row.conditions is None:
        assert looked == LEFT_ALONE
        return
    assert looked.update is not None
    conditions = {"conditions": row.conditions} if row.conditions else {}
    assert looked.update.status == {**conditions, **row.more}
    assert (looked.event, looked.requeue) == (row.event, row.requeue)
    assert looked.update.after == row.after


def test_no_row_is_forgotten() -> None:
    """The 24th, of a request that is gone, is left to a cluster."""
    assert len({row.name for row in ROWS}) == 23

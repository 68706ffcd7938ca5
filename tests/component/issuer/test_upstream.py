"""``compat="upstream"`` on a cluster: the texts, the order and the timing of Go's issuer-lib."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.support.issuer.issuer_world import GROUP, World

from certwright.api.certmanager import CertificateRequest, IssuerRef
from certwright.issuer import Bundle, IssuerUnavailable, Pending, Permanent, WithCondition
from certwright.kube import find_condition
from certwright.runtime import Backoff
from certwright.testkit import Calls

pytestmark = pytest.mark.scenario("ISS-100")

WAIT = "Waiting for issuer to become ready. Current issuer ready condition"
STILL = "Signing still in progress. Reason: "
STARTED = f"{GROUP} has started reconciling this CertificateRequest"


def said(calls: Calls) -> list[str]:
    """Return what was written about a request, write by write."""
    return [
        (call.body or b"").decode()
        for call in calls.of("CertificateRequest")
        if call.verb == "patch"
    ]


@pytest.mark.parametrize("cluster_kind", [False, True], ids=["issuer", "clusterissuer"])
async def test_initially_not_found_and_not_ready(
    world: Callable[..., World], *, cluster_kind: bool
) -> None:
    w = world(compat="upstream")
    kind = "TestClusterIssuer" if cluster_kind else "TestIssuer"
    name = f"issuer-{w.cluster.namespace}" if cluster_kind else "issuer-1"
    await w.request(issuer=IssuerRef(name, kind, GROUP))
    calls = await w.settle()
    plural = "testclusterissuers" if cluster_kind else "testissuers"
    missing = f'{plural}.{GROUP} "{name}" not found. Waiting for it to be created.'
    assert STARTED in said(calls)[0]
    assert (await w.ready()).message == missing
    await w.issuer(name, cluster=cluster_kind)
    calls = await w.settle()
    assert (await w.ready()).reason == "Issued"
    assert len(w.script.sign_calls) == 1
    if cluster_kind:
        await w.cluster.delete(w.cluster_kind, name)


async def test_set_condition(embedded_world: Callable[..., World]) -> None:
    w = embedded_world(compat="upstream")
    w.script.signs[:] = [
        WithCondition("[condition type]", "True", "[reason]", ValueError("msg1")),
        WithCondition("[condition type]", "True", "[reason]", ValueError("msg2")),
    ]
    await w.issuer()
    await w.request()
    calls = await w.settle()
    bodies = said(calls)
    assert any('"message":"msg1"' in body for body in bodies)
    assert any('"message":"msg2"' in body for body in bodies)
    await w.cluster.advance(seconds=1)
    assert (await w.ready()).reason == "Issued"
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert find_condition(found.status.conditions, "[condition type]") is None, "upstream drops it"
    assert len(w.script.sign_calls) == 3


async def test_pending_says_so_twice(embedded_world: Callable[..., World]) -> None:
    w = embedded_world(compat="upstream")
    w.script.signs[:] = [Pending("soon", after=30)]
    await w.issuer()
    await w.request()
    await w.settle()
    assert (await w.ready()).message == f"{STILL}{STILL}soon"
    assert ("Warning", "RetryableError", f"{STILL}{STILL}soon") in await w.events()


async def test_an_issuer_that_does_not_change_is_left_alone(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world(compat="upstream")
    await w.issuer()
    await w.settle()
    assert w.script.check_calls == 1
    calls = await w.cluster.advance(hours=1)
    assert w.script.check_calls == 1
    assert calls.writes == 0


@pytest.mark.parametrize("permanent", [False, True], ids=["normal-error", "permanent-error"])
async def test_temporary_failed_certificate_request_retrigger(
    embedded_world: Callable[..., World], *, permanent: bool
) -> None:
    error = IssuerUnavailable(Permanent("[specific error]") if permanent else "[specific error]")
    w = embedded_world(compat="upstream", backoff=Backoff(0.2, 5, jitter=0))
    w.script.signs[:] = [error]
    await w.issuer()
    await w.settle()
    await w.request()
    await w.settle()
    reason = "Failed" if permanent else "Pending"
    words = "Failed permanently" if permanent else "Not ready yet"
    quoted = f'{WAIT} is "{reason}": {words}: [specific error].'
    notes = [note for _, _, note in await w.events()]
    assert notes[:2] == [f"{WAIT} is outdated.", quoted]
    await w.cluster.advance(minutes=5)
    assert (await w.issuer_ready()).status == ("False" if permanent else "True")
    assert (await w.ready()).reason == ("Pending" if permanent else "Issued")
    assert len(w.script.sign_calls) == (1 if permanent else 2)


@dataclass
class Timing:
    """What check and sign raise, and when they must be called: seconds after the one before."""

    name: str
    checks: list[Any]
    signs: list[Any]
    expected: list[tuple[str, float]]
    max_retry: timedelta = timedelta(hours=1)


ERROR = ValueError("error")
TIMINGS = [
    Timing("single-error", [ERROR], [ERROR], [("check", 0), ("check", 0.2), ("sign", 0), ("sign", 0.2)]),
    Timing(
        "double-error",
        [ERROR, ERROR],
        [ERROR, ERROR],
        [("check", 0), ("check", 0.2), ("check", 0.4), ("sign", 0), ("sign", 0.2), ("sign", 0.4)],
    ),
    Timing(
        "single-error reaching max-retry",
        [ERROR],
        [ERROR],
        [("check", 0), ("check", 0.2), ("sign", 0)],
        max_retry=timedelta(),
    ),
    Timing(
        "pending past max-retry",
        [],
        [Pending("pending", after=0.1), Pending("pending", after=0.1)],
        [("check", 0), ("sign", 0), ("sign", 0.1), ("sign", 0.1)],
        max_retry=timedelta(),
    ),
    Timing("fail-issuer-permanently", [Permanent("error")], [], [("check", 0)]),
    Timing(
        "trigger-issuer-error-then-recover",
        [],
        [IssuerUnavailable("error")],
        [("check", 0), ("sign", 0), ("check", 0.2), ("sign", 0)],
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", TIMINGS, ids=lambda row: row.name)
async def test_timing(embedded_world: Callable[..., World], row: Timing) -> None:
    w = embedded_world(
        compat="upstream", backoff=Backoff(0.2, 5, jitter=0), max_retry=row.max_retry
    )
    w.script.checks[:], w.script.signs[:] = row.checks, row.signs
    await w.issuer()
    await w.request()
    await w.settle()
    await w.cluster.advance(seconds=20)
    calls = sorted(
        [(time, "check") for time in w.script.check_times]
        + [(time, "sign") for time in w.script.sign_times]
    )
    names = [name for _, name in calls]
    gaps = [0.0, *(later - earlier for (earlier, _), (later, _) in pairwise(calls))]
    assert names == [name for name, _ in row.expected]
    assert gaps == pytest.approx([gap for _, gap in row.expected], abs=0.15)


async def test_requests_and_issuers_that_are_gone_are_left_alone(
    world: Callable[..., World],
) -> None:
    """Upstream's rows of what is not found."""
    w = world(compat="upstream")
    await w.issuer()
    await w.request(approve=False)
    await w.settle()
    await w.cluster.delete(CertificateRequest, "cr1")
    await w.cluster.delete(w.namespaced_kind, "issuer-1")
    calls = await w.settle()
    assert calls.writes == 0


async def test_what_sign_returns_is_stored_unseen(embedded_world: Callable[..., World]) -> None:
    w = embedded_world(compat="upstream")
    w.script.always_sign = Bundle(b"cert", b"ca")
    await w.issuer()
    await w.request(csr=b"no PEM")
    await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert (found.status.certificate, found.status.ca) == (b"cert", b"")


async def test_a_denied_request_without_approval_is_left_alone(world: Callable[..., World]) -> None:
    """Upstream's bug, kept for those who replace it: a denied request never says so."""
    w = world(compat="upstream")
    await w.issuer()
    await w.request(approve=False)
    await w.condition("cr1", "Denied")
    calls = await w.settle()
    assert calls.of("CertificateRequest").writes == 0
    assert await w.ready() is None

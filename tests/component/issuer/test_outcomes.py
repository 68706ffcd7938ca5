"""What sign raises, and what the request and its issuer then say and do."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any, cast

import pytest
from tests.support.issuer.issuer_world import World

from certwright.api.certmanager import CertificateRequest
from certwright.issuer import (
    Bundle,
    Issuer,
    IssuerUnavailable,
    Pending,
    Permanent,
    Request,
    Retry,
    SignOutcome,
    WithCondition,
)
from certwright.kube import find_condition

WAIT = "Waiting for issuer to become ready. Current issuer ready condition"
RETRY = "Failed to sign CertificateRequest, will retry: "
FAILED = "Failed permanently to sign CertificateRequest: "
STILL = "Signing still in progress. Reason: "


async def requested(
    world: Callable[..., Any], *signs: Exception, always: Exception | None = None, **options: Any
) -> Any:
    w = world(**options)
    w.script.signs[:] = signs
    w.script.always_sign = always
    await w.issuer()
    await w.settle()
    await w.request()
    w.calls = await w.settle()
    value: World = w
    return value


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.scenario("ISS-26")
@pytest.mark.scenario("ISS-27")
@pytest.mark.parametrize("set_ca", [False, True])
async def test_issued(world: Callable[..., World], *, set_ca: bool) -> None:
    w = await requested(world, set_ca=set_ca)
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert bool(found.status.ca) is set_ca
    assert found.status.certificate.startswith(b"-----BEGIN CERTIFICATE-----")
    assert w.calls.of("CertificateRequest").writes == 1
    assert w.calls.reads == 0


@pytest.mark.scenario("ISS-28")
async def test_ordinary_errors_are_retried_ever_later(embedded_world: Callable[..., World]) -> None:
    w = await requested(embedded_world, *[ValueError("no luck")] * 4)
    first = await w.ready()
    assert (first.status, first.reason) == ("False", "Pending")
    assert first.message == RETRY + "ValueError: no luck"
    calls = await w.cluster.advance(seconds=8)
    assert (await w.ready()).last_transition_time == first.last_transition_time
    assert calls.of("CertificateRequest").writes == 0, "the same words are not written twice"
    await w.cluster.advance(minutes=1)
    assert (await w.ready()).reason == "Issued"
    between = gaps(w.script.sign_times)
    assert len(between) == 4
    assert between == sorted(between)
    assert between[3] > 2 * between[0]
    assert await w.events() == [
        ("Warning", "RetryableError", RETRY + "ValueError: no luck"),
        ("Normal", "Issued", "Succeeded signing the CertificateRequest"),
    ]


@pytest.mark.scenario("ISS-29")
async def test_past_the_window_an_ordinary_error_is_final(
    embedded_world: Callable[..., World],
) -> None:
    w = await requested(
        embedded_world, always=ValueError("no luck"), max_retry=timedelta(minutes=1)
    )
    await w.cluster.advance(minutes=5)
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert (await w.ready()).message == FAILED + "ValueError: no luck"
    assert found.status.failure_time is not None
    count = len(w.script.sign_calls)
    await w.cluster.advance(hours=1)
    assert len(w.script.sign_calls) == count


@pytest.mark.scenario("ISS-30")
async def test_without_a_window_the_first_error_is_final(world: Callable[..., World]) -> None:
    w = await requested(world, always=ValueError("no luck"), max_retry=timedelta())
    assert (await w.ready()).message == FAILED + "ValueError: no luck"
    assert len(w.script.sign_calls) == 1


async def test_the_window_can_be_set_on_the_issuer_and_on_the_request(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world(max_retry=timedelta(hours=1))
    w.script.always_sign = ValueError("no luck")
    await w.issuer()
    annotation = {"issuer.certwright.dev/max-retry": "0s"}
    await w.settle()
    await w.request(annotations=annotation)
    await w.settle()
    assert (await w.ready()).reason == "Failed"


async def test_neither_a_slow_approval_nor_an_outage_uses_up_the_window(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world(max_retry=timedelta(minutes=2))
    w.script.signs[:] = [ValueError("no luck")]
    w.script.always_check = ValueError("down")
    await w.issuer()
    await w.request(approve=False)
    await w.settle()
    await w.cluster.advance(minutes=10)
    await w.condition("cr1", "Approved")
    await w.cluster.advance(minutes=10)
    w.script.always_check = None
    await w.cluster.advance(minutes=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-31")
async def test_permanent_errors_are_final(world: Callable[..., World]) -> None:
    w = await requested(world, always=Permanent("never"))
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert (await w.ready()).message == FAILED + "never"
    assert found.status.failure_time is not None
    await w.cluster.patch(CertificateRequest, "cr1", {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0
    assert len(w.script.sign_calls) == 1
    assert await w.events() == [("Warning", "PermanentError", FAILED + "never")]


@pytest.mark.scenario("ISS-32")
async def test_pending_requests_are_polled_every_second(
    embedded_world: Callable[..., World],
) -> None:
    w = await requested(embedded_world, Pending("order placed"), Pending("order placed"))
    assert (await w.ready()).message == STILL + "order placed"
    await w.cluster.advance(seconds=5)
    assert gaps(w.script.sign_times) == pytest.approx([1, 1], abs=0.01)
    assert (await w.events())[0] == ("Normal", "Pending", STILL + "order placed")


async def test_a_condition_that_changes_every_time_does_not_make_a_hot_loop(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    states = ["True", "False"] * 5
    w.script.signs[:] = [
        WithCondition("Odd", cast("Any", one), "Turn", ValueError("x")) for one in states
    ]
    await w.issuer()
    await w.request()
    await w.settle()
    assert len(w.script.sign_calls) == 2, "the first change is looked at again at once"
    await w.cluster.advance(minutes=9)
    gaps = [later - earlier for earlier, later in pairwise(w.script.sign_times)]
    assert all(gap >= 0.5 for gap in gaps[1:])
    assert gaps[6] > gaps[1]
    assert (await w.ready()).reason == "Issued"


@pytest.mark.parametrize(
    ("state", "said"),
    [({"order": object()}, "is not JSON"), ({"order": "x" * 10_000}, "more than 8192")],
    ids=["no JSON", "too large"],
)
async def test_what_cannot_be_carried_is_said_and_not_tried_at_once(
    embedded_world: Callable[..., World], state: dict[str, Any], said: str
) -> None:
    w = embedded_world()

    async def sign(request: Request, _issuer: Issuer[Any]) -> None:
        w.script.sign_calls.append(request)
        raise Pending("ordered", state=state)

    w.app.sign(cast("Any", sign))
    await w.issuer()
    await w.request()
    await w.settle()
    assert said in (await w.ready()).message
    assert len(w.script.sign_calls) == 1


@pytest.mark.scenario("ISS-33")
async def test_pending_knows_no_time_limit(embedded_world: Callable[..., World]) -> None:
    w = await requested(
        embedded_world, always=Pending("later", after=5), max_retry=timedelta(seconds=10)
    )
    await w.cluster.advance(minutes=2)
    assert (await w.ready()).reason == "Pending"
    assert gaps(w.script.sign_times)[-1] == pytest.approx(5, abs=0.01)


@pytest.mark.scenario("ISS-34")
async def test_a_poll_forgets_earlier_failures(embedded_world: Callable[..., World]) -> None:
    error = ValueError("no luck")
    w = await requested(embedded_world, error, error, error, Pending("now it works"), error)
    await w.cluster.advance(minutes=1)
    assert (await w.ready()).reason == "Issued"
    between = gaps(w.script.sign_times)
    assert between[4] <= 1, between
    assert between[2] > between[4]


@pytest.mark.scenario("ISS-35")
@pytest.mark.scenario("ISS-18")
async def test_an_unavailable_issuer_is_not_ready_until_it_is_checked(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    w.script.signs[:] = [IssuerUnavailable("token refused")]
    await w.issuer()
    await w.settle()
    w.script.always_check = ValueError("still down")
    await w.request()
    await w.settle()
    said = await w.issuer_ready()
    assert (said.status, said.reason) == ("False", "Pending")
    notes = [note for _, _, note in await w.events()]
    assert notes[0] == f"{WAIT} is outdated."
    assert notes[1] == f'{WAIT} is "Pending": Not ready yet: token refused.'
    assert ("Warning", "RetryableError", "Not ready yet: token refused") in await w.events(
        "issuer-1"
    )
    w.script.always_check = None
    await w.cluster.advance(minutes=10)
    assert (await w.ready()).reason == "Issued"
    assert len(w.script.sign_calls) == 2


@pytest.mark.scenario("ISS-36")
@pytest.mark.scenario("ISS-37")
async def test_an_issuer_beyond_help_waits_for_its_spec_to_change(
    embedded_world: Callable[..., World],
) -> None:
    w = await requested(embedded_world, IssuerUnavailable(Permanent("contract ended")))
    said = await w.issuer_ready()
    assert (said.reason, said.message) == ("Failed", "Failed permanently: contract ended")
    quoted = f'{WAIT} is "Failed": Failed permanently: contract ended.'
    assert (await w.ready()).message == quoted
    checks = w.script.check_calls
    await w.cluster.advance(hours=2)
    assert (await w.ready()).message == quoted, "the request waits without limit"
    assert w.script.check_calls == checks
    await w.cluster.patch(w.namespaced_kind, "issuer-1", {"spec": {"url": "elsewhere"}})
    await w.settle()
    await w.cluster.advance(minutes=1)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-38")
async def test_an_issuer_that_flaps_is_tried_ever_less_often(
    embedded_world: Callable[..., World],
) -> None:
    w = await requested(embedded_world, always=IssuerUnavailable("not now"))
    await w.cluster.advance(minutes=2)
    between = gaps(w.script.sign_times)
    assert 3 <= len(between) < 12
    assert between == sorted(between)
    w.script.always_sign = None
    await w.cluster.advance(minutes=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-39")
async def test_a_late_complaint_has_an_issuer_that_is_not_ready_checked(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    await w.issuer()
    await w.settle()
    sign = w._sign

    checks: list[int] = []

    async def late(request: Request, issuer: Issuer[Any]) -> None:
        w.script.always_check = ValueError("down")
        await w.cluster.patch(w.namespaced_kind, "issuer-1", {"spec": {"url": "elsewhere"}})
        await w.cluster._loop.idle()  # the issuer is found not to be ready meanwhile
        assert (await w.issuer_ready()).status == "False"
        checks.append(w.script.check_calls)
        await sign(request, issuer)
        raise IssuerUnavailable("dropped text")

    w.app.sign(cast("Any", late))
    await w.request()
    await w.settle()
    assert w.script.check_calls > checks[-1]
    assert (await w.issuer_ready()).message == "Not ready yet: ValueError: down"


@pytest.mark.scenario("ISS-40")
@pytest.mark.scenario("ISS-41")
@pytest.mark.scenario("ISS-46")
async def test_a_condition_of_the_authors_own(embedded_world: Callable[..., World]) -> None:
    def step(message: str) -> WithCondition:
        return WithCondition("QuotaOk", "False", "TooMany", ValueError(message))

    w = await requested(embedded_world, step("one"), step("two"), ValueError("plain"))
    assert len(w.script.sign_calls) == 2, "its own change woke it, without delay"
    assert gaps(w.script.sign_times) == pytest.approx([0], abs=0.1)
    found = await w.cluster.get(CertificateRequest, "cr1")
    quota: Any = find_condition(found.status.conditions, "QuotaOk")
    assert (quota.status, quota.reason, quota.message) == ("False", "TooMany", "two")
    since = quota.last_transition_time
    await w.cluster.advance(seconds=60)
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert (await w.ready()).reason == "Issued"
    assert (
        cast("Any", find_condition(found.status.conditions, "QuotaOk")).last_transition_time
        == since
    )
    assert gaps(w.script.sign_times)[1] > 0.4, "the second time it waited"


@pytest.mark.scenario("ISS-42")
@pytest.mark.scenario("ISS-43")
@pytest.mark.parametrize(
    ("cause", "reason", "failed"),
    [(Pending("later", after=60), "Pending", False), (Permanent("never"), "Failed", True)],
)
async def test_a_condition_with_another_verb(
    embedded_world: Callable[..., World], cause: SignOutcome, reason: str, *, failed: bool
) -> None:
    error = WithCondition("QuotaOk", "False", "TooMany", cause)
    w = await requested(embedded_world, always=error, max_retry=timedelta())
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert cast("Any", find_condition(found.status.conditions, "QuotaOk")).reason == "TooMany"
    assert (await w.ready()).reason == reason
    assert (found.status.failure_time is not None) is failed


@pytest.mark.scenario("ISS-44")
async def test_a_condition_is_dropped_where_the_issuer_is_at_fault(
    embedded_world: Callable[..., World],
) -> None:
    error = WithCondition("QuotaOk", "False", "TooMany", IssuerUnavailable("down"))
    w = await requested(embedded_world, error)
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert find_condition(found.status.conditions, "QuotaOk") is None
    assert (await w.issuer_ready()).message == "Not ready yet: down"


@pytest.mark.scenario("ISS-47")
@pytest.mark.parametrize("type_", ["Ready", "Approved", "Denied"])
async def test_conditions_of_others_are_not_the_authors_to_set(
    embedded_world: Callable[..., World], type_: str
) -> None:
    w = await requested(embedded_world, WithCondition(type_, "False", "Mine", ValueError("x")))
    assert "must not set the condition " + type_ in (await w.ready()).message
    await w.cluster.advance(seconds=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-48")
async def test_a_crash_is_an_ordinary_error(embedded_world: Callable[..., World]) -> None:
    w = await requested(embedded_world, KeyError("secret-ish"))
    assert (await w.ready()).message == RETRY + "KeyError: 'secret-ish'"
    assert "Traceback" not in (await w.ready()).message
    await w.cluster.advance(seconds=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-49")
async def test_sign_has_a_time_limit(embedded_world: Callable[..., World]) -> None:
    w = embedded_world(sign_timeout=timedelta(seconds=90))
    sign, slow = w._sign, [True]

    async def slowly(request: Request, issuer: Issuer[Any]) -> Bundle:
        if slow:
            slow.clear()
            await asyncio.sleep(3600)
        return await sign(request, issuer)

    w.app.sign(slowly)
    await w.issuer()
    await w.settle()
    await w.request()
    await w.settle()
    assert ("Warning", "RetryableError", RETRY + "timed out after 1m30s") in await w.events()
    await w.cluster.advance(seconds=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-50")
async def test_long_texts_and_percent_signs_survive(world: Callable[..., World]) -> None:
    text = "100%d of %s " + "x" * 5000
    w = await requested(world, always=Permanent(text))
    assert (await w.ready()).message == FAILED + text
    [(_, _, note)] = await w.events()
    assert len(note.encode()) <= 1024
    assert note.startswith(FAILED + "100%d of %s xxx")


async def test_an_authority_may_ask_for_patience(embedded_world: Callable[..., World]) -> None:
    w = await requested(embedded_world, Retry("rate limited", after=45))
    await w.cluster.advance(minutes=2)
    assert gaps(w.script.sign_times) == pytest.approx([45], abs=0.1)

"""Which requests are ours to touch, and from when on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.issuer.issuer_world import GROUP, World

from certwright.api.certmanager import CertificateRequest, IssuerRef
from certwright.issuer import Bundle, Issuer, Request
from certwright.kube import ObjectMeta


async def ready_world(world: Callable[..., Any], **options: Any) -> World:
    w = world(**options)
    await w.issuer()
    await w.issuer(cluster=True)
    await w.settle()
    value: World = w
    return value


@pytest.mark.scenario("ISS-1")
@pytest.mark.scenario("ISS-2")
@pytest.mark.parametrize(
    "ref",
    [
        pytest.param(IssuerRef("issuer-1", "TestIssuer", "other.example.com"), id="group"),
        pytest.param(IssuerRef("issuer-1", "Issuer", "cert-manager.io"), id="cert-manager's"),
        pytest.param(IssuerRef("issuer-1", "OtherIssuer", GROUP), id="kind"),
    ],
)
async def test_requests_of_others_are_left_alone(
    world: Callable[..., World], ref: IssuerRef
) -> None:
    w = await ready_world(world)
    await w.request(issuer=ref)
    calls = await w.settle()
    assert calls.writes == 0
    assert await w.ready() is None
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-3")
@pytest.mark.scenario("ISS-4")
@pytest.mark.parametrize(
    ("kind", "namespaced"), [("", True), ("TestIssuer", True), ("TestClusterIssuer", False)]
)
async def test_the_kind_decides_where_the_issuer_is_found(
    world: Callable[..., World], kind: str, *, namespaced: bool
) -> None:
    w = await ready_world(world)
    await w.request(issuer=IssuerRef("issuer-1", kind, GROUP))
    await w.settle()
    [request] = w.script.sign_calls
    assert request.issuer_namespace == (w.cluster.namespace if namespaced else "")
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-5")
async def test_approval_alone_starts_it(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    calls = await w.settle()
    assert calls.writes == 0
    assert await w.ready() is None
    await w.condition("cr1", "Approved")
    await w.settle()
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-6")
async def test_approved_with_another_status_is_not_approved(
    embedded_world: Callable[..., World],
) -> None:
    w = await ready_world(embedded_world)  # cert-manager's webhook would refuse the condition
    await w.request(approve=False)
    await w.condition("cr1", "Approved", "False")
    calls = await w.settle()
    assert calls.writes == 0


@pytest.mark.scenario("ISS-7")
async def test_denied_requests_say_so_in_one_write(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    await w.condition("cr1", "Denied")
    calls = await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    text = "Detected that the CertificateRequest is denied, so it will never be Ready."
    assert ((await w.ready()).status, (await w.ready()).reason) == ("False", "Denied")
    assert found.status.failure_time is not None
    assert calls.of("CertificateRequest").writes == 1
    assert await w.events() == [("Warning", "PermanentError", text)]
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-8")
async def test_denial_overrides_what_was_said_before(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    await w.condition("cr1", "Ready", "Unknown", "Initializing")
    await w.condition("cr1", "Denied")
    await w.settle()
    assert ((await w.ready()).status, (await w.ready()).reason) == ("False", "Denied")


@pytest.mark.scenario("ISS-9")
@pytest.mark.scenario("ISS-10")
@pytest.mark.parametrize(
    ("status", "reason"), [("True", "Whatever"), ("False", "Failed"), ("False", "Denied")]
)
async def test_settled_requests_stay_as_they_are(
    world: Callable[..., World], status: str, reason: str
) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    await w.condition("cr1", "Ready", status, reason)
    await w.condition("cr1", "Approved")
    await w.settle()
    await w.cluster.patch(CertificateRequest, "cr1", {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0
    assert (await w.ready()).reason == reason
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-11")
async def test_invalid_requests_are_left_alone(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    await w.condition("cr1", "InvalidRequest")
    await w.condition("cr1", "Approved")
    calls = await w.settle()
    assert calls.writes == 0
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-12")
async def test_requests_that_go_away_are_left_alone(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    await w.request(approve=False)
    await w.cluster.patch(
        CertificateRequest, "cr1", {"metadata": {"finalizers": ["tests.certwright.dev/hold"]}}
    )
    await w.cluster.delete(CertificateRequest, "cr1")
    await w.condition("cr1", "Approved")
    calls = await w.settle()
    assert calls.writes == 0
    assert not w.script.sign_calls
    await w.cluster.patch(CertificateRequest, "cr1", {"metadata": {"finalizers": None}})


@pytest.mark.scenario("ISS-13")
async def test_ignored_requests_are_not_written_to(world: Callable[..., World]) -> None:
    w = world()
    seen: list[Request] = []

    @w.app.ignore_request
    async def ignore(request: Request) -> bool:
        seen.append(request)
        return True

    await w.issuer()
    await w.settle()
    await w.request(annotations={"mine": "not"})
    calls = await w.settle()
    assert calls.writes == 0
    assert seen[0].annotations["mine"] == "not"
    assert (seen[0].issuer_kind, seen[0].issuer_name) == ("TestIssuer", "issuer-1")


@pytest.mark.scenario("ISS-14")
async def test_a_failing_ignore_hook_is_asked_again(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()
    answers: list[ValueError | bool] = [ValueError("not now"), ValueError("not yet"), False]

    @w.app.ignore_request
    def ignore(_request: Request) -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    await w.issuer()
    await w.settle()
    await w.request()
    calls = await w.settle()
    assert calls.writes == 0
    await w.cluster.advance(seconds=10)
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-15")
@pytest.mark.parametrize("denied", [False, True])
async def test_requests_of_ignored_issuers_get_no_condition(
    world: Callable[..., World], *, denied: bool
) -> None:
    w = world()

    @w.app.ignore_issuer
    def ignore(metadata: ObjectMeta) -> bool:
        return metadata.annotations.get("leave") == "alone"

    await w.issuer()
    await w.cluster.patch(
        w.namespaced_kind, "issuer-1", {"metadata": {"annotations": {"leave": "alone"}}}
    )
    await w.request(approve=not denied)
    if denied:
        await w.condition("cr1", "Denied")
    calls = await w.settle()
    assert calls.writes == 0
    assert await w.ready() is None
    assert await w.issuer_ready() is None


@pytest.mark.scenario("ISS-16")
async def test_upstream_says_first_that_it_has_seen_the_request(
    world: Callable[..., World],
) -> None:
    w = world(compat="upstream", field_owner="tests.example.com")
    await w.request()
    calls = await w.settle()
    first = calls.of("CertificateRequest")[0]
    for call in calls.of("CertificateRequest"):
        if call.verb == "patch":
            first = call
            break
    assert b"tests.example.com has started reconciling this CertificateRequest" in (
        first.body or b""
    )
    assert b'"Unknown"' in (first.body or b"")


@pytest.mark.scenario("ISS-16")
async def test_a_request_that_takes_long_says_that_somebody_is_at_work(
    embedded_world: Callable[..., World],
) -> None:

    w = embedded_world()
    sign = w._sign

    async def slowly(request: Request, issuer: Issuer[Any]) -> Bundle:
        await asyncio.sleep(20)
        return await sign(request, issuer)

    w.app.sign(slowly)
    await w.issuer()
    await w.settle()
    await w.request()
    await asyncio.sleep(10)
    assert ((await w.ready()).status, (await w.ready()).reason) == ("Unknown", "Initializing")
    assert (await w.ready()).message == f"{GROUP} has started reconciling this CertificateRequest"
    calls = await w.settle()
    assert (await w.ready()).reason == "Issued"
    assert calls.of("CertificateRequest").writes == 2

"""Requests that wait for their issuer."""

import re
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import GROUP, World

from certwright.api.certmanager import IssuerRef
from certwright.issuer import Permanent
from certwright.kube import ObjectMeta, format_time

WAIT = "Waiting for issuer to become ready. Current issuer ready condition"
MISSING = f'testissuers.{GROUP} "issuer-1" not found. Waiting for it to be created.'


async def say(
    w: World, status: str, reason: str, message: str, *, observed: int = 1, name: str = "issuer-1"
) -> None:
    """Write the Ready condition of an issuer in the app's name, while the app is stopped."""
    kind = w.namespaced_kind.resource
    condition = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": observed,
        "lastTransitionTime": format_time(w.cluster.clock.now()),
    }
    await w.cluster.client.apply(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": w.cluster.namespace},
            "status": {"conditions": [condition]},
        },
        subresource="status",
        field_manager=GROUP,
    )


@pytest.mark.scenario("ISS-17")
@pytest.mark.scenario("ISS-18")
async def test_a_request_waits_for_its_issuer_to_be_created(world: Callable[..., World]) -> None:
    w = world()
    await w.request()
    calls = await w.settle()
    ready = await w.ready()
    assert (ready.status, ready.reason, ready.message) == ("False", "Pending", MISSING)
    assert await w.events() == [("Normal", "WaitingForIssuerExist", MISSING)]
    assert calls.of("CertificateRequest").writes == 1
    await w.issuer()
    await w.settle()
    assert (await w.ready()).reason == "Issued"
    assert len(w.script.sign_calls) == 1


@pytest.mark.scenario("ISS-22")
async def test_a_waiting_request_notices_that_its_issuer_is_gone(
    world: Callable[..., World],
) -> None:
    w = world()
    w.script.always_check = Permanent("broken")
    await w.issuer()
    await w.request()
    await w.settle()
    quoted = f'{WAIT} is "Failed": Failed permanently: broken.'
    assert (await w.ready()).message == quoted
    await w.cluster.delete(w.namespaced_kind, "issuer-1")
    await w.settle()
    assert (await w.ready()).message == MISSING


@pytest.mark.scenario("ISS-19")
async def test_an_issuer_that_says_nothing_is_not_ready(world: Callable[..., World]) -> None:
    w = world()

    @w.app.ignore_issuer  # our own loop must not say anything in its place
    def later(_metadata: ObjectMeta) -> bool:
        return bool(w.script.always_check)

    w.script.always_check = ValueError("ignored")
    await w.issuer()
    await w.request(approve=False)
    await w.settle()
    w.script.always_check = None
    await w.condition("cr1", "Approved")
    await w.settle()
    assert (await w.ready()).message == f"{WAIT}: <none>."


@pytest.mark.scenario("ISS-20")
@pytest.mark.scenario("ISS-21")
@pytest.mark.parametrize(
    ("said", "message"),
    [
        pytest.param(("True", "Checked", "fine", 0), f"{WAIT} is outdated.", id="outdated"),
        pytest.param(("False", "X", "m", 1), f'{WAIT} is "X": m.', id="not ready"),
        pytest.param(("Unknown", "Y", "n", 1), f'{WAIT} is "Y": n.', id="unknown"),
    ],
)
async def test_a_request_quotes_what_its_issuer_says(
    world: Callable[..., World], said: tuple[str, str, str, int], message: str
) -> None:
    w = world()
    ignoring = True

    @w.app.ignore_issuer
    def leave(_metadata: ObjectMeta) -> bool:
        return ignoring

    *words, observed = said
    await w.issuer()
    await say(w, *words, observed=observed)
    await w.settle()  # the issuer's own loop has looked away
    ignoring = False
    await w.request()
    await w.settle()
    assert (await w.ready()).message == message
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-23")
@pytest.mark.scenario("ISS-24")
async def test_only_the_requests_of_an_issuer_are_woken_by_it(world: Callable[..., World]) -> None:
    w = world()
    w.script.always_check = Permanent("down")
    await w.issuer("issuer-1")
    await w.issuer("issuer-2")
    for number in (1, 2, 3):
        await w.request(f"one-{number}")
        await w.request(f"two-{number}", issuer=IssuerRef("issuer-2", "TestIssuer", GROUP))
    await w.settle()
    await say(w, "False", "Failed", "only the words change")
    calls = await w.settle()
    assert calls.of("CertificateRequest").writes == 0
    await say(w, "True", "Checked", "by hand")
    calls = await w.settle()
    assert calls.of("CertificateRequest").writes == 3
    assert {request.name for request in w.script.sign_calls} == {"one-1", "one-2", "one-3"}


async def test_an_issuer_that_is_not_ready_is_seen_from_outside(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    w.script.always_check = ConnectionError("the authority does not answer")
    await w.issuer()
    with capture_logs() as lines:
        await w.settle()
    kind = w.namespaced_kind.resource.kind
    labels = f'kind="{kind}",namespace="default",name="issuer-1"'
    said = f'certwright_condition{{{labels},type="Ready",status="False",reason="Pending"}} 1.0'
    text = await w.cluster.scrape()
    assert said in text
    errors = re.findall(r'reconcile_errors_total\{controller="[^"]*"\} (\S+)', text)
    assert sum(map(float, errors)) > 0
    [raised, warned] = [line for line in lines if line["log_level"] == "warning"]
    assert (raised["function"], raised["type"]) == ("check", "ConnectionError")
    assert (warned["event"], warned["type"], warned["reason"]) == (
        "condition changed",
        "Ready",
        "Pending",
    )

"""Writes: one each, none lost, none repeated, and none that belongs to others."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import GROUP, World

from certwright.api.certmanager import CertificateRequest
from certwright.issuer import Bundle, Issuer, Pending, Request
from certwright.testkit import EmbeddedCluster, VirtualLoop
from certwright.testkit.faults.faults import At, DropEvent, ExpireWatch, LoseAnswer, Refuse
from certwright.testkit.faults.interference import Interference


@pytest.mark.scenario("ISS-66")
@pytest.mark.parametrize("fault", [Refuse(500), Refuse(409), LoseAnswer()], ids=str)
async def test_a_failed_write_does_not_sign_again(
    virtual: VirtualLoop, fault: LoseAnswer | Refuse
) -> None:
    interference = Interference(At(writes={4: fault}), virtual.trace, virtual.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        w = World(cluster)
        await w.issuer()
        await w.settle()  # two statuses and an event: three writes
        await w.request()
        await w.settle()
        assert (await w.ready()).reason == "Issued"
        assert len(w.script.sign_calls) == 1
        assert [reason for _, reason, _ in await w.events()] == ["Issued"]


@pytest.mark.scenario("ISS-67")
async def test_a_request_deleted_meanwhile_is_forgotten(world: Callable[..., World]) -> None:
    w = world()
    sign = w._sign

    async def then_it_is_gone(request: Request, issuer: Issuer[Any]) -> Bundle:
        bundle = await sign(request, issuer)
        await w.cluster.delete(CertificateRequest, "cr1")
        return bundle

    w.app.sign(then_it_is_gone)
    await w.issuer()
    await w.settle()
    await w.request()
    with capture_logs() as lines:
        calls = await w.settle()
    failed = [line for line in lines if line["log_level"] == "error" or "requeue" in line]
    assert failed == [], "nothing is tried again"
    assert calls.of("CertificateRequest").writes <= 1
    assert len(w.script.sign_calls) == 1
    assert await w.cluster.find(CertificateRequest.resource, "cr1") is None


async def test_another_request_of_the_same_name_gets_its_own_certificate(
    world: Callable[..., World],
) -> None:
    w = world()
    sign, first = w._sign, [True]

    async def then_it_is_another(request: Request, issuer: Issuer[Any]) -> Bundle:
        bundle = await sign(request, issuer)
        if first:
            first.clear()
            await w.cluster.delete(CertificateRequest, "cr1")
            await w.request()
        return bundle

    w.app.sign(then_it_is_another)
    await w.issuer()
    await w.settle()
    await w.request()
    await w.settle()
    uids = [request.uid for request in w.script.sign_calls]
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert uids[-1] == found.metadata.uid
    assert len(set(uids)) == len(uids) == 2
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-68")
async def test_everybody_keeps_their_fields(world: Callable[..., World]) -> None:
    w = world()
    await w.issuer()
    await w.settle()
    await w.request()
    await w.settle()
    found = await w.cluster.get(CertificateRequest.resource, "cr1")
    types = {one["type"] for one in found["status"]["conditions"]}
    assert types == {"Approved", "Ready"}
    [ours] = [one for one in found["metadata"]["managedFields"] if one["manager"] == GROUP]
    assert (ours["operation"], ours["subresource"]) == ("Apply", "status")
    status = ours["fieldsV1"]["f:status"]
    assert set(status) == {"f:certificate", "f:conditions"}
    assert set(status["f:conditions"]) == {'k:{"type":"Ready"}'}


@pytest.mark.scenario("ISS-69")
async def test_a_restart_neither_signs_nor_writes(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()
    await w.issuer()
    await w.settle()
    await w.request("cr")
    await w.settle()
    one = await w.cluster.get(CertificateRequest.resource, "cr")
    for number in range(1000):
        await w.issued_before(f"cr{number}", like=one)
    calls = await w.settle()
    assert (calls.writes, calls.reads) == (0, 0)
    calls = await w.cluster.restart()
    assert calls.writes == 0
    assert len(w.script.sign_calls) == 1


async def test_many_requests_cost_one_write_each(world: Callable[..., World]) -> None:
    w = world()
    await w.issuer()
    await w.settle()
    for number in range(30):
        await w.request(f"cr{number}")
    calls = await w.settle()
    assert calls.of("CertificateRequest").writes == 30
    assert calls.reads == 0


@pytest.mark.scenario("ISS-70")
async def test_a_pending_request_goes_on_after_a_restart_with_what_it_carried(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    w.script.signs[:] = [Pending("ordered", after=3600, state={"order": "https://ca/1"})]
    await w.issuer()
    await w.settle()
    await w.request()
    await w.settle()
    w.script.signs[:] = [Pending("still ordered", after=3600)]
    await w.cluster.restart()
    assert w.script.sign_calls[1].state == {"order": "https://ca/1"}
    await w.cluster.restart()
    assert w.script.sign_calls[2].state == {"order": "https://ca/1"}, "kept unless replaced"
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert {one.type for one in found.status.conditions} == {"Ready", "Approved"}
    assert (await w.ready()).reason == "Issued"


@pytest.mark.scenario("ISS-72")
async def test_a_shutdown_while_signing_writes_nothing(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    started = asyncio.Event()

    async def never(_request: Request, _issuer: Issuer[Any]) -> None:
        started.set()
        await asyncio.sleep(2)
        await asyncio.Event().wait()

    w.app.sign(cast("Any", never))
    await w.issuer()
    await w.settle()
    await w.request()
    await started.wait()
    with capture_logs() as lines:
        await w.cluster.stop()
    assert "the issuer's code raised" not in {line["event"] for line in lines}
    assert await w.ready() is None or (await w.ready()).reason == "Initializing"
    assert not [one for one in await w.events() if one[0] == "Warning"]


@pytest.mark.scenario("ISS-73")
@pytest.mark.parametrize("fault", [ExpireWatch(), DropEvent()], ids=str)
async def test_what_a_broken_watch_missed_is_found(virtual: VirtualLoop, fault: Any) -> None:
    for number in range(1, 12):
        interference = Interference(At(events={number: fault}), virtual.trace, virtual.clock.jump)
        async with EmbeddedCluster(interference=interference) as cluster:
            w = World(cluster)
            await w.settle()
            await w.issuer()
            await w.request()
            await w.settle()
            assert (await w.ready()).reason == "Issued", number
            assert len(w.script.sign_calls) == 1


@pytest.mark.scenario("ISS-74")
async def test_slow_requests_are_signed_side_by_side(embedded_world: Callable[..., World]) -> None:
    w = embedded_world(workers=8)
    sign, running, most = w._sign, set(), []

    async def slowly(request: Request, issuer: Issuer[Any]) -> Bundle:
        assert request.uid not in running, "one object never runs twice at a time"
        running.add(request.uid)
        most.append(len(running))
        await asyncio.sleep(2)
        running.discard(request.uid)
        return await sign(request, issuer)

    w.app.sign(slowly)
    await w.issuer()
    await w.settle()
    for number in range(8):
        await w.request(f"cr{number}")
    began = w.cluster.clock.monotonic()
    for number in range(8):
        await w.cluster.patch(
            CertificateRequest, f"cr{number}", {"metadata": {"annotations": {"poke": "1"}}}
        )
    await w.settle()
    assert max(most) == 8
    assert w.cluster.clock.monotonic() - began < 4.5
    assert len(w.script.sign_calls) == 8

"""Clocks that jump."""

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    DAY,
    DSC,
    SERVER,
    Certifying,
)

A = f"a/{CLIENT}"


@pytest.mark.scenario("DS-53")
async def test_a_jump_past_several_windows_renews_each_once(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    before = {name: (await certifying.pair(name)).serial for name in (SERVER, A)}
    ca = (await certifying.pair(CA)).serial
    certifying.jump(days=200)
    calls = await certifying.advance(hours=2)
    after = {name: (await certifying.pair(name)).serial for name in (SERVER, A)}
    assert all(after[name] != before[name] for name in before)
    assert calls.of("Secret").writes == 2
    assert (await certifying.pair(CA)).serial == ca
    for name in (SERVER, A):
        assert (await certifying.pair(name)).validity.covers(certifying.now)


@pytest.mark.scenario("DS-54")
async def test_a_small_jump_back_is_waited_out(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    before = {name: (await certifying.pair(name)).serial for name in (CA, SERVER, A)}
    certifying.jump(minutes=-30)
    calls = await certifying.restart()
    assert calls.of("Secret").writes == 0
    assert await certifying.condition(CA) == "False/CertificateNotYetValid"
    await certifying.advance(minutes=40)
    for name in (CA, SERVER, A):
        assert (await certifying.pair(name)).serial == before[name]
        assert await certifying.condition(name) == "True/CertificateIssued"


async def test_a_renewal_that_was_done_is_not_done_again_after_a_jump_back(
    certifying: Certifying,
) -> None:
    await certifying.plane("a")
    await certifying.settle()
    serial = (await certifying.pair(CA)).serial
    # As after a crash in which the Secret was written and the status was not.
    await certifying.cluster.stop()
    await certifying.cluster.patch(DSC, CA, {"status": {"serialNumber": "1"}}, subresource="status")
    await certifying.request_renewal(CA)
    certifying.jump(minutes=-30)
    await certifying.restart()
    assert await certifying.condition(CA) == "False/CertificateNotYetValid"
    await certifying.advance(hours=2)
    assert (await certifying.pair(CA)).serial == serial
    assert await certifying.condition(CA) == "True/CertificateIssued"


@pytest.mark.scenario("DS-54")
async def test_a_jump_back_before_the_authority_replaces_nothing(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    certifying.jump(days=-30)
    calls = await certifying.restart()
    assert calls.of("Secret").writes == 0
    assert (await certifying.advance(hours=5)).of("Secret").writes == 0
    assert "check the clock" in await certifying.message(CA)
    certifying.jump(days=30)
    await certifying.advance(hours=1)
    for name in (CA, SERVER, A):
        assert await certifying.condition(name) == "True/CertificateIssued"


@pytest.mark.scenario("DS-54")
async def test_a_jump_back_behind_the_authority_replaces_each_once(certifying: Certifying) -> None:
    await certifying.create(CA, isCA=True, validFor=100 * DAY)
    await certifying.settle()
    await certifying.advance(hours=10)
    await certifying.leaf("c")
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    certifying.jump(hours=-5)
    await certifying.restart()
    second = (await certifying.pair("c")).serial
    assert second != first
    assert (await certifying.advance(hours=3)).of("Secret").writes == 0


async def test_a_jump_does_not_shorten_a_phase(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    await certifying.request_renewal(CA)
    await certifying.advance(minutes=1)
    assert await certifying.phase() == "Distributed"
    certifying.jump(hours=3)
    await certifying.advance(minutes=5)
    assert await certifying.phase() == "Distributed"
    await certifying.advance(minutes=6)
    assert await certifying.phase() == "Activated"


async def test_what_was_asked_for_meanwhile_is_done_later(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    first = (await certifying.pair(CA)).serial
    certifying.jump(minutes=-30)
    await certifying.request_renewal(CA)
    await certifying.settle()
    assert await certifying.phase() == ""
    await certifying.advance(hours=2)
    assert (await certifying.pair(CA)).serial != first
    assert await certifying.phase() == "Stable"

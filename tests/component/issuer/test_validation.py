"""What is checked before sign is called, and what of its answer is believed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.x509 import Certificate
from tests.support.issuer.issuer_world import CA_KEY, KEY, World, csr_pem

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer import Bundle
from certwright.kube import JsonObject
from certwright.pki.pem import read_blocks, write_block

FAILED = "Failed permanently to sign CertificateRequest: "


async def ready_world(world: Callable[..., Any], **options: Any) -> World:
    w = world(**options)
    await w.issuer()
    await w.settle()
    value: World = w
    return value


def made_for(
    w: World,
    key: pki.PrivateKey,
    lifetime: timedelta = timedelta(days=90),
    now: Any = None,
) -> Certificate:
    """Return a certificate as an authority with other ideas would issue it."""
    request = pki.read_request(csr_pem(key=key))
    terms = pki.RequestTerms(lifetime)
    return w.ca.issue_request(request, terms, now or w.cluster.clock.now())


OTHER_KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))


@pytest.mark.scenario("ISS-51")
@pytest.mark.scenario("ISS-52")
@pytest.mark.scenario("ISS-53")
@pytest.mark.parametrize("trouble", ["KeyMismatch", "MalformedPem", "Expired"])
@pytest.mark.parametrize("on_mismatch", ["fail", "retry"])
async def test_a_wrong_certificate_is_never_issued(
    embedded_world: Callable[..., World], trouble: str, on_mismatch: str
) -> None:
    w = await ready_world(embedded_world, on_mismatch=on_mismatch)
    now = w.cluster.clock.now()
    old = now - timedelta(days=2)
    ca = pki.create_root(pki.parse_name("CN=Old"), CA_KEY, timedelta(days=365), old)
    expired = ca.issue_request(
        pki.read_request(csr_pem()), pki.RequestTerms(timedelta(hours=1)), old
    )
    w.script.always_sign = {
        "KeyMismatch": Bundle(pki.write_certificates(made_for(w, OTHER_KEY))),
        "MalformedPem": Bundle(b"cert"),
        "Expired": Bundle(pki.write_certificates(expired)),
    }[trouble]
    await w.request()
    await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert found.status.certificate == b""
    assert (await w.ready()).reason == ("Failed" if on_mismatch == "fail" else "Pending")
    assert trouble in (await w.ready()).message


def chains(w: World) -> tuple[Certificate, Certificate, Certificate]:
    """Return a leaf, its intermediate and its root, and the authority between."""
    now = w.cluster.clock.now()
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
    between = pki.create_intermediate(
        w.ca, pki.parse_name("CN=Between"), key, timedelta(days=300), now
    )
    request = pki.read_request(csr_pem())
    return (
        between.issue_request(request, pki.RequestTerms(), now),
        between.certificate,
        w.ca.certificate,
    )


@pytest.mark.scenario("ISS-54")
@pytest.mark.scenario("ISS-57")
async def test_any_order_becomes_leaf_first_without_root(world: Callable[..., World]) -> None:
    w = await ready_world(world, set_ca=True)
    leaf, between, root = (pki.write_certificates(one) for one in chains(w))
    w.script.always_sign = Bundle(b"# root\n" + root + b"junk\n" + between + leaf + between)
    await w.request()
    await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert found.status.certificate == leaf + between
    assert found.status.ca == root
    told = {reason for _, reason, _ in await w.events()}
    assert told >= {"RootInChain", "WrongOrder", "RepeatedCertificate"}, "repaired, not hidden"


async def test_a_chain_in_order_is_not_said_to_be_repaired(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    leaf, between, _ = (pki.write_certificates(one) for one in chains(w))
    w.script.always_sign = Bundle(b"# comment\n" + leaf + between)
    await w.request()
    await w.settle()
    told = {reason for _, reason, _ in await w.events()}
    assert not told & {"RootInChain", "WrongOrder", "RepeatedCertificate", "ForeignBlock"}


@pytest.mark.scenario("ISS-55")
@pytest.mark.parametrize("missing", ["gap", "stranger"])
async def test_a_broken_chain_is_refused(world: Callable[..., World], missing: str) -> None:
    w = await ready_world(world)
    leaf, between, root = (pki.write_certificates(one) for one in chains(w))
    other = pki.create_root(
        pki.parse_name("CN=Other"), OTHER_KEY, timedelta(days=10), w.cluster.clock.now()
    )
    stranger = pki.write_certificates(other.certificate)
    parts = leaf + root if missing == "gap" else leaf + between + stranger
    w.script.always_sign = Bundle(parts)
    await w.request()
    await w.settle()
    assert (await w.ready()).message == (
        FAILED + "BrokenChain: certificate chain is malformed or broken"
    )


@pytest.mark.scenario("ISS-56")
async def test_a_self_signed_certificate_is_its_own_authority(world: Callable[..., World]) -> None:
    w = await ready_world(world, set_ca=True)
    template = pki.request_template(pki.read_request(csr_pem()), pki.RequestTerms())
    alone = pki.write_certificates(pki.self_sign(template, KEY, w.cluster.clock.now()))
    w.script.always_sign = Bundle(alone)
    await w.request()
    await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    assert found.status.certificate == found.status.ca == alone


async def test_an_odd_lifetime_is_remarked_upon(world: Callable[..., World]) -> None:
    w = await ready_world(world)
    short = made_for(w, KEY, timedelta(days=1))
    w.script.always_sign = Bundle(pki.write_certificates(short))
    await w.request()
    await w.settle()
    assert (await w.ready()).reason == "Issued"
    assert "DurationMismatch" in [reason for _, reason, _ in await w.events()]


def forged() -> bytes:
    """Return a signing request whose signature is of another one."""
    der = bytearray(next(iter(read_blocks(csr_pem(), limit=10_000))).der)
    der[-1] ^= 1
    return write_block("CERTIFICATE REQUEST", bytes(der))


SERVER = pki.parse_usages(["digital signature", "server auth", "client auth"])
AUTHORITY = csr_pem(is_ca=True)
PURPOSES = csr_pem(usages=SERVER)
REVERSED = ["digital signature", "client auth", "server auth"]


@pytest.mark.parametrize(
    ("csr", "spec", "named"),
    [
        pytest.param(AUTHORITY, {}, "CaMismatch", id="ca", marks=pytest.mark.scenario("ISS-58")),
        pytest.param(
            PURPOSES,
            {"usages": REVERSED},
            "ExtendedKeyUsageMismatch",
            id="order",
            marks=pytest.mark.scenario("ISS-59"),
        ),
        pytest.param(
            forged(), {}, "BadSignature", id="signature", marks=pytest.mark.scenario("ISS-60")
        ),
        pytest.param(
            csr_pem(),
            {"usages": ["signing", "world domination"]},
            "world domination",
            id="usage",
            marks=pytest.mark.scenario("ISS-61"),
        ),
        pytest.param(b"no PEM at all", {}, "MalformedPem", id="no PEM"),
        pytest.param(csr_pem()[:200], {}, "MalformedPem", id="truncated"),
        pytest.param(csr_pem() * 2, {}, "MalformedPem", id="two of them"),
        pytest.param(b"\xff\x00" * 100, {}, "MalformedPem", id="noise"),
        pytest.param(csr_pem(), {"duration": "-1h"}, "is not positive", id="negative duration"),
    ],
)
async def test_unsound_requests_fail_before_sign(
    embedded_world: Callable[..., World], csr: bytes, spec: JsonObject, named: str
) -> None:
    w = await ready_world(embedded_world)  # cert-manager's webhook would refuse them at once
    await w.request(csr=csr, **spec)
    await w.settle()
    ready = await w.ready()
    assert ready.reason == "Failed"
    assert named in ready.message
    assert "Traceback" not in ready.message
    assert not w.script.sign_calls


@pytest.mark.parametrize("mark_invalid", [False, True])
async def test_a_refused_request_may_be_marked_invalid(
    world: Callable[..., World], *, mark_invalid: bool
) -> None:
    w = world(mark_invalid=mark_invalid)
    await w.issuer()
    await w.settle()
    await w.request(usages=["time travel"])
    calls = await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    said = {one.type: one for one in found.status.conditions}
    assert said["Ready"].reason == "Failed"
    assert found.status.failure_time is not None
    assert ("InvalidRequest" in said) is mark_invalid
    if mark_invalid:
        assert said["InvalidRequest"].status == "True"
        assert "time travel" in said["InvalidRequest"].message
    assert calls.of("CertificateRequest").writes == 1
    assert not w.script.sign_calls


async def test_a_giant_request_is_refused_and_nobody_waits_for_it(
    embedded_world: Callable[..., World],
) -> None:
    w = await ready_world(embedded_world)
    await w.request(csr=b"-----BEGIN CERTIFICATE REQUEST-----\n" + b"A" * 100_000)
    await w.settle()
    assert "TooLarge" in (await w.ready()).message


@pytest.mark.scenario("ISS-65")
@pytest.mark.parametrize(("duration", "hours"), [(None, 2160), ("896h", 896)])
async def test_durations(world: Callable[..., World], duration: str | None, hours: int) -> None:
    w = await ready_world(world)
    await w.request(duration=duration)
    await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    validity = pki.Validity.of(pki.read_chain(found.status.certificate).leaf)
    assert w.script.sign_calls[0].duration == timedelta(hours=hours)
    assert abs(validity.not_after - validity.not_before - timedelta(hours=hours)) < timedelta(
        minutes=5, seconds=30
    )

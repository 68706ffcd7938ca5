"""What certificates are issued, and what that costs."""

from datetime import timedelta

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    DAY,
    SERVER,
    Certifying,
    writes,
)

from certwright import pki
from certwright.api.discoverydefaults import client_identity, parse_client_identity
from certwright.pki.certificates import alternative_names, is_authority, usages_of
from certwright.pki.chains import is_issued_by, is_self_signed
from certwright.pki.names import format_name


@pytest.mark.scenario("DS-2")
async def test_authority_server_and_client(certifying: Certifying) -> None:
    await certifying.plane("a")
    began = certifying.now.replace(microsecond=0)
    await certifying.settle()
    ca, server = await certifying.pair(CA), await certifying.pair(SERVER)
    client = await certifying.pair(f"a/{CLIENT}")
    assert is_self_signed(ca.certificate)
    assert is_authority(ca.certificate)
    assert ca.validity.not_after - began < timedelta(seconds=94608000 + 5)
    assert ca.validity.not_after - began >= timedelta(seconds=94608000)
    assert usages_of(ca.certificate) == pki.parse_usages(["cert sign"])
    assert format_name(ca.certificate.subject) == "CN=marin3r-ca-x,O=marin3r.3scale.net"
    assert is_issued_by(server.certificate, ca.certificate)
    assert alternative_names(server.certificate).dns == ("marin3r-x.default.svc",)
    assert usages_of(server.certificate).extended_words() == ["server auth"]
    assert is_issued_by(client.certificate, ca.certificate)
    assert usages_of(client.certificate).extended_words() == ["client auth"]
    life = client.validity.not_after - began
    assert timedelta(seconds=172800) <= life < timedelta(seconds=172805)


@pytest.mark.scenario("DS-4")
async def test_each_namespace_has_a_certificate_of_its_own(certifying: Certifying) -> None:
    await certifying.plane("a", "b", "c")
    await certifying.settle()
    pairs = {name: await certifying.pair(f"{name}/{CLIENT}") for name in ("a", "b", "c")}
    assert len({pair.serial for pair in pairs.values()}) == 3
    assert len({pair.write()[1] for pair in pairs.values()}) == 3
    for name, pair in pairs.items():
        [uri] = alternative_names(pair.certificate).uris
        assert uri == client_identity("x", name)
        assert parse_client_identity(uri) == ("x", name)


async def test_a_certificate_costs_two_writes_and_an_event(certifying: Certifying) -> None:
    await certifying.create()
    calls = await certifying.settle()
    assert writes(calls) == ["create Secret", "patch DiscoveryServiceCertificate"]
    assert calls.of("Event").writes == 1
    assert await certifying.events() == ["CertificateIssued"]
    assert (await certifying.settle()).writes == 0
    assert (await certifying.restart()).writes == 0


async def test_nothing_is_written_while_nothing_changes(certifying: Certifying) -> None:
    await certifying.plane("a", "b")
    await certifying.settle()
    await certifying.settle()
    assert (await certifying.advance(hours=5)).writes == 0
    assert (await certifying.restart()).writes == 0


async def test_the_status_is_that_of_both_eras(certifying: Certifying) -> None:
    await certifying.create()
    await certifying.settle()
    status, pair = await certifying.status("c"), await certifying.pair("c")
    assert status["ready"] is True
    assert status["notBefore"] == f"{pair.validity.not_before:%FT%TZ}"
    assert status["notAfter"] == f"{pair.validity.not_after:%FT%TZ}"
    assert status["serialNumber"] == pair.serial
    assert status["certificateHash"]
    assert [one["type"] for one in status["conditions"]] == ["Ready"]


async def test_keys_are_rsa_by_default_and_made_in_a_thread(certifying: Certifying) -> None:
    certifying.settings = {"keys": pki.KeySpec(pki.KeyAlgorithm.RSA, 2048)}
    await certifying.create()
    await certifying.settle()
    pair = await certifying.pair("c")
    assert str(pki.key_spec(pair.key)) == "RSA 2048"
    usages = pki.parse_usages(["digital signature", "key encipherment", "client auth"])
    assert usages_of(pair.certificate) == usages
    assert b"BEGIN PRIVATE KEY" in pair.write()[1]


async def test_the_secret_is_of_tls_and_belongs_to_the_certificate(certifying: Certifying) -> None:
    made = await certifying.create()
    await certifying.settle()
    secret = await certifying.secret("c")
    assert secret["type"] == "kubernetes.io/tls"
    assert set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    [owner] = secret["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (made["metadata"]["uid"], True)


@pytest.mark.scenario("DS-26")
async def test_no_certificate_outlives_its_authority(certifying: Certifying) -> None:
    await certifying.create(CA, isCA=True, validFor=10 * DAY, certificateRenewal={"enabled": False})
    await certifying.leaf("server", server=True, validFor=90 * DAY)
    await certifying.settle()
    ca, server = await certifying.pair(CA), await certifying.pair("server")
    assert server.validity.not_after == ca.validity.not_after
    calls = await certifying.advance(hours=10)
    assert calls.writes == 0
    assert (await certifying.pair("server")).serial == server.serial


@pytest.mark.scenario("DS-52")
async def test_certificates_begin_before_they_are_made(certifying: Certifying) -> None:
    await certifying.create(validFor=2 * DAY)
    began = certifying.now
    await certifying.settle()
    validity = (await certifying.pair("c")).validity
    behind = began - timedelta(seconds=60)
    assert validity.covers(behind)
    assert validity.not_after >= began.replace(microsecond=0) + timedelta(days=2)


@pytest.mark.scenario("DS-55")
async def test_ends_on_a_leap_day_and_far_in_the_future(certifying: Certifying) -> None:
    now = certifying.now
    leap = now.replace(year=2048, month=2, day=29, hour=12, minute=0, second=0, microsecond=0)
    until = int((leap - now).total_seconds())
    await certifying.create("leap", validFor=until)
    await certifying.create("far", validFor=100 * 365 * DAY)
    await certifying.settle()
    assert (await certifying.pair("leap")).validity.not_after.date() == leap.date()
    assert (await certifying.pair("far")).validity.not_after.year >= 2050
    for name in ("leap", "far"):
        assert await certifying.condition(name) == "True/CertificateIssued"
    assert (await certifying.restart()).writes == 0

"""Secrets that others changed or deleted, and specs that changed, become as they should be."""

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    DSC,
    SERVER,
    Certifying,
    writes,
)

from certwright import pki
from certwright.kube.kinds import Secret
from certwright.pki.certificates import alternative_names
from certwright.pki.chains import is_issued_by
from certwright.pki.names import common_name
from certwright.testkit.builders import secret


@pytest.mark.scenario("DS-31")
@pytest.mark.parametrize("what", ["certificate", "key", "pair", "authority"])
async def test_what_others_put_there_is_replaced(certifying: Certifying, what: str) -> None:
    await certifying.plane("a")
    await certifying.create("foreign-ca", isCA=True, commonName="marin3r-ca-x")
    reference = {"caSigned": {"caSecretRef": {"name": "foreign-ca"}}}
    await certifying.create("foreign", signer=reference, commonName="marin3r-x-client")
    await certifying.settle()
    place, source = f"a/{CLIENT}", await certifying.pair("foreign")
    if what == "authority":
        place, source = CA, await certifying.pair("foreign-ca")
    certificate, key = source.write()
    new: dict[str, bytes | None] = {}
    if what != "key":
        new["tls.crt"] = certificate
    if what != "certificate":
        new["tls.key"] = key
    await certifying.put(place, new)
    await certifying.settle()
    pair, ca = await certifying.pair(place), await certifying.pair(CA)
    assert pair.serial != source.serial
    assert is_issued_by(pair.certificate, ca.certificate)
    if what == "authority":
        await certifying.advance(hours=2)
    assert is_issued_by((await certifying.pair(SERVER)).certificate, ca.certificate)


@pytest.mark.scenario("DS-32")
@pytest.mark.parametrize(
    "data",
    [
        {"tls.crt": b"no PEM at all"},
        {"tls.crt": None},
        {"tls.key": None},
        {"tls.crt": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
        {"tls.crt": b"\xff\xfe"},
        {"tls.crt": b"x" * 100_000},
    ],
    ids=["text", "no certificate", "no key", "no DER", "no text", "large"],
)
@pytest.mark.parametrize("place", [SERVER, CA], ids=["leaf", "authority"])
async def test_what_cannot_be_read_is_replaced(
    certifying: Certifying, place: str, data: dict[str, bytes | None]
) -> None:
    await certifying.plane()
    await certifying.settle()
    before = (await certifying.pair(place)).serial
    if None in data.values():  # a Secret of this type has both keys
        [name] = data
        data = {name: b""}
    await certifying.put(place, data)
    await certifying.settle()
    assert (await certifying.pair(place)).serial != before
    assert await certifying.condition(place) == "True/CertificateIssued"


async def test_what_the_authority_of_others_signed_is_replaced(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    await certifying.put(f"a/{CLIENT}", {"ca.crt": b"nothing"})
    calls = await certifying.settle()
    assert writes(calls) == ["patch Secret"]
    assert await certifying.anchors(f"a/{CLIENT}") == await certifying.anchors(CA)


@pytest.mark.scenario("DS-34")
@pytest.mark.parametrize(
    "change",
    [
        {"hosts": ["new.example", "10.0.0.1"]},
        {"commonName": "new"},
        {"server": True},
        {"validFor": 5000},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_changed_spec_leads_to_a_matching_certificate(
    certifying: Certifying, change: dict[str, object]
) -> None:
    await certifying.create(hosts=["old.example"], commonName="old")
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.change("c", **change)
    await certifying.settle()
    pair = await certifying.pair("c")
    assert pair.serial != first
    if "hosts" in change:
        assert alternative_names(pair.certificate).as_set() == {"DNS:new.example", "IP:10.0.0.1"}
    if "commonName" in change:
        assert common_name(pair.certificate.subject) == "new"
    if "validFor" in change:
        assert pair.validity.lifetime.total_seconds() == 5100
    assert (await certifying.status("c"))["observedGeneration"] == 2
    assert (await certifying.restart()).writes == 0


async def test_a_secret_that_was_deleted_comes_back(certifying: Certifying) -> None:
    await certifying.create()
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.cluster.delete(Secret, "c")
    await certifying.settle()
    assert (await certifying.pair("c")).serial != first


async def test_a_secret_of_another_type_is_made_anew(certifying: Certifying) -> None:
    await certifying.create()
    await certifying.settle()
    made = await certifying.secret("c")
    await certifying.cluster.delete(Secret, "c")
    opaque = {**made, "type": "Opaque", "metadata": {"name": "c"}}
    opaque["metadata"]["ownerReferences"] = made["metadata"]["ownerReferences"]
    await certifying.cluster.create(opaque)
    await certifying.settle()
    assert (await certifying.secret("c"))["type"] == "kubernetes.io/tls"


async def test_a_secret_of_others_is_left_alone(certifying: Certifying) -> None:
    await certifying.cluster.create(secret("c", {"mine": "1"}))
    await certifying.create()
    await certifying.settle()
    assert (await certifying.secret("c"))["type"] == "Opaque"
    assert await certifying.condition("c") == "False/SecretNotOwned"
    await certifying.cluster.delete(Secret, "c")
    await certifying.advance(hours=1)
    assert (await certifying.pair("c")).serial
    assert await certifying.condition("c") == "True/CertificateIssued"


@pytest.mark.scenario("DS-25")
async def test_what_an_authority_signed_that_is_not_trusted_any_more(
    certifying: Certifying,
) -> None:
    await certifying.create("old", isCA=True, commonName="ca")
    await certifying.create("new", isCA=True, commonName="ca")
    await certifying.settle()
    old = (await certifying.secret("old"))["data"]
    new = (await certifying.secret("new"))["data"]
    external = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": "external"},
        "data": {name: old[name] for name in ("tls.crt", "tls.key")},
    }
    await certifying.cluster.create(external)
    await certifying.create("c", signer={"caSigned": {"caSecretRef": {"name": "external"}}})
    await certifying.settle()
    first = await certifying.pair("c")
    await certifying.cluster.patch(
        Secret, "external", {"data": {name: new[name] for name in ("tls.crt", "tls.key")}}
    )
    await certifying.settle()
    second = await certifying.pair("c")
    assert second.serial != first.serial
    authority = await certifying.pair("new")
    assert is_issued_by(second.certificate, authority.certificate)
    assert await certifying.anchors("c") == {authority.fingerprint}
    assert pki.Validity.of(first.certificate).covers(certifying.now)


@pytest.mark.scenario("DS-50")
async def test_a_secret_goes_with_its_certificate(certifying: Certifying) -> None:
    await certifying.create()
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.cluster.delete(DSC, "c")
    await certifying.settle()
    assert not await certifying.exists("c")
    await certifying.create()  # as its owner does
    await certifying.settle()
    assert (await certifying.pair("c")).serial != first


async def test_an_authority_is_not_deleted_before_its_certificates(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    await certifying.cluster.delete(DSC, CA)
    await certifying.advance(minutes=5)
    assert await certifying.exists(CA)
    assert "AuthorityInUse" in await certifying.events(CA)
    await certifying.cluster.delete(DSC, SERVER)
    await certifying.cluster.delete(DSC, f"a/{CLIENT}")
    await certifying.settle()
    assert not await certifying.exists(CA)

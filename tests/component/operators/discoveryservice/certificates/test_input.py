"""What specs may not ask for, and authorities that cannot sign."""

from typing import Any

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    DSC,
    SERVER,
    Certifying,
    writes,
)

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube import ApiError, JsonObject, crd_manifest

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no life": ({"validFor": 0}, "spec.validFor"),
    "negative life": ({"validFor": -5}, "spec.validFor"),
    "no name": ({"commonName": ""}, "spec.commonName"),
    "no signer": ({"signer": {}}, "spec.signer"),
    "both signers": (
        {"signer": {"selfSigned": {}, "caSigned": {"caSecretRef": {"name": "a"}}}},
        "spec.signer",
    ),
    "long name": ({"commonName": "x" * 65}, "spec.commonName"),
}


@pytest.mark.scenario("DS-41")
@pytest.mark.parametrize("name", BAD)
async def test_the_server_refuses_with_the_field(certifying: Certifying, name: str) -> None:
    spec, field = BAD[name]
    with pytest.raises(ApiError, match=field):
        await certifying.create(**spec)


@pytest.mark.scenario("DS-41")
@pytest.mark.parametrize("name", BAD)
async def test_what_was_stored_before_is_refused_in_its_status(
    certifying: Certifying, name: str
) -> None:
    await certifying.cluster.install(_without_validation())
    spec, field = BAD[name]
    await certifying.create(**spec)
    calls = await certifying.settle()
    assert await certifying.condition("c") == "False/InvalidSpec"
    assert (await certifying.message("c")).startswith(field)
    assert calls.of("Secret").writes == 0
    assert (await certifying.advance(hours=3)).writes == 0


def _without_validation() -> JsonObject:
    """Return the definition as it was once: with fields, and no rules."""
    manifest = crd_manifest(DiscoveryServiceCertificate)
    [version] = manifest["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    version["additionalPrinterColumns"] = []
    return manifest


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"isCA": True, "signer": {"caSigned": {"caSecretRef": {"name": CA}}}}, "spec.isCA"),
        ({"signer": {"caSigned": {"caSecretRef": {"name": "c"}}}}, "spec.secretRef.name"),
        ({"hosts": ["bücher.example"]}, "spec.hosts"),
        (
            {
                "server": True,
                "signer": {"caSigned": {"caSecretRef": {"name": CA, "namespace": "other"}}},
            },
            "spec.signer.caSigned.caSecretRef.namespace",
        ),
    ],
    ids=["authority below another", "its own authority", "no DNS name", "server elsewhere"],
)
async def test_what_is_refused_besides(
    certifying: Certifying, spec: dict[str, Any], field: str
) -> None:
    await certifying.create(**spec)
    await certifying.settle()
    assert await certifying.condition("c") == "False/InvalidSpec"
    assert (await certifying.message("c")).startswith(field)


@pytest.mark.scenario("DS-45")
@pytest.mark.parametrize("what", ["no authority", "wrong key", "unreadable"])
async def test_an_authority_that_cannot_sign(certifying: Certifying, what: str) -> None:
    await certifying.create("leaf")
    await certifying.create("other", isCA=True)
    await certifying.settle()
    leaf = (await certifying.secret("leaf"))["data"]
    other = (await certifying.secret("other"))["data"]
    data = {
        "no authority": {"tls.crt": leaf["tls.crt"], "tls.key": leaf["tls.key"]},
        "wrong key": {"tls.crt": other["tls.crt"], "tls.key": leaf["tls.key"]},
        "unreadable": {"tls.crt": "AAAA", "tls.key": "AAAA"},
    }[what]
    await certifying.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "external"},
            "data": data,
        }
    )
    await certifying.create("c", signer={"caSigned": {"caSecretRef": {"name": "external"}}})
    await certifying.settle()
    assert await certifying.condition("c") == "False/IssuerInvalid"
    assert "external" in await certifying.message("c")
    assert not await certifying.exists("c")
    assert (await certifying.advance(hours=3)).writes == 0


async def test_a_certificate_waits_for_its_authority(certifying: Certifying) -> None:
    await certifying.leaf("c")
    await certifying.settle()
    assert await certifying.condition("c") == "False/IssuerNotFound"
    assert (await certifying.advance(hours=3)).writes == 0
    await certifying.create(CA, isCA=True)
    await certifying.settle()
    assert await certifying.condition("c") == "True/CertificateIssued"


@pytest.mark.scenario("DS-46")
async def test_old_names_are_honoured_and_reported(certifying: Certifying) -> None:
    await certifying.create(validFor=100, certificateRenewalNotification={"enabled": False})
    await certifying.settle()
    first = (await certifying.pair("c")).serial
    await certifying.advance(seconds=500)
    assert (await certifying.pair("c")).serial == first
    status = await certifying.status("c")
    assert status["deprecatedFields"] == ["spec.certificateRenewalNotification"]
    assert "DeprecatedField" in await certifying.events("c")
    await certifying.cluster.patch(DSC, "c", {"spec": {"certificateRenewalNotification": None}})
    await certifying.settle()
    assert "deprecatedFields" not in await certifying.status("c")
    assert (await certifying.pair("c")).serial != first


async def test_one_bad_certificate_does_not_stop_others(certifying: Certifying) -> None:
    await certifying.cluster.install(_without_validation())
    await certifying.create("bad", validFor=-1)
    await certifying.create("worse", signer="text", secretRef=[], hosts=5)
    await certifying.create("good")
    await certifying.settle()
    assert await certifying.condition("good") == "True/CertificateIssued"
    assert await certifying.condition("worse") == "False/InvalidSpec"


UNMADE = ["fe80::1%eth0"]
"""Certificates hold no zones of addresses, so what is made differs from what is asked for."""


async def test_a_certificate_that_would_be_made_for_ever_is_not_made(
    certifying: Certifying,
) -> None:
    await certifying.create("c", server=True, hosts=UNMADE)
    await certifying.settle()
    assert await certifying.condition("c") == "False/IssueFailed"
    assert "spec.hosts" in await certifying.message("c")
    assert not await certifying.exists("c")
    assert writes(await certifying.advance(hours=3)) == []
    await certifying.change("c", hosts=["fe80::1"])
    await certifying.settle()
    assert await certifying.condition("c") == "True/CertificateIssued"


async def test_what_works_stays_if_the_spec_asks_for_what_cannot_be_made(
    certifying: Certifying,
) -> None:
    await certifying.plane("a")
    await certifying.settle()
    before = {name: (await certifying.pair(name)).serial for name in (CA, SERVER)}
    for name in before:
        await certifying.change(name, hosts=UNMADE)
    await certifying.settle()
    made = writes(await certifying.advance(hours=3))
    assert "patch Secret" not in made
    assert {name: (await certifying.pair(name)).serial for name in before} == before
    for name in before:
        assert await certifying.condition(name) == "True/IssueFailed"
    assert await certifying.phase() == "Stable"

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright import pki
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.certificates.profile import (
    UnfitCertificate,
    difference,
    lead,
    make_certificate,
)
from certwright.operators.discoveryservice.certificates.wanted import (
    InvalidSpec,
    WantedCertificate,
    issuer_of,
    read_wanted,
    secret_of,
)
from certwright.pki.certificates import alternative_names, is_authority, usages_of
from certwright.pki.pairs import CertifiedKey, read_pair

P256 = pki.KeySpec(pki.KeyAlgorithm.ECDSA, 256)
NOW = datetime(2030, 1, 1, 12, 0, 0, 500, tzinfo=UTC)
URI = "spiffe://x.discoveryservice.marin3r.3scale.net/ns/a"


def obj(**spec: Any) -> JsonObject:
    whole = {
        "commonName": "c",
        "validFor": 172800,
        "signer": {"selfSigned": {}},
        "secretRef": {"name": "c"},
    }
    return {"metadata": {"name": "c", "namespace": "a"}, "spec": {**whole, **spec}}


def wanted(**spec: Any) -> WantedCertificate:
    return read_wanted(obj(**spec))


def ca(**spec: Any) -> CertifiedKey:
    return make_certificate(wanted(isCA=True, **spec), "", None, P256, NOW)


@pytest.mark.parametrize(
    ("lifetime", "expected"), [(172800, 300), (15000, 300), (5000, 100), (100, 2), (49, 0), (1, 0)]
)
def test_how_far_in_the_past_certificates_begin(lifetime: int, expected: int) -> None:
    assert lead(timedelta(seconds=lifetime)) == timedelta(seconds=expected)


@pytest.mark.scenario("DS-52")
def test_the_lifetime_is_counted_from_now() -> None:
    validity = make_certificate(wanted(), "", None, P256, NOW).validity
    whole = NOW.replace(microsecond=0)
    assert validity.not_before == whole - timedelta(minutes=5)
    assert validity.not_after == whole + timedelta(seconds=172800)


def test_a_server_is_named_by_its_hosts_or_else_by_its_common_name() -> None:
    pair = make_certificate(wanted(server=True, hosts=["a.b", "::1"]), URI, ca(), P256, NOW)
    assert alternative_names(pair.certificate).as_set() == {"DNS:a.b", "IP:::1", f"URI:{URI}"}
    assert usages_of(pair.certificate).extended_words() == ["server auth"]
    bare = make_certificate(wanted(server=True), "", None, P256, NOW)
    assert alternative_names(bare.certificate).dns == ("c",)
    client = make_certificate(wanted(), "", None, P256, NOW)
    assert alternative_names(client.certificate).as_set() == frozenset()


def test_an_authority_only_signs() -> None:
    pair = make_certificate(wanted(isCA=True), URI, None, P256, NOW)
    assert is_authority(pair.certificate)
    assert usages_of(pair.certificate).key_words() == ["cert sign"]
    assert alternative_names(pair.certificate).as_set() == frozenset()


@pytest.mark.scenario("DS-26")
def test_what_is_signed_ends_with_its_authority() -> None:
    issuer = ca(validFor=1000)
    spec = wanted()
    pair = make_certificate(spec, "", issuer, P256, NOW)
    assert pair.validity.not_after == issuer.validity.not_after
    assert difference(pair.certificate, spec, "", issuer.validity) == ""
    assert difference(pair.certificate, spec, "") == "spec.validFor"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, ""),
        ({"commonName": "d"}, "spec.commonName"),
        ({"isCA": True}, "spec.isCA"),
        ({"hosts": ["h"]}, "spec.hosts"),
        ({"validFor": 173000}, ""),
        ({"validFor": 172000}, "spec.validFor"),
        ({"validFor": 173200}, "spec.validFor"),
        ({"server": True, "hosts": []}, "spec.hosts"),
    ],
)
def test_differences_name_the_field(change: dict[str, Any], field: str) -> None:
    pair = make_certificate(wanted(), "", None, P256, NOW)
    assert difference(pair.certificate, wanted(**change), "") == field


def test_a_server_is_no_client() -> None:
    pair = make_certificate(wanted(hosts=["h"]), "", None, P256, NOW)
    assert difference(pair.certificate, wanted(hosts=["h"], server=True), "") == "spec.server"


def test_pairs_are_written_and_read_back() -> None:
    pair = make_certificate(wanted(), "", ca(), P256, NOW)
    again = read_pair(*pair.write())
    assert again.fingerprint == pair.fingerprint
    assert "PRIVATE" not in repr(again)
    with pytest.raises(pki.CertificateRefused):
        read_pair(pair.write()[0], ca().write()[1])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"validFor": 0}, "spec.validFor: "),
        ({"commonName": ""}, "spec.commonName: "),
        ({"commonName": "a\nb"}, "spec.commonName: control characters"),
        ({"signer": {}}, "spec.signer: "),
        ({"hosts": ["a" * 254]}, "spec.hosts"),
        ({"secretRef": {}}, "spec.secretRef: Object missing required field `name`"),
        ({"secretRef": None}, "spec.secretRef: "),
    ],
)
def test_problems_begin_with_the_field(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        read_wanted(obj(**spec))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("spec", [None, "text", [], {"signer": 5}, {"secretRef": "x"}])
def test_references_of_any_object_can_be_looked_for(spec: Any) -> None:
    strange = {"metadata": {"name": "c", "namespace": "a"}, "spec": spec}
    assert issuer_of(strange) is None
    assert secret_of(strange) is None


@pytest.mark.parametrize("spec", [{"server": True}, {"isCA": True}, {}])
def test_what_would_be_made_for_ever_is_not_made(spec: JsonObject) -> None:
    odd = wanted(hosts=["fe80::1%eth0"], **spec)  # certificates hold no zones of addresses
    for issuer in (None, ca()):
        with pytest.raises(UnfitCertificate, match=r"spec\.hosts"):
            make_certificate(odd, "", issuer, P256, NOW)

"""Our side of CFSSL's API against `cfssl serve`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.integration.issuers.conftest import Cfssl

from certwright import pki
from certwright.issuers.cfssl import CfsslClient, CfsslRefused, Profile
from certwright.issuers.web import Web, WebError
from certwright.pki.certificates import alternative_names


def csr(*hosts: str, algorithm: str = "ECDSA", **options: Any) -> str:
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm(algorithm)))
    subject = pki.distinguished_name(hosts[0])
    return pki.write_request(
        pki.build_request(key, subject, pki.AlternativeNames.of_hosts(*hosts), **options)
    ).decode()


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with Web() as opened:
        yield opened


async def test_it_signs_below_the_authority_it_shows(cfssl: Cfssl, web: Web) -> None:
    client = CfsslClient(web, Profile(cfssl.url))
    request = csr("a.example.com", "10.0.0.1")
    leaf = pki.read_certificate(await client.sign(request))
    authority = pki.read_certificate(await client.authority())
    assert authority == cfssl.root.certificate
    leaf.verify_directly_issued_by(authority)
    assert alternative_names(leaf) == pki.read_request(request).names


async def test_a_guarded_profile_opens_with_its_key_only(cfssl: Cfssl, web: Web) -> None:
    good = Profile(cfssl.url, "guarded", key=Profile.read_key(cfssl.key))
    assert pki.read_certificate(await CfsslClient(web, good).sign(csr("a.example.com")))
    for wrong, reason in [
        (Profile(cfssl.url, "guarded", key=b"wrong"), "invalid token"),
        (Profile(cfssl.url, "guarded"), "authentication required"),
        (Profile(cfssl.url, key=b"wrong"), "no authentication provider"),
    ]:
        with pytest.raises(CfsslRefused, match=reason) as refused:
            await CfsslClient(web, wrong).sign(csr("a.example.com"))
        assert not refused.value.is_about_request


@pytest.mark.parametrize(
    ("profile", "request_pem", "reason"),
    [
        ("narrow", csr("no.example.com"), "whitelist"),
        ("", csr("ca.example.com", is_ca=True), "Policy violation"),
        ("", "no request at all", "CSR Decode failed"),
        ("", csr("a.example.com", algorithm="Ed25519"), "unimplemented"),
    ],
)
async def test_what_is_wrong_with_a_request_is_told_apart(
    cfssl: Cfssl, web: Web, profile: str, request_pem: str, reason: str
) -> None:
    with pytest.raises(CfsslRefused, match=reason) as refused:
        await CfsslClient(web, Profile(cfssl.url, profile)).sign(request_pem)
    assert refused.value.is_about_request


async def test_a_wrong_path_is_no_refusal_of_the_request(cfssl: Cfssl, web: Web) -> None:
    with pytest.raises(CfsslRefused, match="has no sign: either the URL is wrong") as refused:
        await CfsslClient(web, Profile(cfssl.url + "/elsewhere")).sign(csr("a.example.com"))
    assert not refused.value.is_about_request


async def test_a_server_that_is_not_there_is_named(web: Web) -> None:
    with pytest.raises(WebError, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        await CfsslClient(web, Profile("http://127.0.0.1:9")).authority()


def test_a_key_must_be_hexadecimal() -> None:
    with pytest.raises(ValueError, match="not hexadecimal"):
        Profile.read_key("secret!")

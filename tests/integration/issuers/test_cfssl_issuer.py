"""The cfssl issuer with a real CFSSL behind it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar, cast

import pytest
from tests.integration.issuers.conftest import Cfssl, LiveCluster

from certwright import pki
from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuers.cfssl import app


class TestCfssl(IssuerConformance):
    app = app
    patience, glance = timedelta(seconds=10), timedelta(seconds=0.2)
    unsupported: ClassVar = {
        Feature.ACME_RENEWAL_INFORMATION: "no ACME here",
        Feature.DURATION: "the profile decides",
        Feature.KEY_USAGES: "the profile decides",
        Feature.ISSUE_CA: "the profile decides",
        Feature.ED25519: "Debian's CFSSL is older than Ed25519 in Go",
        Feature.URI_SANS: "Debian's CFSSL drops them",
        Feature.OTHER_NAMES: "CFSSL drops them",
        Feature.LITERAL_SUBJECT: "CFSSL writes subjects in an order of its own",
    }

    @pytest.fixture
    def cluster(self, live: LiveCluster, cfssl: Cfssl) -> Any:
        cast("Any", self).spec = {"url": cfssl.url}
        return live


async def test_a_guarded_profile(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, cfssl: Cfssl
) -> None:
    await live.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "cfssl"},
            "stringData": {"key": cfssl.key},
        }
    )
    guarded = {"url": cfssl.url, "profile": "guarded"}
    outcome = await issued(app, {**guarded, "authKey": {"name": "cfssl", "key": "key"}})
    assert outcome.ready.reason == "Issued", outcome.told
    assert pki.read_bundle(outcome.ca) == [cfssl.root.certificate]


async def test_a_missing_key_is_the_issuers_fault(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, cfssl: Cfssl
) -> None:
    outcome = await issued(
        app,
        {"url": cfssl.url, "profile": "guarded"},
        until=lambda found: "authentication required" in found.told,
    )
    assert outcome.ready.reason == "Pending"


async def test_a_name_that_the_profile_forbids_fails_the_request(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, cfssl: Cfssl
) -> None:
    outcome = await issued(app, {"url": cfssl.url, "profile": "narrow"}, "bad.example.com")
    assert outcome.ready.reason == "Failed"
    assert "does not match policy whitelist" in outcome.ready.message


async def test_an_authority_in_spite_of_the_profile_is_refused(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, cfssl: Cfssl
) -> None:
    csr = pki.write_request(
        pki.build_request(pki.generate_key(pki.KeySpec()), pki.parse_name("CN=sub"), is_ca=True)
    )
    outcome = await issued(app, {"url": cfssl.url}, csr=csr, isCA=True)
    assert outcome.ready.reason == "Failed"
    assert "Policy violation" in outcome.ready.message


async def test_a_server_that_is_away_is_named(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster
) -> None:
    outcome = await issued(app, {"url": "http://127.0.0.1:9"})
    assert "http://127.0.0.1:9 cannot be reached" in outcome.issuer_ready.message

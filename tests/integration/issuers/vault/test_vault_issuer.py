"""The vault issuer, with the stand-in behind it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar, cast

import pytest
from tests.integration.issuers.conftest import LiveCluster
from tests.integration.issuers.vault.conftest import FakeVault

from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuers.vault import app
from certwright.kube import JsonObject


class TestVault(IssuerConformance):
    """How a role behaves is the stand-in's invention; what is proven is our side of it."""

    app = app
    patience, glance = timedelta(seconds=10), timedelta(seconds=0.2)
    unsupported: ClassVar = {
        Feature.ACME_RENEWAL_INFORMATION: "no ACME here",
        Feature.KEY_USAGES: "the role decides",
        Feature.ISSUE_CA: "the role decides",
    }

    @pytest.fixture
    def cluster(self, live: LiveCluster, vault: FakeVault, trusted: str) -> LiveCluster:
        cast("Any", self).spec = {
            "server": vault.url, "path": "pki/sign/web", "caBundle": trusted,
            "token": {"name": "vault", "key": "token"},
        }  # fmt: skip
        return live

    async def prepare(self, cluster: LiveCluster) -> None:
        await cluster.create(secret("vault", token="s.good\n"))


def secret(name: str, **data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


@pytest.fixture
def spec(vault: FakeVault, trusted: str) -> JsonObject:
    return {"server": vault.url, "path": "pki/sign/web", "caBundle": trusted}


TOKEN = {"token": {"name": "vault", "key": "token"}}
LOGIN = {"kubernetes": {"role": "issuer", "token": {"name": "vault", "key": "token"}}}


async def test_a_service_account_logs_in(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, spec: JsonObject, vault: FakeVault
) -> None:
    await live.create(secret("vault", token=vault.jwt))
    request = await issued(app, {**spec, **LOGIN})
    assert request.ready.reason == "Issued"


async def test_a_role_that_forbids_a_name_fails_the_request(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, spec: JsonObject
) -> None:
    await live.create(secret("vault", token="s.good"))
    request = await issued(app, {**spec, **TOKEN}, name="a.forbidden")
    assert request.ready.reason == "Failed"
    assert "common name a.forbidden not allowed by this role" in request.ready.message


@pytest.mark.parametrize(
    ("change", "login", "token", "reason"),
    [
        ({}, TOKEN, "s.old", "Vault refused the token (403): permission denied"),
        ({}, LOGIN, "forged", "Vault refused the login (403): permission denied"),
        ({}, {}, "s.good", "set either token or kubernetes"),
        ({"caBundle": ""}, TOKEN, "s.good", "its certificate is not trusted"),
        ({"caBundle": "nonsense"}, TOKEN, "s.good", "the CA bundle holds no PEM certificate"),
        ({"server": "nonsense"}, TOKEN, "s.good", "is not a valid URL"),
        (
            {"server": "http://vault.example"},
            TOKEN,
            "s.good",
            "Vault's token must be sent by https",
        ),
    ],
)
async def test_an_issuer_that_cannot_sign_says_why(
    issued: Callable[..., Awaitable[Any]],
    live: LiveCluster,
    spec: JsonObject,
    change: dict[str, str],
    login: JsonObject,
    token: str,
    reason: str,
) -> None:
    await live.create(secret("vault", token=token))
    request = await issued(app, {**spec, **login, **change})
    assert request.issuer_ready.status == "False"
    assert reason in request.issuer_ready.message
    assert token not in request.issuer_ready.message


async def test_a_role_that_is_gone_is_the_issuers_fault(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, spec: JsonObject
) -> None:
    await live.create(secret("vault", token="s.good"))
    request = await issued(app, {**spec, **TOKEN, "path": "pki/sign/nobody"})
    assert request.ready.reason == "Pending"
    assert "unknown role: nobody" in request.told


async def test_a_sealed_vault_keeps_requests_waiting(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, spec: JsonObject, vault: FakeVault
) -> None:
    vault.sealed = True
    await live.create(secret("vault", token="s.good"))
    request = await issued(app, {**spec, **TOKEN})
    assert request.issuer_ready.message.endswith("Vault cannot sign: it is sealed")
    assert request.ready.reason == "Pending"

"""Our side of Vault's API, against the stand-in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.integration.issuers.vault.conftest import FakeVault

from certwright import pki
from certwright.issuers.vault import VaultClient, VaultRefused, sign_order
from certwright.issuers.web import Web, WebError
from certwright.pki.certificates import alternative_names
from certwright.pki.chains import order_chain


@pytest.fixture
async def connections(trusted: str) -> AsyncIterator[Web]:
    async with Web(trusted=trusted) as web:
        yield web


@pytest.fixture
def client(connections: Web, vault: FakeVault) -> VaultClient:
    return VaultClient(connections, vault.url + "/")


def order_for(*hosts: str, seconds: int = 3600) -> Any:
    csr = pki.build_request(
        pki.generate_key(pki.KeySpec()),
        pki.distinguished_name(hosts[0]),
        pki.AlternativeNames.of_hosts(*hosts),
    )
    pem = pki.write_request(csr).decode()
    return sign_order(pki.read_request(pem), pem, seconds)


async def test_a_certificate_comes_with_its_chain(client: VaultClient, vault: FakeVault) -> None:
    order = order_for("a.example", "10.0.0.1")
    chain = order_chain(
        pki.read_certificates("\n".join(await client.sign("/pki/sign/web/", "s.good", order)))
    )
    assert alternative_names(chain.leaf) == pki.read_request(order["csr"]).names
    assert chain.authority == vault.root.certificate


async def test_without_chain_the_signer_is_taken(
    client: VaultClient, vault: FakeVault, serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    pem = pki.write_certificates(vault.root.certificate).decode()

    async def handler(request: Any) -> Any:
        from aiohttp import web  # noqa: PLC0415

        return web.json_response({"data": {"certificate": "leaf", "issuing_ca": pem}})

    async with Web(trusted=trusted) as web:
        bare = VaultClient(web, await serve(handler))
        assert await bare.sign("pki/sign/web", "t", {}) == ["leaf", pem]


async def test_all_names_and_the_lifetime_are_said() -> None:
    csr = pki.build_request(
        pki.generate_key(pki.KeySpec()),
        pki.distinguished_name("a.example"),
        pki.AlternativeNames(
            dns=("a.example", "b.example"), emails=("me@a.example",), uris=("spiffe://a/b", "urn:c")
        ),
    )
    pem = pki.write_request(csr).decode()
    assert sign_order(pki.read_request(pem), pem, 90) == {
        "csr": pem, "format": "pem", "common_name": "a.example",
        "alt_names": "a.example,b.example,me@a.example", "ip_sans": "",
        "uri_sans": "spiffe://a/b,urn:c", "ttl": "90s", "exclude_cn_from_sans": True,
    }  # fmt: skip


async def test_logging_in_with_a_service_account(client: VaultClient, vault: FakeVault) -> None:
    token = await client.log_in("/kubernetes/", "issuer", vault.jwt)
    await client.check_token(token)
    with pytest.raises(
        VaultRefused, match=r"refused the login \(403\): permission denied"
    ) as refused:
        await client.log_in("kubernetes", "issuer", "forged-token")
    assert "forged-token" not in str(refused.value)


async def test_a_token_that_expired_is_refused(client: VaultClient) -> None:
    with pytest.raises(VaultRefused, match="refused the token") as refused:
        await client.check_token("s.old")
    assert not refused.value.is_about_request
    assert "s.old" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "host", "code", "is_about_request"),
    [
        ("pki/sign/web", "a.forbidden", 400, True),
        ("pki/sign/nobody", "a.example", 400, False),
        ("other/sign/web", "a.example", 404, False),
    ],
)
async def test_refusals_are_told_apart(
    client: VaultClient, path: Any, host: Any, code: str, is_about_request: Any
) -> None:
    with pytest.raises(VaultRefused, match=rf"refused to sign \({code}\)") as refused:
        await client.sign(path, "s.good", order_for(host))
    assert refused.value.is_about_request == is_about_request


async def test_a_namespace_goes_along(connections: Web, vault: FakeVault) -> None:
    vault.namespace = "team-a"
    await VaultClient(connections, vault.url, "team-a").check_token("s.good")
    with pytest.raises(VaultRefused, match="404"):
        await VaultClient(connections, vault.url).check_token("s.good")


async def test_a_sealed_vault_cannot_sign(client: VaultClient, vault: FakeVault) -> None:
    await client.check_health()
    vault.sealed = True
    with pytest.raises(WebError, match="Vault cannot sign: it is sealed"):
        await client.check_health()


async def test_an_answer_that_is_no_json_is_no_traceback(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    async def handler(request: Any) -> Any:
        from aiohttp import web  # noqa: PLC0415

        return web.Response(status=502, text="<html>")

    async with Web(trusted=trusted) as web:
        with pytest.raises(VaultRefused, match=r"refused the token \(502\): no reason"):
            await VaultClient(web, await serve(handler)).check_token("t")

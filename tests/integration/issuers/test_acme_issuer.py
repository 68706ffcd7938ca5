"""The acme issuer with Pebble behind it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar, cast

import pytest
from aiohttp import web
from tests.integration.issuers.conftest import LiveCluster

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuers.acme import acme_issuer, app
from certwright.kube import JsonObject, find_condition
from certwright.pki.certificates import alternative_names

NOWHERE = {"url": "https://localhost:9"}


def new_key() -> str:
    return pki.write_key(pki.generate_key(pki.KeySpec())).decode()


KEY = new_key()


def secret(name: str, **data: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def spec_for(pebble: Any, **more: Any) -> JsonObject:
    return {
        "directory": pebble.directory, "caBundle": pebble.trusted,
        "accountKey": {"name": "account", "key": "key"}, **more,
    }  # fmt: skip


# Pebble makes any name the common name, also one that is too long for that.
@pytest.mark.filterwarnings("ignore:Attribute's length:UserWarning")
@pytest.mark.scenario("ISS-99")
class TestAcme(IssuerConformance):
    patience, glance = timedelta(seconds=20), timedelta(seconds=0.2)
    unsupported: ClassVar = {
        Feature.ACME_RENEWAL_INFORMATION: "nobody asks for it",
        Feature.COMMON_NAME: "ACME wants it among the alternative names",
        Feature.DURATION: "the server decides",
        Feature.EMAIL_SANS: "ACME cannot prove them",
        Feature.IP_ADDRESSES: "Pebble would look at the address, which is nobody's here",
        Feature.ISSUE_CA: "ACME has no authorities",
        Feature.KEY_USAGES: "the server decides",
        Feature.LITERAL_SUBJECT: "the server makes the subject",
        Feature.OTHER_NAMES: "ACME cannot prove them",
        Feature.SAVE_CA: "the server does not hand out its root",
        Feature.URI_SANS: "ACME cannot prove them",
    }

    @pytest.fixture
    def cluster(self, live: LiveCluster, pebble: Any, responder: Any, txt_records: Any) -> Any:
        cast("Any", self).app = acme_issuer(responder, txt_records())
        cast("Any", self).spec = spec_for(pebble)
        return live

    async def prepare(self, cluster: Any) -> None:
        await cluster.create(secret("account", key=KEY))


async def test_a_webhook_publishes_the_records(
    issued: Callable[..., Awaitable[Any]],
    live: LiveCluster,
    pebble: Any,
    serve: Callable[..., Awaitable[Any]],
) -> None:
    """Proofs are told to somebody else, who has Pebble's DNS server say them."""
    told = []

    async def handler(request: Any) -> Any:
        assert request.headers["authorization"] == "Bearer hunter2"
        asked = await request.json()
        told.append(asked["action"])
        if asked["action"] == "present":
            pebble.tell("set-txt", host=asked["record"] + ".", value=asked["value"])
        return web.Response()

    await live.create(secret("account", key=KEY))
    await live.create(secret("hook", token="hunter2"))
    hook = {
        "url": await serve(handler), "token": {"name": "hook", "key": "token"},
        "caBundle": pebble.trusted,
    }  # fmt: skip
    outcome = await issued(app, spec_for(pebble, dns01=hook), "*.hook.example")
    assert outcome.ready.reason == "Issued", outcome.told
    assert (told[0], told[-1]) == ("present", "withdraw")
    leaf = pki.read_chain(outcome.certificate).leaf
    assert alternative_names(leaf).dns == ("*.hook.example",)


async def test_an_order_goes_on_after_a_restart(
    live: LiveCluster, pebble: Any, issued: Callable[..., Awaitable[Any]], txt_records: Any
) -> None:
    """A proof takes long to settle; meanwhile the process is replaced."""
    await live.create(secret("account", key=KEY))
    slow = txt_records(settling=timedelta(seconds=3))
    first = acme_issuer(slow)
    published = "the proofs are being published"
    await issued(
        first,
        spec_for(pebble),
        "restart.example",
        until=lambda found: found.ready and published in found.ready.message,
    )
    placed = await order_of(live)
    await live.restart(acme_issuer(slow).operator)
    async with asyncio.timeout(50):
        while (ready := await ready_of(live)).reason == "Pending":
            assert await order_of(live) == placed, "the same order goes on"
            await asyncio.sleep(0.05)
    assert ready.reason == "Issued", ready.message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"caBundle": ""}, "its certificate is not trusted"),
        ({"http01": None}, "no solver can prove names: set dns01 or http01"),
        ({"directory": "http://acme.example/dir"}, "ACME is spoken over https only"),
        ({"directory": "https://localhost:9/dir"}, "https://localhost:9 cannot be reached"),
        ({"accountKey": {"name": "account", "key": "other"}}, "MalformedPem"),
        (
            {"externalAccount": {"keyId": "me", "macKey": {"name": "account", "key": "mac"}}},
            "the key of the external account is no base64",
        ),
    ],
)
async def test_an_issuer_that_cannot_order_says_why(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, pebble: Any, change: Any, reason: str
) -> None:
    await live.create(secret("account", key=KEY, other="no PEM", mac="!"))
    outcome = await issued(app, {**spec_for(pebble, http01=NOWHERE), **change})
    assert outcome.issuer_ready.status == "False"
    assert reason in outcome.issuer_ready.message


async def test_an_authority_that_wants_an_account_elsewhere_gets_it(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, strict_pebble: Any
) -> None:
    key_id, mac = strict_pebble.external
    await live.create(secret("account", key=new_key(), mac=mac))
    bound = {"externalAccount": {"keyId": key_id, "macKey": {"name": "account", "key": "mac"}}}
    outcome = await issued(app, spec_for(strict_pebble, http01=NOWHERE, **bound), isCA=True)
    assert outcome.issuer_ready.status == "True", outcome.told


async def test_without_it_the_issuer_says_so(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, strict_pebble: Any
) -> None:
    await live.create(secret("account", key=new_key()))
    outcome = await issued(app, spec_for(strict_pebble, http01=NOWHERE))
    assert "externalAccountRequired" in outcome.issuer_ready.message


async def test_what_acme_cannot_do_fails_at_once(
    issued: Callable[..., Awaitable[Any]], live: LiveCluster, pebble: Any
) -> None:
    await live.create(secret("account", key=KEY))
    outcome = await issued(app, spec_for(pebble, http01=NOWHERE), isCA=True)
    assert outcome.ready.reason == "Failed"
    assert "ACME servers do not sign certificates of authorities" in outcome.ready.message


async def ready_of(live: Any) -> Any:
    request = await live.get(CertificateRequest, "cr")
    return find_condition(request.status.conditions, "Ready")


async def order_of(live: Any) -> Any:
    request = await live.get(CertificateRequest, "cr")
    state = [one.message for one in request.status.conditions if one.reason == "Carried"]
    return json.loads(state[0])["order"] if state else None

"""Who proves what, and how others are told."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from aiohttp import web as server

from certwright.issuers.acme import (
    AccountKey,
    AcmeError,
    Identifier,
    OrderFailed,
    Proof,
    Responder,
    WebhookSolver,
)
from certwright.issuers.acme.messages import Authorization, Challenge
from certwright.issuers.acme.solvers import choose
from certwright.issuers.web import Web, WebError

HTTP = Proof("http-01", "a.example", "tok", "tok.key")
DNS = Proof("dns-01", "a.example", "tok", "tok.key")


async def test_a_webhook_is_told_what_to_publish_where(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    told = []

    async def handler(request: server.Request) -> server.StreamResponse:
        assert request.headers["authorization"] == "Bearer hunter2"
        told.append(await request.json())
        return server.Response(status=204)

    url = await serve(handler)
    async with Web(trusted=trusted) as web:
        await WebhookSolver(web, url, "http-01", token="hunter2").present(HTTP)
        await WebhookSolver(web, url, "dns-01", token="hunter2").withdraw(DNS)
    assert told == [
        {
            "action": "present", "type": "http-01", "domain": "a.example",
            "path": "/.well-known/acme-challenge/tok", "body": "tok.key",
        },
        {
            "action": "withdraw", "type": "dns-01", "domain": "a.example",
            "record": "_acme-challenge.a.example", "value": DNS.value,
        },
    ]  # fmt: skip


async def test_a_webhook_that_refuses_is_an_error(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    async def handler(request: server.Request) -> server.StreamResponse:
        return server.Response(status=500)

    url = await serve(handler)
    async with Web(trusted=trusted) as web:
        with pytest.raises(
            AcmeError, match=r"the solver of dns-01 answered 500 to present a\.example"
        ):
            await WebhookSolver(web, url, "dns-01").present(DNS)


async def test_the_responder_answers_for_what_was_presented_only() -> None:
    responder = Responder(0, "127.0.0.1")
    await responder.start()
    async with Web() as web:
        base = f"http://127.0.0.1:{responder.port}"
        assert (await web.send("GET", base + HTTP.path)).status == 404
        await responder.present(HTTP)
        answer = await web.send("GET", base + HTTP.path)
        assert (answer.status, answer.body) == (200, b"tok.key")
        assert (await web.send("GET", base + "/")).status == 404
        await responder.withdraw(HTTP)
        await responder.withdraw(HTTP)
        assert (await web.send("GET", base + HTTP.path)).status == 404
        await responder.stop()
        with pytest.raises(WebError, match="cannot be reached"):
            await web.send("GET", base + HTTP.path)


def offered(
    value: str = "a.example",
    kind: str = "dns",
    *,
    wildcard: bool = False,
    types: tuple[str, ...] = ("http-01", "dns-01"),
) -> Authorization:
    challenges = tuple(Challenge(one, "https://x", token="tok") for one in types)
    return Authorization(Identifier(kind, value), "pending", challenges, wildcard)


class Can:
    settling = timedelta(0)

    def __init__(self, challenge: str) -> None:
        self.challenge = challenge


@pytest.mark.parametrize(
    ("authorization", "solvers", "chosen"),
    [
        (offered(), ["http-01", "dns-01"], "http-01"),
        (offered(), ["dns-01", "http-01"], "dns-01"),
        (offered(types=("dns-01",)), ["http-01", "dns-01"], "dns-01"),
        (offered(wildcard=True), ["http-01", "dns-01"], "dns-01"),
        (offered("10.0.0.1", "ip"), ["dns-01", "http-01"], "http-01"),
    ],
)
def test_the_first_solver_that_server_and_name_allow_is_chosen(
    key: AccountKey, authorization: Authorization, solvers: list[str], chosen: str
) -> None:
    able: list[Any] = [Can(one) for one in solvers]
    solver, challenge, proof = choose(authorization, able, key)
    assert solver.challenge == challenge.type == proof.challenge == chosen
    assert proof.authorization == key.authorization("tok")


@pytest.mark.parametrize(
    ("authorization", "solvers", "shown"),
    [
        (offered(wildcard=True), ["http-01"], r"\*\.a\.example can be proven by dns-01, http-01"),
        (offered("10.0.0.1", "ip"), ["dns-01"], "this issuer is set up for dns-01"),
        (offered(), [], "this issuer is set up for nothing"),
        (offered(types=("tls-alpn-01",)), ["http-01"], "can be proven by tls-alpn-01"),
        (offered(types=()), ["http-01"], "can be proven by nothing"),
    ],
)
def test_a_name_that_nobody_proves_loses_the_order(
    key: AccountKey, authorization: Authorization, solvers: list[str], shown: str
) -> None:
    with pytest.raises(OrderFailed, match=shown):
        choose(authorization, [cast("Any", Can(one)) for one in solvers], key)

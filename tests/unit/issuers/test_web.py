"""Whatever a server does, there is an answer or a `WebError` that says what happened."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import web as server

from certwright.issuer import SecretKey
from certwright.issuers.acme.issuer import Webhook
from certwright.issuers.cfssl.issuer import CfsslSpec
from certwright.issuers.vault.issuer import VaultSpec
from certwright.issuers.web import ANSWER_LIMIT, Web, WebError, WebResponse, refuse_plain


class Thing(msgspec.Struct):
    name: str


async def test_an_answer_comes_back_whatever_its_status(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    async def handler(request: server.Request) -> server.StreamResponse:
        assert (request.method, request.headers["x-token"]) == ("PUT", "t")
        return server.Response(status=418, body=await request.read(), headers={"X-Kind": "Pot"})

    url = await serve(handler)
    async with Web(trusted=trusted) as web:
        answer = await web.send("PUT", f"{url}/tea", headers={"x-token": "t"}, body=b"leaves")
    assert (answer.status, answer.headers["x-kind"], answer.body) == (418, "Pot", b"leaves")
    assert not answer.is_success


async def test_redirects_are_not_followed(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    async def handler(request: server.Request) -> None:
        raise server.HTTPFound("https://elsewhere.example/")

    async with Web(trusted=trusted) as web:
        assert (await web.send("GET", await serve(handler))).status == 302


async def test_a_flood_is_cut_off(serve: Callable[..., Awaitable[Any]], trusted: str) -> None:
    async def handler(request: server.Request) -> server.StreamResponse:
        return server.Response(body=b"x" * (ANSWER_LIMIT + 1))

    async with Web(trusted=trusted) as web:
        with pytest.raises(WebError, match=f"more than {ANSWER_LIMIT} bytes"):
            await web.send("GET", await serve(handler))


async def test_silence_ends(serve: Callable[..., Awaitable[Any]], trusted: str) -> None:
    async def handler(request: server.Request) -> None:
        await asyncio.Event().wait()

    async with Web(trusted=trusted, patience=timedelta(seconds=0.05)) as web:
        with pytest.raises(WebError, match=r"https://localhost:\d+ did not answer within 0.05 s"):
            await web.send("GET", await serve(handler))


async def test_a_cut_connection_is_no_traceback(
    serve: Callable[..., Awaitable[Any]], trusted: str
) -> None:
    async def handler(request: server.Request) -> server.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return server.Response()

    async with Web(trusted=trusted) as web:
        with pytest.raises(WebError, match="cut the connection"):
            await web.send("POST", await serve(handler), body=b"x")


async def test_a_stranger_is_not_trusted(serve: Callable[..., Awaitable[Any]]) -> None:
    async def handler(request: server.Request) -> server.StreamResponse:
        return server.Response()

    async with Web() as web:
        with pytest.raises(WebError, match="its certificate is not trusted") as refused:
            await web.send("GET", await serve(handler), headers={"authorization": "hunter2"})
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


@pytest.mark.parametrize("url", ["", "nonsense", "https://", "https://user:hunter2@[::1"])
async def test_no_url_is_an_error_too(url: str) -> None:
    async with Web() as web:
        with pytest.raises(WebError) as refused:
            await web.send("GET", url)
    assert "hunter2" not in str(refused.value)


async def test_a_bundle_that_is_none_is_named() -> None:
    with pytest.raises(WebError, match="the CA bundle holds no PEM certificate"):
        async with Web(trusted="no PEM"):
            pass


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"name": []}', b"\xff"])
def test_other_bodies_are_refused_by_name(body: bytes) -> None:
    with pytest.raises(WebError, match="the server answered 200 with no Thing"):
        WebResponse(200, {}, body).json(Thing)


def test_unknown_fields_are_ignored() -> None:
    assert WebResponse(200, {}, b'{"name": "a", "more": 1}').json(Thing) == Thing("a")


@pytest.mark.parametrize(
    "url",
    [
        "https://vault.example",
        "http://localhost:8200",
        "http://vault.localhost:8200",
        "http://127.0.0.1:8200",
        "http://127.8.8.8",
        "http://[::1]:8200/path",
        "no URL",
        "http://[",
    ],
)
def test_secrets_go_where_nobody_listens(url: str) -> None:
    refuse_plain(url, "the token")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://vault.example:8200/v1", "http://vault.example:8200"),
        ("HTTP://vault.example", "http://vault.example"),
        ("ws://vault.example", "ws://vault.example"),
        ("http://user:hidden@vault.example", "http://vault.example"),
        ("http://10.0.0.1", "http://10.0.0.1"),
        ("http://localhost.example", "http://localhost.example"),
        ("http://127.0.0.1@vault.example", "http://vault.example"),
    ],
)
def test_secrets_do_not_go_in_the_clear(url: str, shown: str) -> None:
    with pytest.raises(ValueError, match="the token must be sent by https") as refused:
        refuse_plain(url, "the token")
    assert f"; {shown} is not" in str(refused.value)


PLAIN, SECRET = "http://elsewhere.example", SecretKey("c0ffee")


@pytest.mark.parametrize(
    "spec",
    [
        lambda: VaultSpec(PLAIN, "pki/sign/web", token=SECRET),
        lambda: CfsslSpec(PLAIN, auth_key=SECRET),
        lambda: Webhook(PLAIN, token=SECRET),
    ],
)
def test_no_issuer_sends_a_secret_in_the_clear(spec: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="by https") as refused:
        spec()
    assert SECRET not in str(refused.value)


def test_where_there_is_no_secret_nothing_is_refused() -> None:
    assert CfsslSpec(PLAIN).url == Webhook(PLAIN).url == PLAIN

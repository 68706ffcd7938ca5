"""Nothing secret appears in a message, a repr or a log, whatever goes wrong."""

import asyncio
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from certwright.client import (
    Client,
    Config,
    HttpTransport,
    Limits,
    Material,
    Response,
    TransportError,
    User,
    load_config,
    request,
    responses,
)
from certwright.client.config.config import ExecPlugin
from certwright.client.config.credentials import Credentials
from certwright.client.request import WriteOptions
from certwright.client.retry import Policy
from certwright.kube import ApiError, Key
from certwright.kube.kinds import Secret

CANARY = "canary-5f2b"
V1 = "client.authentication.k8s.io/v1"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"namespace": "shop", "name": "web"},
    "stringData": {"password": CANARY},
}
EVERYTHING = Config(
    "https://127.0.0.1:1",
    proxy_url=f"http://joe:{CANARY}@127.0.0.1:1",
    user=User(
        token=CANARY,
        username="joe",
        password=CANARY,
        certificate=Material(CANARY.encode()),
        key=Material(CANARY.encode()),
        exec=ExecPlugin(
            "plugin", V1, args=(CANARY,), env=(("A", CANARY),), cluster_info={"a": CANARY}
        ),
    ),
)


def everything_said_by(error: BaseException) -> str:
    """Return all that a log or a debugger could print of an exception and its causes."""
    parts = ["".join(traceback.format_exception(error))]
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        parts += [str(current), repr(current), repr(current.args), repr(vars(current))]
        pending += [current.__cause__, current.__context__]
    return "\n".join(parts)


@pytest.mark.parametrize(
    "value",
    [
        EVERYTHING,
        EVERYTHING.user,
        EVERYTHING.user.exec,
        EVERYTHING.user.key,
        HttpTransport(EVERYTHING),
        Client(HttpTransport(EVERYTHING)),
        Credentials(CANARY, CANARY.encode(), CANARY.encode()),
        Response(200, {}, CANARY.encode()),
        request.create(Secret, SECRET, WriteOptions()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_reprs(value: Any) -> None:
    assert CANARY not in repr(value)
    assert CANARY not in str(value)


async def html(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", content_type="text/html")


async def elsewhere(_: web.Request) -> None:
    raise web.HTTPFound("http://elsewhere.invalid")


async def unauthorized(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=401)


async def unavailable(_: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text="no")


async def truncated(_: web.Request) -> web.StreamResponse:
    return web.Response(text='{"data":{"password":"' + CANARY, content_type="application/json")


async def large(_: web.Request) -> web.StreamResponse:
    return web.Response(text=CANARY * 1000)


@pytest.mark.parametrize("handler", [html, elsewhere, unauthorized, unavailable, truncated, large])
async def test_failures_after_sending(
    serve: Callable[..., Awaitable[Any]],
    caplog: pytest.LogCaptureFixture,
    handler: Callable[..., Awaitable[Any]],
) -> None:
    caplog.set_level(logging.DEBUG)
    config = Config(await serve(handler), user=User(token=CANARY))
    transport = HttpTransport(config, limits=Limits(body=5000))
    async with Client(transport, retries=Policy(attempts=1)) as client:
        with pytest.raises((TransportError, ApiError)) as caught:
            await client.create(SECRET)
    assert CANARY not in everything_said_by(caught.value)
    assert CANARY not in caplog.text


async def test_failures_before_sending(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    config = Config(
        "https://127.0.0.1:1", proxy_url=f"http://joe:{CANARY}@127.0.0.1:1", user=User(token=CANARY)
    )
    async with Client(HttpTransport(config), retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.create(SECRET)
    assert CANARY not in everything_said_by(caught.value)
    assert CANARY not in caplog.text


async def test_a_cut_connection(
    serve_bytes: Callable[..., Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        pass

    config = Config(await serve_bytes(hang_up), user=User(token=CANARY))
    async with Client(HttpTransport(config), retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.create(SECRET)
    assert CANARY not in everything_said_by(caught.value)
    assert CANARY not in caplog.text


def frames_of_ours(error: BaseException) -> str:
    """Return what a log with local variables shows of our own code."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame for frame in shown.stack if "certwright/client" in frame.filename]
    assert ours
    return "\n".join(str(frame.locals) for frame in ours)


@pytest.mark.parametrize("misbehaviour", ["hang up", "garbage", "silence", "nobody"])
async def test_local_variables_of_a_failure(
    serve_bytes: Callable[..., Awaitable[Any]], misbehaviour: str
) -> None:
    async def misbehave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if misbehaviour == "garbage":
            writer.write(b"what?")
        if misbehaviour == "silence":
            await reader.read()

    url = "http://127.0.0.1:1" if misbehaviour == "nobody" else await serve_bytes(misbehave)
    limits = Limits(response=timedelta(milliseconds=50))
    transport = HttpTransport(Config(url, user=User(token=CANARY)), limits=limits)
    async with Client(transport, retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.get(Secret, Key("shop", "web"))
        assert CANARY not in frames_of_ours(caught.value)
        with pytest.raises(TransportError) as caught:
            async with client.watch(Secret):
                pass
        assert CANARY not in frames_of_ours(caught.value)


async def test_garbage_that_repeats_our_words(serve_bytes: Callable[..., Awaitable[Any]]) -> None:
    async def echo(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/9.9 what {CANARY}\r\n\r\n".encode())
        await writer.drain()

    config = Config(await serve_bytes(echo), user=User(token=CANARY))
    async with Client(HttpTransport(config), retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.create(SECRET)
    assert CANARY not in everything_said_by(caught.value)


async def test_a_plugin_that_prints_a_token_and_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    code = f"import sys; print('{CANARY}'); sys.exit('no')"
    plugin = ExecPlugin(sys.executable, V1, ("-c", code), env=(("A", CANARY),))
    config = Config("http://127.0.0.1:1", user=User(exec=plugin))
    async with Client(HttpTransport(config), retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.get(Secret, Key("shop", "web"))
    assert CANARY not in everything_said_by(caught.value)
    assert CANARY not in caplog.text


async def test_a_key_that_does_not_parse(caplog: pytest.LogCaptureFixture) -> None:
    user = User(certificate=Material(CANARY.encode()), key=Material(CANARY.encode()))
    config = Config("https://127.0.0.1:1", user=user)
    limits = Limits(connect=timedelta(seconds=1))
    transport = HttpTransport(config, limits=limits)
    async with Client(transport, retries=Policy(attempts=1)) as client:
        with pytest.raises(TransportError) as caught:
            await client.get(Secret, Key("shop", "web"))
    assert CANARY not in everything_said_by(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"users:\n- name: u\n  user:\n    token: [{CANARY}\n",
        f"users:\n- name: u\n  user:\n    token: [{CANARY}]\n",
        f"users:\n- name: u\n  user:\n    client-key-data: '{CANARY}!'\n",
        f"{CANARY}: *{CANARY}",
    ],
)
def test_a_kubeconfig_that_does_not_parse(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://a'}}]\n" + text
    )
    with pytest.raises(ValueError, match=str(path)) as caught:
        load_config(path, environ={})
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert CANARY not in str(caught.value)


def test_a_refusal_is_cut_short() -> None:
    error = responses.to_error(Response(500, {}, b"x" * 10**6))
    assert len(str(error)) < 400

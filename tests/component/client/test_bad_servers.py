"""Servers that are absent, broken, slow or something else: each has its own clear failure."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from certwright.client import (
    BadResponse,
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    Limits,
    NotAnApiServer,
    Timeout,
    WatchOptions,
)
from certwright.client.errors import LineTooLong
from certwright.kube import InternalError, Key, ServiceUnavailable
from certwright.kube.kinds import ConfigMap

KEY = Key("shop", "web")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        value: int = probe.getsockname()[1]
        return value


async def test_nobody_listens(client_of: Callable[..., Any]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ConnectFailed) as caught:
        await client_of(url).get(ConfigMap, KEY)
    assert str(caught.value).startswith(f"{url} cannot be reached (")
    assert "is it running" in str(caught.value)


async def test_a_host_name_that_does_not_exist(client_of: Callable[..., Any]) -> None:
    with pytest.raises(ConnectFailed, match=r"http://nowhere\.invalid: the host name cannot be"):
        await client_of("http://nowhere.invalid").get(ConfigMap, KEY)


async def test_a_watch_of_nobody(client_of: Callable[..., Any]) -> None:
    client = client_of(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ConnectFailed):
        async with client.watch(ConfigMap):
            pytest.fail("there is nothing to watch")


async def test_a_web_page(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Welcome!</html>", content_type="text/html")

    url = await serve(page)
    client = client_of(url)
    with pytest.raises(NotAnApiServer) as caught:
        await client.get(ConfigMap, KEY)
    assert str(caught.value) == (
        f"{url}/api/v1/namespaces/shop/configmaps/web answered 200 with a web page, not as a "
        "Kubernetes API server; correct host and port of the server of the given configuration"
    )
    with pytest.raises(NotAnApiServer):
        async with client.watch(ConfigMap):
            pytest.fail("a web page cannot be watched")


async def test_a_load_balancer_that_speaks_for_a_dead_server(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="<html>Bad</html>", content_type="text/html")

    with pytest.raises(ServiceUnavailable, match="503 with a web page"):
        await client_of(await serve(page)).get(ConfigMap, KEY)


async def test_redirects_are_not_followed(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    seen = []

    async def elsewhere(request: web.Request) -> None:
        seen.append(request.path)
        raise web.HTTPFound("http://elsewhere.invalid/login?next=canary")

    with pytest.raises(NotAnApiServer) as caught:
        await client_of(await serve(elsewhere)).get(ConfigMap, KEY)
    assert "redirects to http://elsewhere.invalid/login;" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert len(seen) == 1


async def test_truncated_json(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def half(_: web.Request) -> web.StreamResponse:
        return web.Response(text='{"metadata":{"na', content_type="application/json")

    with pytest.raises(BadResponse, match="is not complete JSON"):
        await client_of(await serve(half)).get(ConfigMap, KEY)


async def test_a_connection_cut_in_the_middle_of_a_body(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def cut(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        writer.write(b'Content-Length: 1000\r\n\r\n{"metadata":{')
        await writer.drain()

    url = await serve_bytes(cut)
    with pytest.raises(ConnectionLost, match=f"{url} cut the connection"):
        await client_of(url).get(ConfigMap, KEY)


async def test_a_connection_cut_instead_of_an_answer(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    attempts = []

    async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        attempts.append(1)

    client = client_of(await serve_bytes(hang_up))
    for attempt in (
        client.get(ConfigMap, KEY),
        client.delete(ConfigMap, KEY),
        client.create(CONFIG),
    ):
        with pytest.raises(ConnectionLost):
            await attempt
    assert len(attempts) == 3, "the HTTP library must not repeat requests by itself"


async def test_a_huge_body_that_announces_itself(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def huge(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")
        await writer.drain()

    with pytest.raises(BodyTooLarge, match="exceeds 268435456 bytes and was dropped"):
        await client_of(await serve_bytes(huge)).get(ConfigMap, KEY)


async def test_a_huge_body_that_does_not(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    sent = 0

    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
            sent += 65536
            await writer.drain()

    client = client_of(await serve_bytes(endless), limits=Limits(body=2**20))
    with pytest.raises(BodyTooLarge, match="exceeds 1048576 bytes"):
        await client.get(ConfigMap, KEY)
    assert sent < 32 * 2**20, "the rest of the body was read"


async def test_a_watch_that_never_ends_a_line(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b'10\r\n{"type":"ADDED"}\r\n1\r\n\n\r\n')
        while True:
            writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            await writer.drain()

    client = client_of(await serve_bytes(endless), line_limit=2**20)
    seen = []
    async with client.watch(ConfigMap) as lines:
        with pytest.raises(LineTooLong, match="exceeds 1048576 bytes without an end"):
            seen.extend([batch async for batch in lines])


async def test_a_server_that_accepts_and_never_answers(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    hung = asyncio.Event()

    async def never(_: web.Request) -> web.StreamResponse:
        await hung.wait()
        return web.Response()

    limits = Limits(response=timedelta(milliseconds=50))
    url = await serve(never)
    client = client_of(url, limits=limits)
    with pytest.raises(Timeout) as caught:
        await client.get(ConfigMap, KEY)
    assert str(caught.value) == (
        f"{url} did not answer within 0.05 s; it may still execute the request"
    )
    with pytest.raises(Timeout):
        async with client.watch(ConfigMap):
            pytest.fail("the watch has no answer")
    hung.set()


async def test_a_quiet_watch_is_not_ended(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    """The deadline on answers ends with the headers: a watch may be silent as long as it likes."""
    quiet = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            await quiet.wait()
            return web.Response()
        response = web.StreamResponse()
        await response.prepare(request)
        await quiet.wait()
        await response.write(b'{"type":"ADDED"}\n')
        return response

    client = client_of(await serve(answer), limits=Limits(response=timedelta(milliseconds=100)))
    async with client.watch(ConfigMap) as lines:
        for _ in range(2):  # twice the time in which a request gets no answer passes
            with pytest.raises(Timeout):
                await client.get(ConfigMap, KEY)
        quiet.set()
        assert [batch async for batch in lines] == [[b'{"type":"ADDED"}']]


async def test_a_watch_cut_in_the_middle_of_an_event(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED"}\n{"type":"MOD')
        return response

    client = client_of(await serve(watch))
    seen = []

    async def read() -> None:
        async with client.watch(ConfigMap) as lines:
            async for batch in lines:
                seen.extend(batch)

    with pytest.raises(ConnectionLost, match="in the middle of an event, after 12 bytes"):
        await read()
    assert seen == [b'{"type":"ADDED"}']


async def test_a_watch_cut_without_a_goodbye(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def cut(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b'11\r\n{"type":"ADDED"}\n\r\n')
        await writer.drain()

    client = client_of(await serve_bytes(cut))
    seen = []

    async def read() -> None:
        async with client.watch(ConfigMap) as lines:
            async for batch in lines:
                seen.extend(batch)

    with pytest.raises(ConnectionLost):
        await read()
    assert seen == [b'{"type":"ADDED"}']


async def test_a_refused_watch_raises_what_the_server_says(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        status = {
            "kind": "Status",
            "code": 500,
            "reason": "InternalError",
            "message": "etcd is sad",
        }
        return web.json_response(status, status=500)

    with pytest.raises(InternalError, match="etcd is sad"):
        async with client_of(await serve(refuse)).watch(ConfigMap, options=WatchOptions()):
            pytest.fail("the watch was refused")


async def test_garbage_instead_of_http(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    async def garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()

    with pytest.raises(NotAnApiServer, match="does not speak HTTP"):
        await client_of(await serve_bytes(garbage)).get(ConfigMap, KEY)


async def test_the_client_lives_on_after_every_failure(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    answers = iter(["<html>", '{"metadata":{'])

    async def recover(_: web.Request) -> web.StreamResponse:
        text = next(answers, '{"metadata":{"name":"web"}}')
        kind = "text/html" if text.startswith("<") else "application/json"
        return web.Response(text=text, content_type=kind)

    client = client_of(await serve(recover))
    for failure in (NotAnApiServer, BadResponse):
        with pytest.raises(failure):
            await client.get(ConfigMap, KEY)
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "web"

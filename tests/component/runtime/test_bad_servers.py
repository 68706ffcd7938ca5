"""A whole manager over HTTP and a server that answers nonsense: it says so, and lives on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from certwright.apiserver import ApiServer
from certwright.client import Client, Config, HttpTransport, Request
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.listener import serve_web
from certwright.runtime import DONE, Context, Controller, Manager, Outcome

LINE_LIMIT = 64 * 1024
PATIENCE_SECONDS = 20


async def web_page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>Please log in</html>", content_type="text/html")


async def truncated_json(_request: web.Request) -> web.StreamResponse:
    return web.Response(
        body=b'{"kind": "ConfigMapList", "items": [', content_type="application/json"
    )


async def two_gibibytes(request: web.Request) -> Any:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = 2 * 1024**3
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:  # for as long as anybody listens
            await response.write(b" " * LINE_LIMIT)
    return response


async def one_endless_line(request: web.Request) -> Any:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:
            await response.write(b"x" * LINE_LIMIT)
    return response


async def hang_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


class Server:
    """An API server over plain HTTP that misbehaves until told otherwise."""

    def __init__(self, misbehave: Callable[..., Awaitable[Any]]) -> None:
        self.api = ApiServer()
        self.misbehave: Callable[..., Awaitable[Any]] | None = misbehave

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.misbehave is not None:
            value: web.StreamResponse = await self.misbehave(request)
            return value
        call = Request(
            "", request.method, request.path,
            tuple(request.query.items()), tuple(request.headers.items()), await request.read(),
        )  # fmt: skip
        if "watch" not in request.query:
            answer = self.api.handle(call)
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        stream = self.api.watch(call)
        response = web.StreamResponse(status=stream.status, headers=dict(stream.headers))
        await response.prepare(request)
        async for chunk in stream.chunks():
            await response.write(chunk)
        return response

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        async with serve_web(runner, "127.0.0.1") as port:
            yield f"http://127.0.0.1:{port}"


def in_pages(misbehave: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Refuse to stream lists, and misbehave when asked for pages."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if "sendInitialEvents" not in request.query:
            value: web.StreamResponse = await misbehave(request)
            return value
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 400}
        return web.json_response({**status, "reason": "BadRequest"}, status=400)

    return answer


@pytest.mark.parametrize(
    ("misbehave", "complaint"),
    [
        (web_page, "answered 200 with a web page, not as a Kubernetes API server"),
        (truncated_json, "the watch ended in the middle of an event, after 36 bytes of it"),
        (one_endless_line, "a line of the watch exceeds 65536 bytes without an end"),
        (hang_up, "cut the connection"),
        (in_pages(web_page), "answered 200 with a web page, not as a Kubernetes API server"),
        (in_pages(truncated_json), "the response (36 bytes) is not complete JSON"),
        (in_pages(two_gibibytes), "the response exceeds 268435456 bytes and was dropped"),
        (in_pages(hang_up), "cut the connection"),
    ],
)
async def test_nonsense_is_named_and_survived(
    misbehave: Callable[..., Awaitable[Any]], complaint: str
) -> None:
    seen: Any = asyncio.Queue()

    async def reconcile(_ctx: Context, key: Key) -> Outcome:
        seen.put_nowait(key.name)
        return DONE

    server = Server(misbehave)
    metadata = {"name": "a", "namespace": "default"}
    await Client(server.api.transport()).create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    )
    async with server.listening() as url, asyncio.TaskGroup() as group:
        client = Client(HttpTransport(Config(url)), line_limit=LINE_LIMIT)
        manager = Manager(client, [Controller(ConfigMap, reconcile)])
        group.create_task(manager.run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while complaint not in "".join(manager.cache.unsynced()):
                await asyncio.sleep(0.01)
            server.misbehave = None
            assert await seen.get() == "a"
        manager.stop()
    await client.close()

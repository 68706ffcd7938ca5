"""The web server behind the probes; `serve.probes` loads it when it is wanted."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack

from aiohttp import web

from certwright.listener import serve_web
from certwright.runtime.serve.health import Check
from certwright.runtime.serve.metrics import CONTENT_TYPE
from certwright.runtime.serve.probes import ListenAddress, ProbeTarget

IDLE_SECONDS = 10.0
"""How long a connection may take to send a request, and may stay open after one."""
MAX_HEADER_BYTES = 4096
MAX_BODY_BYTES = 1024


async def serve(
    target: ProbeTarget, address: ListenAddress
) -> tuple[int, Callable[[], Awaitable[None]]]:
    """Listen; return the port in use and what ends it."""
    runner = web.AppRunner(
        _application(target),
        access_log=None,
        keepalive_timeout=IDLE_SECONDS,
        lingering_time=1.0,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        shutdown_timeout=1.0,
    )
    stack = AsyncExitStack()
    port = await stack.enter_async_context(serve_web(runner, address.host, address.port))
    return port, stack.aclose


def _application(target: ProbeTarget) -> web.Application:
    async def livez(request: web.Request) -> web.Response:
        return probe_response("livez", target.liveness(), verbose="verbose" in request.query)

    async def readyz(request: web.Request) -> web.Response:
        return probe_response("readyz", target.readiness(), verbose="verbose" in request.query)

    async def metrics(_request: web.Request) -> web.Response:
        body = await target.exposition()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_get("/livez", livez)
    app.router.add_get("/healthz", livez)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    return app


def probe_response(probe: str, checks: Iterable[Check], *, verbose: bool) -> web.Response:
    """Answer a probe: 200 if all is well, else 503 and every check."""
    found = list(checks)
    failed = any(check.problem for check in found)
    if not (verbose or failed):
        return web.Response(text="ok")
    lines = [
        f"[-] {check.name}: {check.problem} ({check.detail})"
        if check.problem
        else f"[+] {check.name}: ok ({check.detail})"
        for check in found
    ]
    lines.append(f"{probe} check {'failed' if failed else 'passed'}")
    return web.Response(text="\n".join(lines) + "\n", status=503 if failed else 200)

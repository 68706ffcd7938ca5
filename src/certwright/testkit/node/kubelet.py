"""The node's own HTTPS endpoint, through which an API server reads the logs of its pods.

Only clients with a certificate of the cluster's authority are served: that is the API server.
"""

import ssl
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from aiohttp import web

from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.verbs.logs import LogOptions
from certwright.kube import ApiError, Key
from certwright.listener import serve_web
from certwright.testkit.node.logs import NodeLogs
from certwright.testkit.node.worker import PodWorker

_HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 0.5


class KubeletServer:
    """Answers what an API server asks a kubelet: logs."""

    def __init__(self, logs: NodeLogs, workers: Iterable[PodWorker]) -> None:
        self._logs = logs
        self._workers = workers

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request for a log."""
        key = Key(request.match_info["namespace"], request.match_info["pod"])
        worker = next((one for one in self._workers if one.key == key), None)
        if worker is None:
            return web.Response(status=404, text=f'pod "{key.name}" does not exist')
        container = request.match_info["container"]
        try:
            options = LogOptions.of(dict(request.query))
            whole = self._logs.read(worker.pod, container, options)
        except ApiError as error:
            return web.Response(status=error.code, text=error.message)
        if request.query.get("follow", "") in {"", "false"}:
            return web.Response(body=whole, content_type="text/plain")
        response = web.StreamResponse(headers={"content-type": "text/plain"})
        with suppress(ConnectionResetError):  # the client has hung up, as it may
            await response.prepare(request)
            async for chunk in self._logs.follow(worker.pod, container, options):
                await response.write(chunk)
            await response.write_eof()
        return response


@asynccontextmanager
async def kubelet_endpoint(
    server: KubeletServer, name: str, client_authority: bytes, now: datetime
) -> AsyncIterator[int]:
    """Serve on a free port of 127.0.0.1 while the context is open; yields the port."""
    app = web.Application()
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", server.answer)
    runner = web.AppRunner(
        app, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS, access_log=None
    )
    async with serve_web(runner, _HOST, context=_tls(name, client_authority, now)) as port:
        yield port


def _tls(name: str, client_authority: bytes, now: datetime) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    pair = TestAuthority("certwright node", now).serving(_HOST, name)
    # The ssl module reads keys from files only; this one is gone before the first connection.
    with tempfile.NamedTemporaryFile(prefix="certwright-", suffix=".pem") as file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)
    context.load_verify_locations(cadata=client_authority.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    return context

"""Answers HTTP-01 challenges from this process.

Requests for ``/.well-known/acme-challenge/`` on port 80 of the names to be proven have to be
led here, by an Ingress for instance. Proofs are kept in memory: a step of an order presents
them again, so that nothing is lost by a restart.
"""

from contextlib import AsyncExitStack
from datetime import timedelta

from aiohttp import web

from certwright.issuers.acme.solvers import HTTP_01, Proof
from certwright.listener import serve_web

_MOST_PROOFS = 10_000
_IDLE_SECONDS = 10.0


class Responder:
    """A solver for ``http-01`` that serves the proofs itself, between `start` and `stop`."""

    challenge = HTTP_01
    settling = timedelta(0)

    def __init__(self, port: int, host: str = "0.0.0.0") -> None:  # noqa: S104 - to be reached
        self._place = (host, port)
        self._bodies: dict[str, str] = {}
        app = web.Application(client_max_size=1024)
        app.router.add_get("/.well-known/acme-challenge/{token}", self._answer)
        self._runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=_IDLE_SECONDS, shutdown_timeout=1.0
        )
        self._served = AsyncExitStack()
        self.port = port
        """The port in use, also when any free one was asked for."""

    async def start(self) -> None:
        """Start to listen."""
        self.port = await self._served.enter_async_context(serve_web(self._runner, *self._place))

    async def stop(self) -> None:
        """Stop to listen."""
        await self._served.aclose()

    async def present(self, proof: Proof) -> None:
        """Answer for this proof from now on; the oldest is forgotten if there are too many."""
        self._bodies[proof.path] = proof.authorization
        while len(self._bodies) > _MOST_PROOFS:
            del self._bodies[next(iter(self._bodies))]

    async def withdraw(self, proof: Proof) -> None:
        """Answer no longer."""
        self._bodies.pop(proof.path, None)

    async def _answer(self, request: web.Request) -> web.Response:
        body = self._bodies.get(request.path)
        if body is None:
            raise web.HTTPNotFound
        return web.Response(body=body.encode(), content_type="application/octet-stream")

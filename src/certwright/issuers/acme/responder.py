"""Answers HTTP-01 challenges from this process, from the first proof on.

Requests for ``/.well-known/acme-challenge/`` on port 80 of the names to be proven have to be
led here, by an Ingress for instance. Proofs are kept in memory: a step of an order presents
them again, so that nothing is lost by a restart.
"""

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Self

from aiohttp import web

from certwright.issuers.acme.solvers import HTTP_01, Proof

_MOST_PROOFS = 10_000
_IDLE_SECONDS = 10.0


class Responder:
    """A solver for ``http-01`` that serves the proofs itself.

    It listens from the first proof on, until the process or its context ends.
    """

    challenge = HTTP_01
    settling = timedelta(0)

    def __init__(self, port: int, host: str = "0.0.0.0") -> None:  # noqa: S104 - to be reached
        self._place = (host, port)
        self._bodies: dict[str, str] = {}
        self._starting = asyncio.Lock()
        app = web.Application(client_max_size=1024)
        app.router.add_get("/.well-known/acme-challenge/{token}", self._answer)
        self._runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=_IDLE_SECONDS, shutdown_timeout=1.0
        )

    @property
    def port(self) -> int:
        """The port in use, also when any free one was asked for."""
        bound: int = self._runner.addresses[0][1]
        return bound

    async def __aenter__(self) -> Self:
        """Start to listen."""
        await self._listening()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        await self._runner.cleanup()

    async def _listening(self) -> None:
        async with self._starting:
            if not self._runner.addresses:
                await self._runner.setup()
                await web.TCPSite(self._runner, *self._place).start()

    async def present(self, proof: Proof) -> None:
        """Answer for this proof from now on; the oldest is forgotten if there are too many."""
        await self._listening()
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

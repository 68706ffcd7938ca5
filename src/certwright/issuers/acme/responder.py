"""Answers HTTP-01 challenges from this process.

Requests for ``/.well-known/acme-challenge/`` on port 80 of the names to be proven have to be
led here, by an Ingress for instance. Proofs are kept in memory: a step of an order presents
them again, so that nothing is lost by a restart.
"""

from datetime import timedelta

from aiohttp import web

from certwright.issuers.acme.solvers import HTTP_01, Proof

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

    @property
    def port(self) -> int:
        """The port in use, also when any free one was asked for."""
        bound: int = self._runner.addresses[0][1]
        return bound

    async def start(self) -> None:
        """Start to listen."""
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._place).start()

    async def stop(self) -> None:
        """Stop to listen."""
        await self._runner.cleanup()

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

"""HTTP for kubelets and Prometheus: /livez, /readyz and /metrics.

``?verbose`` shows every check; a failing probe shows them anyway. Answers go to whoever can
reach the address, so they say what is watched and how old it is, and nothing of what is in it.
"""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from aiohttp import web

from certwright.runtime.health import Check
from certwright.runtime.metrics import CONTENT_TYPE

IDLE_SECONDS = 10.0
"""How long a connection may take to send a request, and may stay open after one."""
MAX_HEADER_BYTES = 4096
MAX_BODY_BYTES = 1024


class Address(NamedTuple):
    """Where to listen. Only this machine by default: kubelets need ``0.0.0.0`` or ``::``."""

    port: int
    host: str = "127.0.0.1"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``host:port``, ``[v6]:port`` or ``:port`` (every interface)."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not an address such as :8081 or 127.0.0.1:8081")
        return cls(int(port), host.strip("[]") or "0.0.0.0")  # noqa: S104 - asked for


class Inspected(Protocol):
    """What the probes look at; `Manager` is one."""

    def liveness(self) -> Iterator[Check]:
        """Yield what only a restart can cure."""
        ...

    def readiness(self) -> Iterator[Check]:
        """Yield what must be well before anybody relies on this replica."""
        ...

    async def exposition(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        ...


class Probes:
    """Serves the probes for the time of a context."""

    def __init__(self, inspected: Inspected, address: Address) -> None:
        self._inspected = inspected
        self._address = address
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/livez", self._livez)
        app.router.add_get("/healthz", self._livez)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=1.0,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            shutdown_timeout=1.0,
        )

    @property
    def port(self) -> int:
        """The port in use, also when any free one was asked for."""
        bound: int = self._runner.addresses[0][1]
        return bound

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, self._address.host, self._address.port).start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _livez(self, request: web.Request) -> web.Response:
        return _answer("livez", self._inspected.liveness(), verbose="verbose" in request.query)

    async def _readyz(self, request: web.Request) -> web.Response:
        return _answer("readyz", self._inspected.readiness(), verbose="verbose" in request.query)

    async def _metrics(self, _request: web.Request) -> web.Response:
        body = await self._inspected.exposition()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


def _answer(probe: str, checks: Iterable[Check], *, verbose: bool) -> web.Response:
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

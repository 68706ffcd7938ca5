"""Answers the hooks of a Pod that ends. Of HTTP it knows as much as kubelet and Envoy need."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import structlog

from certwright.listener import serve_streams
from certwright.runtime import on_signals

FAIL_ATTEMPTS: Final = 4
FAIL_SECONDS: Final = 0.2
FAIL_GROWTH: Final = 5
"""Envoy is asked to fail its health checks four times at most, after 0.2, 1 and 5 seconds."""
START_SECONDS: Final = 15.0
"""How long load balancers take to notice."""
POLL_SECONDS: Final = 5.0
REQUEST_SECONDS: Final = 5.0
_LIMIT: Final = 8192
_ADMIN: Final = 'envoy_http_conn_manager_prefix="admin"'
_ACTIVE: Final = re.compile(
    r"^envoy_http_downstream_cx_active(\{[^}]*\})? ([0-9.]+)\s*$", re.MULTILINE
)

Ask = Callable[[str, str], Awaitable[str]]
"""Sends a request to Envoy: method and path; returns the body. `OSError` if it fails."""

_log = structlog.get_logger()


def active_connections(metrics: str) -> int:
    """Return how many connections Envoy has, but for those to its administration."""
    found = _ACTIVE.findall(metrics)
    return int(sum(float(number) for labels, number in found if _ADMIN not in labels))


class Drain:
    """Drains Envoy, once, however often it is asked to."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._lock = asyncio.Lock()
        self.done = asyncio.Event()
        """Set when no connection is left."""

    async def run(self) -> None:
        """Return when Envoy has no connection left."""
        async with self._lock:
            if self.done.is_set():
                return
            if not await self._fail_health_checks():
                _log.warning("Envoy does not answer: it has ended, or never ran")
                self.done.set()
                return
            await asyncio.sleep(START_SECONDS)
            while (left := await self._connections()) > 0:
                _log.info("draining", connections=left)
                await asyncio.sleep(POLL_SECONDS)
            self.done.set()

    async def _fail_health_checks(self) -> bool:
        delay = FAIL_SECONDS
        for attempt in range(FAIL_ATTEMPTS):
            try:
                await self._ask("POST", "/healthcheck/fail")
            except OSError:
                if attempt + 1 < FAIL_ATTEMPTS:
                    await asyncio.sleep(delay)
                    delay *= FAIL_GROWTH
            else:
                return True
        return False

    async def _connections(self) -> int:
        try:
            return active_connections(await self._ask("GET", "/stats/prometheus"))
        except OSError:
            return 0  # it has ended


async def answer(drain: Drain, path: str) -> int:
    """Return the status code for a request; hooks are answered when what they wait for is over."""
    match path.partition("?")[0]:
        case "/healthz":
            return 200
        case "/drain":
            await drain.run()
            return 200
        case "/shutdown":
            await drain.done.wait()
            return 200
        case _:
            return 404


def envoy_at(port: int) -> Ask:
    """Return what asks the Envoy of this Pod."""

    async def ask(method: str, path: str) -> str:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                reader, writer = await asyncio.open_connection("localhost", port)
                head = f"{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
                writer.write(head.encode())
                await writer.drain()
                content = await reader.read()
                writer.close()
        except TimeoutError:
            raise OSError(f"Envoy did not answer {path} in time") from None
        status, _, rest = content.decode("utf-8", "replace").partition("\r\n")
        if " 200" not in status:
            raise OSError(f"Envoy answered {path} with {status!r}")
        return rest.partition("\r\n\r\n")[2]

    return ask


def listen(drain: Drain, port: int, host: str = "") -> AbstractAsyncContextManager[int]:
    """Answer hooks at a port, of all interfaces unless a host is named, while a context is open."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
            code = await answer(drain, words[1]) if len(words) == 3 else 400
            writer.write(f"HTTP/1.1 {code} -\r\nContent-Length: 0\r\n".encode())
            writer.write(b"Connection: close\r\n\r\n")
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    return serve_streams(serve, host, port, limit=_LIMIT)


async def serve_until_signal(port: int, admin_port: int) -> None:
    """Answer hooks until a signal ends the process."""
    ended = asyncio.Event()
    async with listen(Drain(envoy_at(admin_port)), port):
        with on_signals(ended.set, dict, None):
            await ended.wait()

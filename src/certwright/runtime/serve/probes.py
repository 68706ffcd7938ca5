"""HTTP for kubelets and Prometheus: /livez, /readyz and /metrics.

``?verbose`` shows every check; a failing probe shows them anyway. All who can reach
the address can read it, so it names what is watched and its age, the objects and their conditions
(status and reason), never what is in them.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple, Protocol, Self

from certwright.runtime.serve.health import Check


class ListenAddress(NamedTuple):
    """Where to listen. Only this machine by default: kubelets need ``0.0.0.0`` or ``::``."""

    port: int
    host: str = "127.0.0.1"

    @classmethod
    def parse(cls, text: str) -> "ListenAddress":
        """Read ``host:port``, ``[v6]:port`` or ``:port`` (every interface)."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not an address such as :8081 or 127.0.0.1:8081")
        return cls(int(port), host.strip("[]") or "0.0.0.0")  # noqa: S104 - asked for


class ProbeTarget(Protocol):
    """What the probes look at; `Manager` is one."""

    def liveness(self) -> Iterator[Check]:
        """Yield what only a restart can repair."""
        ...

    def readiness(self) -> Iterator[Check]:
        """Yield whether each store is complete and its watch alive."""
        ...

    async def exposition(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        ...


class Probes:
    """Serves the probes for the time of a context."""

    def __init__(self, target: ProbeTarget, address: ListenAddress) -> None:
        self._target = target
        self._address = address
        self._end: Callable[[], Awaitable[None]] | None = None
        self.port = address.port
        """The port in use, also when any free one was asked for."""

    async def __aenter__(self) -> Self:
        # Here, because a web server is several MiB that a process without probes does not need.
        from certwright.runtime.serve.probeserver import serve  # noqa: PLC0415

        self.port, self._end = await serve(self._target, self._address)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._end is not None:
            await self._end()

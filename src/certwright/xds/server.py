"""The discovery server: listens, shakes hands with the pair of the moment, works in small steps.

A snapshot may concern thousands of streams, which all answer at about the same time; after a
restart thousands shake hands. All that is done a few milliseconds at a time, so that other work of
the process goes on in between.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from certwright.clock import SYSTEM, Clock
from certwright.listener import Listener
from certwright.runtime import ListenAddress
from certwright.runtime.queue.backoff import Rng, new_rng, spread
from certwright.runtime.serve.health import Check
from certwright.tls.server import HandshakeProfile, ServingCertificate
from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import Services
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.grpc.transport import ClientTransport
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections
from certwright.xds.services import clientstatus, health
from certwright.xds.services.discovery import METHODS, SERVICES, DiscoveryHost, discovery_service
from certwright.xds.store import SnapshotStore

_STEP_SECONDS: Final = 0.004
_CHECK_SECONDS: Final = 1.0
_BACKLOG: Final = 1024
_AGE_SPREAD: Final = 0.1
_REMEMBERED: Final = 10_000

_log = structlog.get_logger()


def xds_profile() -> HandshakeProfile:
    """Return how a discovery server shakes hands: Envoy speaks TLS 1.2 unless told otherwise."""
    return HandshakeProfile("xds", "h2", ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_2)


class XdsServer:
    """Serves snapshots to Envoys."""

    def __init__(
        self,
        snapshots: SnapshotStore,
        certificate: ServingCertificate,
        address: ListenAddress,
        *,
        metrics: XdsMetrics,
        clock: Clock = SYSTEM,
        limits: GrpcLimits | None = None,
        rng: Rng | None = None,
        connections: Connections | None = None,
    ) -> None:
        self._certificate = certificate
        self._address = address
        self._metrics = metrics
        self._clock = clock
        self.monotonic = clock.monotonic
        """Returns seconds that never go backwards."""
        self._rng = rng or new_rng()
        self._clients: dict[ClientTransport, None] = {}
        self._namespaces: dict[str, str] = {}
        """The namespace that was last seen at an address; the oldest are forgotten."""
        self._authorities = _authorities(certificate)
        certificate.listen(self._certificate_changed)
        self._dirty: deque[ClientTransport] = deque()
        self._stepping = False
        self._ending = False
        self._listening = asyncio.Event()
        self._empty = asyncio.Event()
        self.limits = limits or GrpcLimits()
        self.connections = Connections() if connections is None else connections
        """What is known of the Envoys that are connected."""
        self.port = address.port
        """The port in use, also when any free one was asked for."""
        host = DiscoveryHost(snapshots, self.connections, metrics, clock)
        self.services: Services = {
            **{path: discovery_service(host, kind) for path, kind in METHODS.items()},
            health.CHECK: health.health_service(self.ready, SERVICES),
            clientstatus.FETCH: clientstatus.client_status_service(self.connections, many=False),
            clientstatus.STREAM: clientstatus.client_status_service(self.connections, many=True),
        }

    # Life

    async def run(self) -> None:
        """Listen until cancelled; then ask all clients to go elsewhere, and wait for them."""
        listener = await Listener.open(
            lambda: ClientTransport(self), self._address.host, self._address.port, backlog=_BACKLOG
        )
        try:
            self.port = listener.port
            _log.info("discovery server listens", host=self._address.host, port=self.port)
            self._listening.set()
            while True:
                await asyncio.sleep(_CHECK_SECONDS)
                self.check()
        finally:
            self._ending = True
            await listener.close()
            await self._drain()
            await listener.end()

    async def listening(self) -> int:
        """Return the port as soon as connections are accepted."""
        await self._listening.wait()
        return self.port

    def ready(self) -> bool:
        """Return whether Envoys can be served."""
        return all(not check.problem for check in self.readiness())

    def readiness(self) -> Iterator[Check]:
        """Yield whether Envoys can be served, and with which certificate."""
        problem = "" if self._listening.is_set() else "not listening yet"
        if self._ending:
            problem = "shutting down"
        yield Check("discovery server", problem, f"port {self.port}, {len(self._clients)} clients")
        pair, latest = self._certificate.pair, self._certificate.problem
        if pair is None:
            yield Check("discovery certificate", latest, "none in use")
            return
        detail = f"serial {pair.serial}, expires {pair.validity.not_after.isoformat()}"
        if latest:
            detail += f"; a newer one is not used: {latest}"
        problem = "expired" if self._certificate.expired() else ""
        yield Check("discovery certificate", problem, detail)

    def ask_to_reconnect(
        self, over: timedelta, which: Callable[[ClientIdentity], bool] = lambda _: True
    ) -> int:
        """Ask clients to connect again, evenly spread over some time; return how many are asked."""
        chosen = [one for one in self._clients if one.identity is not None and which(one.identity)]
        now = self.monotonic()
        for place, client in enumerate(chosen):
            client.ends = min(client.ends, now + over.total_seconds() * place / len(chosen))
        return len(chosen)

    def check(self) -> None:
        """Look after all clients: old ones, silent ones, those that never said anything."""
        now = self.monotonic()
        for client in list(self._clients):
            client.check(now)

    async def _drain(self) -> None:
        for client in list(self._clients):
            client.drain("the server shuts down: connect again")
        if not self._clients:
            return
        self._empty.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.drain.total_seconds()):
                await self._empty.wait()
        for client in list(self._clients):
            client.abort()

    # What clients need (ClientHost)

    def accept(self, client: ClientTransport) -> ssl.SSLContext | None:
        """Return the context of the next handshake; None if the client is not to be served."""
        self._clients[client] = None
        self._metrics.connections.inc()
        if self._ending or len(self._clients) > self.limits.connections:
            self.refused("", "too_many")
            return None
        if self._certificate.context is None:
            self.refused("", "no_serving_certificate")
        return self._certificate.context

    def identified(self, client: ClientTransport, identity: ClientIdentity | None) -> None:
        """Decide when a connection ends: at its age, and before its client's certificate does."""
        age = self.limits.age.total_seconds()
        client.ends = client.since + spread(age * (1 - _AGE_SPREAD), age, self._rng)
        if identity is not None:
            self._namespaces.pop(client.host_address, None)
            self._namespaces[client.host_address] = identity.namespace
            if len(self._namespaces) > _REMEMBERED:
                del self._namespaces[next(iter(self._namespaces))]
            left = identity.not_after - self._clock.now() - self.limits.expiry_margin
            client.ends = min(client.ends, self.monotonic() + left.total_seconds())

    def stranger(self, client: ClientTransport, reason: str) -> None:
        """Count a handshake that failed; a certificate that failed cannot be read any more."""
        self.refused("", reason)
        if reason == "untrusted_certificate":
            self._metrics.untrusted(self._namespaces.get(client.host_address, "unknown"))

    def _certificate_changed(self) -> None:
        """Have all clients shake hands anew if an authority is not trusted any more."""
        before, self._authorities = self._authorities, _authorities(self._certificate)
        if before - self._authorities:
            asked = self.ask_to_reconnect(self.limits.reverify)
            _log.info("an authority of clients was retired", asked_to_reconnect=asked)

    def schedule(self, client: ClientTransport) -> None:
        """Let a client take what came and send, soon."""
        if client.scheduled:
            return
        client.scheduled = True
        self._dirty.append(client)
        if not self._stepping:
            self._stepping = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        until = self.monotonic() + _STEP_SECONDS
        while self._dirty:
            client = self._dirty.popleft()
            client.scheduled = False
            try:
                client.work()
            except Exception:
                self.refused("", "internal")
                client.abort()
                asyncio.get_running_loop().call_soon(self._step)  # the others are served as ever
                raise  # and the loop reports it
            if self.monotonic() > until:
                asyncio.get_running_loop().call_soon(self._step)
                return
        self._stepping = False

    def lost(self, client: ClientTransport) -> None:
        """Forget a client."""
        if client in self._clients:
            del self._clients[client]
            self._metrics.connections.dec()
            if not self._clients:
                self._empty.set()

    def refused(self, path: str, reason: str) -> None:
        """Count a refusal."""
        self._metrics.refused(reason)
        _log.debug("refused", path=path, reason=reason)


def _authorities(certificate: ServingCertificate) -> frozenset[bytes]:
    """Return the authorities of clients, each as its PEM."""
    if certificate.pair is None:
        return frozenset()
    return frozenset(certificate.pair.client_authority.split(b"-----END CERTIFICATE-----"))

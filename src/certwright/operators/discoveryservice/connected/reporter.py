"""The part of a pod that has late Envoys connect again, and reports what all have shown."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, Protocol

import structlog

from certwright import pki
from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, Key
from certwright.operators.discoveryservice.certificates.contents import bundle_digest
from certwright.operators.discoveryservice.config.envoys.counts import Damper
from certwright.operators.discoveryservice.connected.asked import (
    AskedCertificates,
    asked_certificates,
)
from certwright.operators.discoveryservice.connected.attendance import Attendance
from certwright.operators.discoveryservice.connected.report import (
    CertificateReport,
    make_report,
    report_lease,
)
from certwright.operators.discoveryservice.repeat import repeat
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Cache, KeepFields
from certwright.tls.certificates import ServingPair
from certwright.xds.access import ClientIdentity
from certwright.xds.observations import Connections

GATHER_SECONDS: Final = 1.0
"""How long changes are gathered before they are looked at."""
OVER: Final = timedelta(seconds=20)
"""Over which time Envoys are asked to connect again: each takes a handshake."""
AGAIN_SECONDS: Final = 30.0
"""After which time those are asked again who came back with what they had: a volume is late."""
_RETRY_SECONDS: Final = 5.0
_KEPT: Final = KeepFields("/spec/isCA", "/status/rotation", "/status/serialNumber")

_log = structlog.get_logger()


class EnvoyServer(Protocol):
    """A server that Envoys are connected to."""

    connections: Connections

    def ask_to_reconnect(
        self, over: timedelta, which: Callable[[ClientIdentity], bool] = ...
    ) -> int:
        """Ask clients to connect again, spread over some time; return how many are asked."""
        ...


class CertificateReporter:
    """Writes the report of one pod into its Lease, only while an authority is replaced.

    *pair* returns what the server presents now.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        cache: Cache,
        server: EnvoyServer,
        pair: Callable[[], ServingPair | None],
        identity: ReplicaIdentity,
    ) -> None:
        self._client = client
        self._clock = clock
        self._server = server
        self._pair = pair
        self._identity = identity
        self._attendance = Attendance(clock.monotonic())
        self._damper: Damper[str] = Damper()
        self._written: CertificateReport | None = None
        self._asked: AskedCertificates | None = None
        """What is asked for; None if that has to be read anew."""
        self._asked_again: dict[str, tuple[str, float]] = {}
        """By namespace, for which serial number its Envoys were asked last, and when."""
        self._wake = asyncio.Event()
        # Not required: what serves Envoys must not depend on it.
        self._certificates = cache.store(
            DiscoveryServiceCertificate,
            labels=identity.selector,
            transform=_KEPT,
            required=False,
        )
        self._certificates.listen(lambda _old, _new: self._read_anew())
        server.connections.listen(lambda _node: self.wake(), verdicts=False)

    def wake(self) -> None:
        """Take note that Envoys, or what the server presents, may have changed."""
        self._wake.set()

    def _read_anew(self) -> None:
        self._asked = None
        self._wake.set()

    async def run(self) -> None:
        """Report until cancelled."""
        self._attendance = Attendance(self._clock.monotonic())
        await self._certificates.synced()
        await repeat(self.step, self._wake, GATHER_SECONDS)

    async def step(self) -> float | None:
        """Do what is due; return after how many seconds to look again though nothing changes."""
        asked, now = self._read(), self._clock.monotonic()
        if not asked.rotating:
            self._asked_again.clear()
            return None
        self._attendance.look(self._server.connections.shown(), now)
        again = self._ask(asked.serials, now)
        report = self._report(asked.serials, now)
        wait = self._damper.wait("", report, self._written, now)
        if report != self._written and not wait:
            wait = await self._write(report)
        times = [again, self._attendance.sleep(now), wait or None]
        return min((one for one in times if one is not None), default=None)

    def _read(self) -> AskedCertificates:
        if self._asked is None:
            service = Key(self._identity.pod.namespace, self._identity.service)
            entries = self._certificates.store.items()
            self._asked = asked_certificates(service, (one.obj() for one in entries))
        return self._asked

    def _ask(self, serials: Mapping[str, str], now: float) -> float | None:
        """Ask late Envoys to connect again, if it is time; return when it will be."""
        late = {one.node.namespace for one in self._attendance.late(serials, connected=True)}
        due = {one for one in late if self._is_due(one, serials[one], now)}
        if due:
            asked = self._server.ask_to_reconnect(
                OVER,
                lambda one: one.namespace in due and one.serial != serials[one.namespace],
            )
            _log.info("Envoys are asked to show their certificate", number=asked)
            self._asked_again |= {one: (serials[one], now) for one in due}
        if not late:
            return None
        return min(self._asked_again[one][1] for one in late) + AGAIN_SECONDS - now

    def _is_due(self, namespace: str, serial: str, now: float) -> bool:
        before, at = self._asked_again.get(namespace, ("", now))
        return before != serial or now - at >= AGAIN_SECONDS

    def _report(self, serials: Mapping[str, str], now: float) -> CertificateReport:
        pair = self._pair()
        return make_report(
            serials,
            self._attendance.late(serials),
            pair.serial if pair is not None else "",
            trusted_digest(pair.client_authority) if pair is not None else "",
            settled=self._attendance.is_settled(now),
        )

    async def _write(self, report: CertificateReport) -> float:
        """Write a report; return after how many seconds to try again, 0 if it is written."""
        try:
            await self._client.apply(report_lease(self._identity, report))
        except (ApiError, TransportError) as error:
            _log.warning("report not written", lease=str(self._identity.pod), error=str(error))
            return _RETRY_SECONDS
        self._written = report
        return 0.0


def trusted_digest(bundle: bytes) -> str:
    """Return the digest of the authorities of a bundle; empty if it cannot be read."""
    try:
        return bundle_digest(pki.read_bundle(bundle))
    except pki.PkiError:
        return ""

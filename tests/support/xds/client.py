"""A small gRPC client on the h2 library, and a server with everything around it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)

from certwright import pki
from certwright.client.http.tls import client_context, identify
from certwright.clock import SYSTEM
from certwright.runtime import ListenAddress, Metrics
from certwright.tls.certificates import TlsFiles
from certwright.tls.server import ServingCertificate
from certwright.xds.access import client_uri
from certwright.xds.grpc.envelope import prefix
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.messages import DiscoveryRequest, DiscoveryResponse
from certwright.xds.metrics import XdsMetrics
from certwright.xds.server import XdsServer, xds_profile
from certwright.xds.store import SnapshotStore

DAY = timedelta(days=1)
ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
DELTA = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"

PATIENCE_SECONDS = 50.0
"""How long others get: much more than they need, for machines are busy at times."""


class XdsCa:
    """An authority that issues what a discovery server and its clients show."""

    def __init__(self, name: str = "test", now: datetime | None = None) -> None:
        self.now = now or SYSTEM.now()
        self.authority = pki.create_root(
            pki.distinguished_name(name), pki.generate_key(pki.KeySpec()), 100 * DAY, self.now - DAY
        )

    @property
    def pem(self) -> bytes:
        return pki.write_certificates(self.authority.certificate)

    def server(self, clients: bytes = b"", lifetime: timedelta = DAY) -> TlsFiles:
        key = pki.generate_key(pki.KeySpec())
        names = pki.AlternativeNames.of_hosts("localhost", "127.0.0.1", "xds.test")
        subject = pki.distinguished_name("server")
        template = pki.server_template(subject, key.public_key(), lifetime, names)
        certificate = self.authority.issue(template, self.now)
        return TlsFiles(
            pki.write_certificates(certificate), pki.write_key(key), self.pem, clients or self.pem
        )

    def client(self, namespace: str, lifetime: timedelta = DAY, *uris: str) -> TlsFiles:
        key = pki.generate_key(pki.KeySpec())
        names = pki.AlternativeNames(uris=uris or (client_uri("instance", namespace),))
        subject = pki.distinguished_name("client")
        template = pki.client_template(subject, key.public_key(), lifetime, names)
        certificate = self.authority.issue(template, self.now)
        return TlsFiles(pki.write_certificates(certificate), pki.write_key(key), self.pem)


class Ended(NamedTuple):
    """How a call ended: the status of gRPC and its words, or what else happened."""

    code: int
    message: str


class Client:
    """One connection with any number of calls."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.went_away: ConnectionTerminated | None = None
        self.goodbyes: list[int] = []
        """The errors of each GOAWAY."""
        self.paused = False
        self._data: dict[int, bytearray] = {}
        self._messages: dict[int, asyncio.Queue[bytes | Ended]] = {}
        self._pongs: asyncio.Queue[None] = asyncio.Queue()
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def call(self, path: str, **headers: str) -> int:
        stream_id = self.h2.get_next_available_stream_id()
        sent = {
            ":method": "POST", ":scheme": "https", ":path": path, ":authority": "xds.test",
            "te": "trailers", "content-type": "application/grpc",
        } | {name.replace("_", "-"): value for name, value in headers.items()}  # fmt: skip
        self.h2.send_headers(stream_id, list(sent.items()))
        self._data[stream_id] = bytearray()
        self._messages[stream_id] = asyncio.Queue()
        self.flush()
        return stream_id

    def send(self, stream_id: int, message: Any, *, end: bool = False) -> None:
        encoded = message if isinstance(message, bytes) else message.SerializeToString()
        self.send_raw(stream_id, prefix(len(encoded)) + encoded, end=end)

    def send_raw(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        for place in range(0, len(data), 16384):
            self.h2.send_data(stream_id, data[place : place + 16384])
        if end:
            self.h2.end_stream(stream_id)
        self.flush()

    async def run(self) -> None:
        """Read until the connection ends."""
        with suppress(ConnectionError, ssl.SSLError):
            while data := await self.reader.read(65536):
                for event in self.h2.receive_data(data):
                    self._take(event)
                self.flush()
        for queue in self._messages.values():
            queue.put_nowait(Ended(-1, "the connection ended"))

    def _take(self, event: Any) -> None:
        match event:
            case DataReceived():
                if not self.paused:
                    size = event.flow_controlled_length or 0
                    self.h2.acknowledge_received_data(size, event.stream_id)
                self._read(event.stream_id, event.data or b"")
            case ResponseReceived() | TrailersReceived():
                headers: dict[Any, Any] = dict(event.headers or ())
                if "grpc-status" in headers:
                    message = unquote(str(headers.get("grpc-message", "")))
                    self._end(event.stream_id, Ended(int(headers["grpc-status"]), message))
                elif headers.get(":status", "200") != "200":
                    self._end(event.stream_id, Ended(-int(headers[":status"]), "HTTP"))
            case StreamReset() | StreamEnded():
                self._end(event.stream_id, Ended(-2, "the stream ended"))
            case PingAckReceived():
                self._pongs.put_nowait(None)
            case ConnectionTerminated():
                self.went_away = event
                self.goodbyes.append(int(event.error_code or 0))

    def _read(self, stream_id: int, data: bytes) -> None:
        buffer = self._data[stream_id]
        buffer += data
        while len(buffer) >= 5 and len(buffer) >= (end := 5 + int.from_bytes(buffer[1:5], "big")):
            self._messages[stream_id].put_nowait(bytes(buffer[5:end]))
            del buffer[:end]

    def _end(self, stream_id: int, ended: Ended) -> None:
        if stream_id in self._messages:
            self._messages[stream_id].put_nowait(ended)

    async def message(self, stream_id: int) -> bytes:
        found = await self._next(stream_id)
        assert isinstance(found, bytes), found
        return found

    async def response(self, stream_id: int) -> Any:
        return DiscoveryResponse.FromString(await self.message(stream_id))

    async def ended(self, stream_id: int) -> Ended:
        while isinstance(found := await self._next(stream_id), bytes):
            pass
        return found

    async def _next(self, stream_id: int) -> bytes | Ended:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._messages[stream_id].get()

    def arrived(self, stream_id: int) -> list[bytes]:
        """Return the messages that have come and were not asked for."""
        found: list[bytes] = []
        queue = self._messages[stream_id]
        while not queue.empty():
            one = queue.get_nowait()
            assert isinstance(one, bytes), one
            found.append(one)
        return found

    def silent(self, stream_id: int) -> bool:
        return self._messages[stream_id].empty()

    async def ping(self) -> None:
        """Return when the server has handled everything that was sent before."""
        self.h2.ping(b"12345678")
        self.flush()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._pongs.get()


def request(type_url: str, node: str = "", *names: str, **fields: Any) -> Any:
    """Return a state-of-the-world request; *error* is the words of a rejection."""
    error = fields.pop("error", None)
    found = DiscoveryRequest(type_url=type_url, resource_names=names, **fields)
    if node:
        found.node.id = node
        found.node.user_agent_name = "envoy"
        found.node.user_agent_version = "1.40.0"
    if error is not None:
        found.error_detail.message = error
    return found


def accepted(response: Any, *names: str) -> Any:
    return request(
        response.type_url,
        "",
        *names,
        version_info=response.version_info,
        response_nonce=response.nonce,
    )


class ShiftedClock:
    """The clock of the machine, moved forward by tests instead of waiting."""

    def __init__(self) -> None:
        self._shift = timedelta()

    def forward(self, shift: timedelta) -> None:
        self._shift += shift

    def now(self) -> datetime:
        return SYSTEM.now() + self._shift

    def monotonic(self) -> float:
        return SYSTEM.monotonic() + self._shift.total_seconds()


class Served:
    """A server that runs, and everything around it."""

    def __init__(
        self,
        limits: GrpcLimits | None = None,
        *,
        certificate: bool = True,
        clock: ShiftedClock | None = None,
    ) -> None:
        self.clock = clock or ShiftedClock()
        self.ca = XdsCa()
        self.registry = Metrics()
        self.metrics = XdsMetrics(self.registry)
        self.certificate = ServingCertificate(self.clock, self.metrics, xds_profile())
        if certificate:
            self.certificate.offer(self.ca.server())
        self.snapshots = SnapshotStore()
        self.server = XdsServer(
            self.snapshots,
            self.certificate,
            ListenAddress(0),
            metrics=self.metrics,
            clock=self.clock,
            limits=limits,
        )

    def count(self, name: str, **labels: str) -> float:
        return self.registry.registry.get_sample_value(f"certwright_xds_{name}", labels) or 0.0

    def refused(self, reason: str) -> float:
        return self.count("refused_total", reason=reason)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.server.run())
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self.server.listening()
                yield task
            finally:
                if not task.cancelling():
                    task.cancel()

    async def connect(self, files: TlsFiles | None, version: ssl.TLSVersion | None = None) -> bytes:
        """Shake hands and wait for the server's first byte; raise if there is none."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.server.port, ssl=tls_of(files, self.ca.pem, version),
            server_hostname="localhost",
        )  # fmt: skip
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                data = await reader.read(1)
            shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            writer.transport.abort()
        if not data:
            raise ConnectionResetError
        return shown

    @asynccontextmanager
    async def client(
        self,
        files: TlsFiles | None = None,
        *,
        trusted: bytes = b"",
        version: ssl.TLSVersion | None = None,
    ) -> AsyncIterator[Client]:
        found = connected(
            self.server.port, files or self.ca.client("shop"), trusted or self.ca.pem, version
        )
        async with found as client:
            yield client


@asynccontextmanager
async def connected(
    port: int, files: TlsFiles, trusted: bytes, version: ssl.TLSVersion | None = None
) -> AsyncIterator[Client]:
    """Connect to a server on this machine, and read until the context ends."""
    context = tls_of(files, trusted, version)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    client = Client(reader, writer)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.run())
        try:
            yield client
        finally:
            task.cancel()
            writer.transport.abort()


def tls_of(
    files: TlsFiles | None, trusted: bytes, version: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    context = client_context(trusted)
    context.set_alpn_protocols(["h2"])
    if files is not None:
        identify(context, files.certificate, files.key)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


async def until(condition: Any) -> None:
    """Wait until something is so that another task brings about."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)

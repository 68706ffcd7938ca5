"""Discovery streams: a call, a stream of the protocol, and the snapshots of one node."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from certwright.clock import Clock
from certwright.xds.access import ClientIdentity, admit_node
from certwright.xds.grpc.call import CallHandler, GrpcCall
from certwright.xds.grpc.status import CallRefused, StatusCode
from certwright.xds.messages import Undecodable
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections, EnvoyObservation, ShownCertificate
from certwright.xds.protocol.acceptances import DELTA, STATE, RequestForm, RequestReader
from certwright.xds.protocol.delta import DeltaStream
from certwright.xds.protocol.observation import Received, Standings
from certwright.xds.protocol.requests import NodeInfo
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.protocol.violation import ProtocolViolation
from certwright.xds.snapshot import NodeKey, NodeSnapshot
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import SECRET

_ADS: Final = "/envoy.service.discovery.v3.AggregatedDiscoveryService"
_SDS: Final = "/envoy.service.secret.v3.SecretDiscoveryService"


class StreamKind(NamedTuple):
    """A way to talk: how requests are read, what decides, and which type is meant."""

    stream: Callable[[], Any]
    form: RequestForm
    delta: bool
    type_url: str = ""
    """Of services for one type; requests may leave it out."""


METHODS: Final = {
    f"{_ADS}/StreamAggregatedResources": StreamKind(StateStream, STATE, delta=False),
    f"{_ADS}/DeltaAggregatedResources": StreamKind(DeltaStream, DELTA, delta=True),
    f"{_SDS}/StreamSecrets": StreamKind(StateStream, STATE, False, SECRET),
    f"{_SDS}/DeltaSecrets": StreamKind(DeltaStream, DELTA, True, SECRET),
}
SERVICES: Final = tuple(sorted({path[1:].partition("/")[0] for path in METHODS}))
_VERDICTS: Final = frozenset({Received.SUBSCRIBED, Received.ACCEPTED, Received.REJECTED})


class DiscoveryHost(NamedTuple):
    """What all streams of a server share."""

    snapshots: SnapshotStore
    connections: Connections
    metrics: XdsMetrics
    clock: Clock


def discovery_service(
    host: DiscoveryHost, kind: StreamKind
) -> Callable[[GrpcCall, ClientIdentity], CallHandler]:
    """Return what makes a stream of each call."""
    return lambda call, identity: DiscoveryCall(host, kind, call, identity)


class DiscoveryCall:
    """One stream of one client."""

    __slots__ = (
        "_call", "_done", "_host", "_identity", "_info", "_kind", "_noted", "_outdated",
        "_requests", "_since", "_stream", "node",
    )  # fmt: skip

    def __init__(
        self, host: DiscoveryHost, kind: StreamKind, call: GrpcCall, identity: ClientIdentity
    ) -> None:
        self._host = host
        self._kind = kind
        self._call = call
        self._identity = identity
        self._stream = kind.stream()
        self._requests = RequestReader(kind.form)
        self._since: datetime = host.clock.now()
        self._info = NodeInfo("")
        self._done = False
        self._outdated = False
        """Whether there is a snapshot that the stream has not looked at."""
        self._noted = False
        """Whether is noted that the client may have something else than at the last look."""
        self.node: NodeKey | None = None

    def receive(self, message: bytes) -> None:
        """Take a request; the first one says who asks."""
        try:
            request = self._requests.read(message)
        except Undecodable as error:
            raise _invalid("undecodable", str(error)) from None
        if self._kind.type_url:
            if request.type_url not in {"", self._kind.type_url}:
                raise _invalid("type", f"{request.type_url[:200]!r} is not served by this method")
            request = request._replace(type_url=self._kind.type_url)
        if self.node is None:
            self._begin(request.node)
        self._note()
        try:
            received = self._stream.receive(request, self._host.clock.now())
        except ProtocolViolation as error:
            raise _invalid("violation", str(error)) from None
        self._host.metrics.requests(request.type_url, received)
        if received in _VERDICTS:
            self._host.connections.judged(self)

    def _begin(self, info: NodeInfo | None) -> None:
        node_id = info.id if info else ""
        self.node = admit_node(self._identity, node_id, self._host.snapshots.owners(node_id))
        self._info = info or self._info
        self._host.snapshots.listen(self.node, self._update)
        self._stream.update(self._host.snapshots.get(self.node))
        self._host.metrics.streams.inc()
        self._host.connections.add(self)

    def _update(self, _snapshot: NodeSnapshot | None) -> None:
        """Take note that there is a newer snapshot.

        A node may have thousands of streams, all told in one turn of the loop: each looks at the
        snapshot when its own turn to send comes.
        """
        self._outdated = True
        self._call.wake(self._call)

    def _look(self) -> None:
        if self._outdated and self.node is not None:
            self._outdated = False
            self._note()
            self._stream.update(self._host.snapshots.get(self.node))

    def _note(self) -> None:
        if not self._noted:
            self._noted = True
            self._host.connections.outdated(self)

    def half_closed(self) -> None:
        """End the stream with the client."""
        self._done = True

    def next_message(self) -> Sequence[bytes] | None:
        """Return the response that is due first."""
        if self.node is None or self._done:
            return None
        self._look()
        if not self._stream.due:
            return None
        self._note()  # also if nothing is sent: that the client lacks nothing is news
        response = self._stream.next_response(self._host.clock.now())
        if response is None:
            return None
        self._requests.sent(response)
        self._host.metrics.responses(response.type_url)
        return response.body, response.ending

    def has_news(self) -> bool:
        """Return whether a response may be due, or the client has ended the stream."""
        return bool(self._stream.due) or self._outdated or self._done

    def is_done(self) -> bool:
        """Return whether the client has ended the stream."""
        return self._done

    def closed(self) -> None:
        """Let go of the node."""
        if self.node is not None:
            self._host.snapshots.unlisten(self.node, self._update)
            self._host.connections.remove(self)
            self._host.metrics.streams.dec()

    def shown(self) -> ShownCertificate | None:
        """Return which certificate the client has shown."""
        if self.node is None:
            return None
        serial, agent = self._identity.serial, self._info.user_agent
        return ShownCertificate(self.node, self._call.peer, serial, agent)

    def observe(self) -> EnvoyObservation | None:
        """Return what is known of the client."""
        if self.node is None:
            return None
        self._look()  # a client that does not read is behind, too
        return EnvoyObservation(
            node=self.node,
            peer=self._call.peer,
            serial=self._identity.serial,
            not_after=self._identity.not_after,
            since=self._since,
            user_agent=self._info.user_agent,
            delta=self._kind.delta,
            types=tuple(self._stream.observe()),
        )

    def standings(self) -> Standings:
        """Return what the client has; what it has next is noted again."""
        self._look()
        self._noted = False
        standings: Standings = self._stream.standings()
        return standings


def _invalid(reason: str, message: str) -> CallRefused:
    return CallRefused(StatusCode.INVALID_ARGUMENT, reason, message)

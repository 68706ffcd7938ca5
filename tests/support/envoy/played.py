"""Envoys that are played: the real protocol core, without a network in between."""

from collections.abc import Callable
from datetime import datetime

from certwright.clock import Clock
from certwright.xds import typeurls
from certwright.xds.observations import Connections, EnvoyObservation, ShownCertificate
from certwright.xds.protocol.observation import Standings
from certwright.xds.protocol.requests import StateRequest
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.snapshot import NodeKey, NodeSnapshot
from certwright.xds.store import SnapshotStore

ASKED = (typeurls.CLUSTER, typeurls.LISTENER, typeurls.SECRET)


class PlayedEnvoy:
    """An Envoy that takes what it is given, unless *verdict* finds a reason not to."""

    def __init__(
        self,
        snapshots: SnapshotStore,
        connections: Connections,
        clock: Clock,
        node: NodeKey,
        name: str = "envoy",
        verdict: Callable[[str, frozenset[str]], str] = lambda _type, _names: "",
        asked: tuple[str, ...] = ASKED,
        serial: str = "1",
    ) -> None:
        self.node: NodeKey | None = node
        self.name = name
        self.serial = serial
        self.answers = 0
        self.verdict = verdict
        self._clock = clock
        self._snapshots = snapshots
        self._connections = connections
        self._snapshot: NodeSnapshot | None = None
        self._stream = StateStream()
        self._since = clock.now()
        connections.add(self)
        for url in asked:
            names = frozenset({"web"}) if url == typeurls.SECRET else frozenset[str]()
            self._stream.receive(StateRequest(url, names), self._now)
        snapshots.listen(node, self.update)
        self.update(snapshots.get(node))

    @property
    def _now(self) -> datetime:
        return self._clock.now()

    def update(self, snapshot: NodeSnapshot | None) -> None:
        """Take a snapshot, and answer all that follows from it."""
        self._snapshot = snapshot
        self._stream.update(snapshot)
        while (response := self._stream.next_response(self._now)) is not None:
            self.answers += 1
            assert snapshot is not None
            resources = snapshot.types.get(response.type_url)
            names = frozenset(resources.resources if resources else ())
            error = self.verdict(response.type_url, names) or None
            wanted = (
                frozenset({"web"}) if response.type_url == typeurls.SECRET else frozenset[str]()
            )
            request = StateRequest(
                response.type_url, wanted, response.nonce, response.version, error
            )
            self._stream.receive(request, self._now)
            self._connections.judged(self)
        self._connections.outdated(self)

    def shown(self) -> ShownCertificate | None:
        """Return which certificate it showed."""
        assert self.node is not None
        return ShownCertificate(self.node, self.name, self.serial, "envoy 1.40.0")

    def observe(self) -> EnvoyObservation | None:
        """Return what the server knows of it."""
        assert self.node is not None
        return EnvoyObservation(
            self.node, self.name, self.serial, self._since, self._since, "envoy 1.40.0", delta=False,
            types=tuple(self._stream.observe()),
        )  # fmt: skip

    def standings(self) -> Standings:
        """Return what the server says of it together with others."""
        return self._stream.standings()

    def leave(self) -> None:
        """End the stream."""
        assert self.node is not None
        self._snapshots.unlisten(self.node, self.update)
        self._connections.remove(self)

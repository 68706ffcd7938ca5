"""What is known of the connected Envoys, as values: for statuses, commands and rotations."""

from collections.abc import Callable, Iterable
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple, Protocol

from certwright.xds.protocol.observation import TypeObservation
from certwright.xds.snapshot import NodeKey


class EnvoyObservation(NamedTuple):
    """One stream of one Envoy: who it is, and what it holds."""

    node: NodeKey
    peer: str
    """Its address and port."""
    serial: str
    """Of the certificate that it showed, in hexadecimal digits."""
    not_after: datetime
    """When that certificate expires; the connection ends before."""
    since: datetime
    """When the stream began."""
    user_agent: str
    """What it says it is: ``envoy 1.40.0``."""
    delta: bool
    types: tuple[TypeObservation, ...]

    @property
    def in_sync(self) -> bool:
        """Whether it has what it shall have, of every type that it asked for."""
        return all(one.in_sync for one in self.types)


class ShownCertificate(NamedTuple):
    """Which certificate one stream of an Envoy began with; quicker to have than all the rest."""

    node: NodeKey
    peer: str
    """Its address and port."""
    serial: str
    """In hexadecimal digits."""
    user_agent: str = ""
    """What it says it is: ``envoy 1.40.0``."""


class ObservedStream(Protocol):
    """A stream that can be observed."""

    node: NodeKey | None

    def shown(self) -> ShownCertificate | None:
        """Return which certificate it began with; None if it has not said yet who it is."""
        ...

    def observe(self) -> EnvoyObservation | None:
        """Return what is known of it; None if it has not said yet who it is."""
        ...


class Connections:
    """The streams of one server. Listeners are told of a node when something about it changed."""

    def __init__(self) -> None:
        self._streams: dict[NodeKey, dict[ObservedStream, None]] = {}
        """By node: what is asked for is nearly always one node among very many."""
        self._count = 0
        self._listeners: list[Callable[[NodeKey], None]] = []

    def __len__(self) -> int:
        return self._count

    def observe(self, nodes: Iterable[NodeKey] | None = None) -> list[EnvoyObservation]:
        """Return what is known of all Envoys, or of those of some nodes, in order of nodes."""
        found = [
            seen
            for node in (self._streams if nodes is None else frozenset(nodes))
            for stream in self._streams.get(node, ())
            if (seen := stream.observe()) is not None
        ]
        return sorted(found, key=attrgetter("node", "since", "peer"))

    def nodes(self) -> list[NodeKey]:
        """Return the nodes of all Envoys."""
        return list(self._streams)

    def shown(self) -> list[ShownCertificate]:
        """Return which certificates all Envoys have shown, in order of nodes."""
        found = (stream.shown() for streams in self._streams.values() for stream in streams)
        return sorted(one for one in found if one is not None)

    def listen(self, listener: Callable[[NodeKey], None]) -> None:
        """Call a function with a node when an Envoy of it came, went, accepted or rejected."""
        self._listeners.append(listener)

    def add(self, stream: ObservedStream) -> None:
        """Take in a stream that has said who it is."""
        if stream.node is None:
            return
        streams = self._streams.setdefault(stream.node, {})
        self._count += stream not in streams
        streams[stream] = None
        self.changed(stream)

    def remove(self, stream: ObservedStream) -> None:
        """Forget a stream that ended."""
        if stream.node is None or stream not in self._streams.get(stream.node, ()):
            return
        streams = self._streams[stream.node]
        del streams[stream]
        self._count -= 1
        if not streams:
            del self._streams[stream.node]
        self.changed(stream)

    def changed(self, stream: ObservedStream) -> None:
        """Call the listeners with the node of a stream."""
        if stream.node is not None:
            for listener in self._listeners:
                listener(stream.node)

"""What is known of the connected Envoys, as values: for statuses, commands and rotations."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple, Protocol

from certwright.xds.protocol.observation import Standings, TypeObservation
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

    def standings(self) -> Standings:
        """Return what it has, as far as that is told of many together."""
        ...


@dataclass(frozen=True, slots=True)
class EnvoyGroup:
    """The streams of a node that have the same: thousands of them are few groups."""

    types: Standings
    streams: dict[ObservedStream, None] = field(default_factory=dict)


class _Node:
    """The streams of one node. Only those that changed since the last look are looked at."""

    def __init__(self) -> None:
        self.streams: dict[ObservedStream, EnvoyGroup] = {}
        """Each with the group that it is in."""
        self.outdated: set[ObservedStream] = set()
        self._groups: dict[Standings, EnvoyGroup] = {}

    def add(self, stream: ObservedStream) -> None:
        if stream not in self.streams:
            self._enter(stream, ())
        self.outdated.add(stream)

    def remove(self, stream: ObservedStream) -> None:
        self._leave(stream)
        del self.streams[stream]
        self.outdated.discard(stream)

    def groups(self) -> Collection[EnvoyGroup]:
        outdated, self.outdated = self.outdated, set()
        for stream in outdated:
            now = stream.standings()
            if now != self.streams[stream].types:
                self._leave(stream)
                self._enter(stream, now)
        return self._groups.values()

    def _enter(self, stream: ObservedStream, types: Standings) -> None:
        group = self._groups.get(types)
        if group is None:
            group = self._groups[types] = EnvoyGroup(types)
        self.streams[stream] = group
        group.streams[stream] = None

    def _leave(self, stream: ObservedStream) -> None:
        group = self.streams[stream]
        del group.streams[stream]
        if not group.streams:
            del self._groups[group.types]


class Connections:
    """The streams of one server. Listeners are told of a node when something about it changed."""

    def __init__(self) -> None:
        self._nodes: dict[NodeKey, _Node] = {}
        """What is asked for is nearly always one node among very many."""
        self._listeners: list[Callable[[NodeKey], None]] = []
        self._attendance: list[Callable[[NodeKey], None]] = []

    def __len__(self) -> int:
        return sum(len(node.streams) for node in self._nodes.values())

    def observe(self, nodes: Iterable[NodeKey] | None = None) -> list[EnvoyObservation]:
        """Return what is known of all Envoys, or of those of some nodes, in order of nodes."""
        chosen = self._nodes if nodes is None else frozenset(nodes)
        return observe_all(
            stream
            for node in chosen
            if (known := self._nodes.get(node)) is not None
            for stream in known.streams
        )

    def groups(self, node: NodeKey) -> Collection[EnvoyGroup]:
        """Return the Envoys of a node by what they have; not to be kept, for they change.

        Takes time for those only that changed since it was asked for last.
        """
        known = self._nodes.get(node)
        return () if known is None else known.groups()

    def nodes(self) -> list[NodeKey]:
        """Return the nodes of all Envoys."""
        return list(self._nodes)

    def shown(self) -> list[ShownCertificate]:
        """Return which certificates all Envoys have shown, in order of nodes."""
        found = (stream.shown() for node in self._nodes.values() for stream in node.streams)
        return sorted(one for one in found if one is not None)

    def listen(self, listener: Callable[[NodeKey], None], *, verdicts: bool = True) -> None:
        """Call a function with a node when an Envoy of it came or went.

        With *verdicts*, also when one accepted or rejected something.
        """
        self._attendance.append(listener)
        if verdicts:
            self._listeners.append(listener)

    def add(self, stream: ObservedStream) -> None:
        """Take in a stream that has said who it is."""
        if stream.node is None:
            return
        self._nodes.setdefault(stream.node, _Node()).add(stream)
        for listener in self._attendance:
            listener(stream.node)

    def remove(self, stream: ObservedStream) -> None:
        """Forget a stream that ended."""
        known = self._nodes.get(stream.node) if stream.node is not None else None
        if stream.node is None or known is None or stream not in known.streams:
            return
        known.remove(stream)
        if not known.streams:
            del self._nodes[stream.node]
        for listener in self._attendance:
            listener(stream.node)

    def outdated(self, stream: ObservedStream) -> None:
        """Take note that a stream may have something else than when it was looked at last."""
        known = self._nodes.get(stream.node) if stream.node is not None else None
        if known is not None and stream in known.streams:
            known.outdated.add(stream)

    def judged(self, stream: ObservedStream) -> None:
        """Call the listeners with the node of a stream that accepted or rejected something."""
        if stream.node is not None:
            for listener in self._listeners:
                listener(stream.node)


def observe_all(streams: Iterable[ObservedStream]) -> list[EnvoyObservation]:
    """Return what is known of streams, in order of nodes."""
    found = (stream.observe() for stream in streams)
    return sorted(
        (one for one in found if one is not None), key=attrgetter("node", "since", "peer")
    )

"""What is known of the connected Envoys, node by node."""

from datetime import timedelta

from tests.support.xds.models import NOW

from certwright.xds.observations import Connections, EnvoyObservation, ShownCertificate
from certwright.xds.protocol.observation import Standings, TypeStanding
from certwright.xds.snapshot import NodeKey
from certwright.xds.typeurls import CLUSTER

A, B = NodeKey("shop", "a"), NodeKey("shop", "b")


class Stream:
    def __init__(self, node: NodeKey | None, peer: str) -> None:
        self.node = node
        self.peer = peer
        self.held = ""
        self.looks = 0

    def shown(self) -> ShownCertificate | None:
        return ShownCertificate(self.node, self.peer, "1") if self.node else None

    def observe(self) -> EnvoyObservation | None:
        if self.node is None:
            return None
        return EnvoyObservation(
            self.node, self.peer, "1", NOW + timedelta(days=1), NOW, "envoy", delta=False, types=()
        )

    def standings(self) -> Standings:
        self.looks += 1
        return (TypeStanding(CLUSTER, self.held, 1, accepted=True, rejected=""),)


def held(connections: Connections, node: NodeKey) -> dict[str, int]:
    return {one.types[0].held: len(one.streams) for one in connections.groups(node)}


def test_envoys_are_found_by_their_node_and_in_order() -> None:
    connections = Connections()
    streams = [Stream(B, "3"), Stream(A, "2"), Stream(A, "1")]
    for stream in streams:
        connections.add(stream)
    assert [one.peer for one in connections.observe()] == ["1", "2", "3"]
    assert [one.peer for one in connections.observe([A])] == ["1", "2"]
    assert [one.peer for one in connections.observe([B, B])] == ["3"]
    assert connections.observe([NodeKey("other", "a")]) == []
    assert [one.peer for one in connections.shown()] == ["1", "2", "3"]
    assert len(connections) == 3


def test_each_stream_counts_once_and_is_forgotten_once() -> None:
    connections, told = Connections(), list[NodeKey]()
    connections.listen(told.append)
    stream = Stream(A, "1")
    connections.add(stream)
    connections.add(stream)
    assert len(connections) == 1
    connections.remove(stream)
    connections.remove(stream)
    assert (len(connections), connections.observe([A])) == (0, [])
    assert told == [A, A, A]


def test_a_stream_that_has_not_said_who_it_is_is_not_known() -> None:
    connections = Connections()
    unknown = Stream(None, "1")
    connections.add(unknown)
    connections.remove(unknown)
    assert (len(connections), connections.observe()) == (0, [])


def test_of_thousands_only_those_that_changed_are_looked_at() -> None:
    connections = Connections()
    streams = [Stream(A, str(number)) for number in range(1000)]
    for stream in streams:
        connections.add(stream)
    assert held(connections, A) == {"": 1000}
    for stream in streams[:10]:
        stream.held = "v1"
        connections.outdated(stream)
        connections.outdated(stream)
    assert held(connections, A) == {"": 990, "v1": 10}
    assert held(connections, A) == {"": 990, "v1": 10}
    assert sum(stream.looks for stream in streams) == 1010


def test_a_stream_that_ended_is_in_no_group() -> None:
    connections, stream, other = Connections(), Stream(A, "1"), Stream(A, "2")
    for one in (stream, other):
        connections.add(one)
    connections.outdated(stream)
    connections.remove(stream)
    connections.outdated(stream)
    assert held(connections, A) == {"": 1}
    connections.remove(other)
    connections.outdated(other)
    assert list(connections.groups(A)) == []


def test_those_who_ask_for_arrivals_are_not_told_of_verdicts() -> None:
    connections, all_news, arrivals = Connections(), list[NodeKey](), list[NodeKey]()
    connections.listen(all_news.append)
    connections.listen(arrivals.append, verdicts=False)
    stream = Stream(A, "1")
    connections.add(stream)
    connections.judged(stream)
    connections.remove(stream)
    assert (all_news, arrivals) == ([A, A, A], [A, A])

"""What is known of the connected Envoys, node by node."""

from datetime import timedelta

from tests.support.xds.models import NOW

from certwright.xds.observations import Connections, EnvoyObservation, ShownCertificate
from certwright.xds.snapshot import NodeKey

A, B = NodeKey("shop", "a"), NodeKey("shop", "b")


class Stream:
    def __init__(self, node: NodeKey | None, peer: str) -> None:
        self.node = node
        self.peer = peer

    def shown(self) -> ShownCertificate | None:
        return ShownCertificate(self.node, self.peer, "1") if self.node else None

    def observe(self) -> EnvoyObservation | None:
        if self.node is None:
            return None
        return EnvoyObservation(
            self.node, self.peer, "1", NOW + timedelta(days=1), NOW, "envoy", delta=False, types=()
        )


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

"""What is observed of a stream, while its turn to send comes later than a look at it."""

from datetime import timedelta

import pytest
from tests.support.xds.models import NOW, snapshot

from certwright.clock import SYSTEM
from certwright.runtime import Metrics
from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import GrpcCall
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections, EnvoyObservation
from certwright.xds.protocol.requests import NodeInfo, StateRequest
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.services.discovery import DiscoveryCall, DiscoveryHost, StreamKind
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import ENDPOINTS

NODE = NodeKey("shop", "gateway")
ASKED = StateRequest(ENDPOINTS, frozenset({"x"}), node=NodeInfo(NODE.node_id))


class Talk:
    """One call, whose requests are handed over as they are."""

    def __init__(self) -> None:
        self._requests: list[StateRequest] = []
        self.snapshots = SnapshotStore()
        host = DiscoveryHost(self.snapshots, Connections(), XdsMetrics(Metrics()), SYSTEM)
        kind = StreamKind(StateStream, lambda _data: self._requests.pop(), delta=False)
        identity = ClientIdentity("envoys", NODE.namespace, "1", NOW + timedelta(days=1))
        call = GrpcCall(1, "/", "10.0.0.1:1", lambda _call: None, 1024)
        self.call = DiscoveryCall(host, kind, call, identity)

    def ask(self, request: StateRequest) -> None:
        self._requests.append(request)
        self.call.receive(b"")

    def seen(self) -> EnvoyObservation:
        found = self.call.observe()
        assert found is not None
        return found


@pytest.mark.parametrize("looks_between", [False, True])
def test_a_change_of_what_was_not_asked_for_leaves_a_client_in_sync(*, looks_between: bool) -> None:
    talk = Talk()
    talk.snapshots.put(NODE, snapshot(ENDPOINTS, x="1", y="1"))
    talk.ask(ASKED)
    assert talk.call.next_message() is not None
    talk.ask(ASKED._replace(nonce="1"))
    assert talk.seen().in_sync
    talk.snapshots.put(NODE, snapshot(ENDPOINTS, x="1", y="2"))
    if looks_between:
        talk.seen()
    assert talk.call.next_message() is None
    assert talk.seen().in_sync

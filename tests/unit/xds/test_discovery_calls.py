"""What is observed of a stream, while its turn to send comes later than a look at it."""

import random
from datetime import timedelta

import pytest
from tests.support.xds.models import NOW, snapshot

from certwright.clock import SYSTEM
from certwright.runtime import Metrics
from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import GrpcCall
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections, EnvoyObservation
from certwright.xds.protocol.observation import SyncState
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
        self.connections = Connections()
        host = DiscoveryHost(self.snapshots, self.connections, XdsMetrics(Metrics()), SYSTEM)
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


def grouped(seen: EnvoyObservation) -> list[tuple[str, str, int, bool, str]]:
    """Return what is told of a client together with others, from what is known of it alone."""
    return [
        (
            one.type_url,
            one.held,
            one.resources,
            one.state is SyncState.ACKNOWLEDGED,
            one.rejected if one.state is SyncState.REJECTED else "",
        )
        for one in seen.types
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_group_tells_what_is_known_of_each_client_in_it(seed: int) -> None:
    rng, talk = random.Random(seed), Talk()  # noqa: S311 - repeatable
    talk.ask(ASKED)
    nonce = 0
    for step in range(60):
        match rng.randrange(5):
            case 0:
                found = {name: str(rng.randrange(step + 1)) for name in ("x", "y")}
                talk.snapshots.put(NODE, snapshot(ENDPOINTS, **found))
            case 1 | 2:
                nonce += talk.call.next_message() is not None
            case 3:
                talk.ask(ASKED._replace(nonce=str(nonce)))
            case _:
                talk.ask(ASKED._replace(nonce=str(nonce), error="no"))
        nonce += talk.call.next_message() is not None
        if rng.random() < 0.5:
            [group] = talk.connections.groups(NODE)
            assert list(group.types) == grouped(talk.seen())

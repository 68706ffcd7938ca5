"""What is observed of a stream, while its turn to send comes later than a look at it."""

import random
from datetime import timedelta

import pytest
from tests.support.xds.models import NOW, a, snapshot

from certwright.clock import SYSTEM
from certwright.runtime import Metrics
from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import GrpcCall
from certwright.xds.messages import DiscoveryResponse
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections, EnvoyObservation
from certwright.xds.protocol.acceptances import RequestForm
from certwright.xds.protocol.observation import SyncState
from certwright.xds.protocol.requests import NodeInfo, StateRequest
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.services.discovery import DiscoveryCall, DiscoveryHost, StreamKind
from certwright.xds.snapshot import NodeKey, NodeSnapshot
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import CLUSTER, ENDPOINTS

NODE = NodeKey("shop", "gateway")
ASKED = StateRequest(ENDPOINTS, frozenset({"x"}), node=NodeInfo(NODE.node_id))
ALSO_ASKED = StateRequest(CLUSTER)


class Talk:
    """One call, whose requests are handed over as they are."""

    def __init__(self) -> None:
        self._requests: list[StateRequest] = []
        form = RequestForm(lambda _data: self._requests.pop(), nonce_field=5)
        self.snapshots = SnapshotStore()
        self.connections = Connections()
        host = DiscoveryHost(self.snapshots, self.connections, XdsMetrics(Metrics()), SYSTEM)
        kind = StreamKind(StateStream, form, delta=False)
        identity = ClientIdentity("envoys", NODE.namespace, "1", NOW + timedelta(days=1))
        call = GrpcCall(1, "/", "10.0.0.1:1", lambda _call: None, 1024)
        self.call = DiscoveryCall(host, kind, call, identity)

    def ask(self, request: StateRequest) -> None:
        self._requests.append(request)
        self.call.receive(b"")

    def answer(self, nonces: dict[str, int]) -> None:
        """Let the call send, and take note of the nonce of each type."""
        while (parts := self.call.next_message()) is not None:
            response = DiscoveryResponse.FromString(b"".join(parts))
            nonces[response.type_url] = int(response.nonce)

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
    talk.ask(ALSO_ASKED)
    nonces = {ENDPOINTS: 0, CLUSTER: 0}
    for step in range(80):
        asked = rng.choice([ASKED, ALSO_ASKED])
        match rng.randrange(5):
            case 0:
                found = [
                    a(url, name, str(rng.randrange(step // 4 + 1)))
                    for url in nonces
                    for name in ("x", "y")
                ]
                talk.snapshots.put(NODE, NodeSnapshot.of(found[rng.randrange(3) :]))
            case 1 | 2:
                talk.answer(nonces)
            case 3:
                talk.ask(asked._replace(nonce=str(nonces[asked.type_url])))
            case _:
                talk.ask(asked._replace(nonce=str(nonces[asked.type_url]), error="no"))
        if rng.random() < 0.5:
            seen = talk.seen()  # which takes the newest snapshot, as its turn to send would
            [group] = talk.connections.groups(NODE)
            assert list(group.types) == grouped(seen)


def test_a_call_with_nothing_to_send_says_so() -> None:
    talk = Talk()
    assert not talk.call.has_news()
    talk.ask(ASKED)
    talk.snapshots.put(NODE, snapshot(ENDPOINTS, x="1"))
    assert talk.call.has_news()
    assert talk.call.next_message() is not None
    assert not talk.call.has_news()
    talk.ask(ASKED._replace(nonce="1"))
    assert not talk.call.has_news()
    talk.call.half_closed()
    assert talk.call.has_news(), "its end is"

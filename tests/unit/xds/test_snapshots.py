"""Snapshots: encoded once, shared, compared by content, silent about what is in them."""

from tests.support.xds.models import a, snapshot

from certwright.xds.messages import DiscoveryResponse
from certwright.xds.snapshot import NodeKey, NodeSnapshot, ResourceSet, resource
from certwright.xds.store import SnapshotStore
from certwright.xds.typeurls import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    PUSH_ORDER,
    ROUTES,
    RUNTIME,
    SECRET,
)

KEY = NodeKey("shop", "gateway")


def test_a_set_is_encoded_as_protocol_buffers_are() -> None:
    found = ResourceSet(CLUSTER, [a(CLUSTER, "b", "2" * 300), a(CLUSTER, "a", "1")], "v1")
    message = DiscoveryResponse.FromString(found.all.body)
    assert message.version_info == "v1"
    assert message.type_url == CLUSTER
    assert [one.value for one in message.resources] == [b"1", b"2" * 300]
    # What we put together by hand is byte for byte what the library makes of the same message.
    assert message.SerializeToString() == found.all.body


def test_a_selection_is_encoded_once() -> None:
    found = ResourceSet(SECRET, [a(SECRET, "a", "1"), a(SECRET, "b", "2")])
    assert found.select(frozenset("a")) is found.select(frozenset({"a"}))
    assert found.select(frozenset({"a", "missing"})).versions == {"a": "1"}
    for number in range(1000):  # names come from clients: their number must not grow memory
        found.select(frozenset({f"name-{number}"}))
    assert len(found._selections) <= 32


def test_versions_follow_contents() -> None:
    first = resource(SECRET, "a", b"one")
    assert resource(SECRET, "a", b"one") == first
    assert resource(SECRET, "a", b"two").version != first.version
    by_first = NodeSnapshot.of([first, a(SECRET, "b", "2")]).types[SECRET]
    assert by_first.version == NodeSnapshot.of([a(SECRET, "b", "2"), first]).types[SECRET].version
    assert by_first.version != NodeSnapshot.of([first]).types[SECRET].version


def test_types_are_in_the_order_of_pushes() -> None:
    assert [one for one in PUSH_ORDER if one in {CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, RUNTIME}] == [
        CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, RUNTIME,
    ]  # fmt: skip
    found = NodeSnapshot.of([a("other", "x", "1"), a(RUNTIME, "x", "1"), a(CLUSTER, "x", "1")])
    assert list(found.types) == [CLUSTER, RUNTIME, "other"]


def test_no_repr_shows_what_is_in_a_resource() -> None:
    secret = resource(SECRET, "a", b"PRIVATE KEY")
    assert "PRIVATE" not in repr(secret) + repr(NodeSnapshot.of([secret]))


def test_equal_sets_of_an_earlier_snapshot_are_kept() -> None:
    store = SnapshotStore()
    store.put(KEY, NodeSnapshot.of([a(CLUSTER, "x", "1"), a(SECRET, "s", "1")]))
    before = store.get(KEY)
    assert before is not None
    assert store.put(KEY, NodeSnapshot.of([a(CLUSTER, "x", "1"), a(SECRET, "s", "2")]))
    after = store.get(KEY)
    assert after is not None
    assert after.types[CLUSTER] is before.types[CLUSTER]
    assert after.types[SECRET] is not before.types[SECRET]


def test_only_streams_of_the_node_are_told_of_a_change() -> None:
    store = SnapshotStore()
    told: list[NodeSnapshot | None] = []
    listener = told.append
    store.listen(KEY, listener)
    store.put(NodeKey("other", "gateway"), snapshot(CLUSTER, x="1"))
    assert told == []
    mine = snapshot(CLUSTER, x="2")
    assert store.put(KEY, mine)
    assert not store.put(KEY, snapshot(CLUSTER, x="2"))
    assert told == [mine]
    store.remove(KEY)
    assert told == [mine, None]
    store.unlisten(KEY, listener)
    store.put(KEY, mine)
    assert told == [mine, None]


def test_owners_of_a_node_id_are_known_while_they_have_a_snapshot() -> None:
    store = SnapshotStore()
    other = NodeKey("other", "gateway")
    store.put(KEY, snapshot(CLUSTER, x="1"))
    store.put(other, snapshot(CLUSTER, x="1"))
    assert store.owners("gateway") == {"shop", "other"}
    assert (len(store), set(store)) == (2, {KEY, other})
    store.remove(KEY)
    store.remove(KEY)
    assert store.owners("gateway") == {"other"}
    store.remove(other)
    assert store.owners("gateway") == frozenset()


def test_asking_for_many_nodes_leaves_nothing_behind() -> None:
    store = SnapshotStore()
    for number in range(100):
        key = NodeKey("shop", f"node-{number}")

        def listener(_: NodeSnapshot | None) -> None: ...

        store.listen(key, listener)
        store.unlisten(key, listener)
    assert store._places == {}

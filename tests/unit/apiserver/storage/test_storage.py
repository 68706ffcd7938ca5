"""The history of a collection against a naive model: all states, kept."""

from hypothesis import given
from hypothesis import strategies as st

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.apiserver.storage.storage import ChangeType, Collection, Storage
from certwright.kube.kinds import ConfigMap

KIND = ServedKind(ConfigMap, Schema(), "configmap", "ConfigMapList")
KEYS = ["a/x", "a/y", "a-b/x", "b/x", "x"]

writes = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["put", "remove"])), max_size=30)


def carry_out(
    steps: list[tuple[str, str]],
) -> tuple[Storage, Collection, dict[int, dict[str, int]]]:
    """Return the storage, and the keys and values after each write by its number."""
    storage = Storage(revision=100, history_limit=1000, history_bytes=2**20)
    collection = storage.collection("", "configmaps")
    state: dict[str, int] = {}
    states: dict[int, dict[str, int]] = {100: {}}
    for key, action in steps:
        record = collection.get(key)
        if action == "put":
            namespace, _, name = key.rpartition("/")
            obj = {"metadata": {"name": name, "namespace": namespace}, "data": storage.revision}
            state = {**state, key: storage.revision}
            storage.put(collection, key, KIND, obj)
        elif record is not None:
            state = {k: v for k, v in state.items() if k != key}
            storage.remove(collection, record)
        states[storage.revision] = state
    return storage, collection, states


@given(writes)
def test_every_past_state_can_be_read(steps: list[tuple[str, str]]) -> None:
    _, collection, states = carry_out(steps)

    for revision, state in states.items():
        seen = {record.key: record.obj["data"] for record in collection.records_at(revision)}
        assert seen == state
        assert list(seen) == sorted(seen)


@given(writes)
def test_changes_lead_from_any_state_to_the_present(steps: list[tuple[str, str]]) -> None:
    storage, collection, states = carry_out(steps)

    for revision, state in states.items():
        now = dict(state)
        for change in collection.changes_since(revision):
            if change.type is ChangeType.DELETED:
                del now[change.record.key]
            else:
                assert (change.type is ChangeType.ADDED) is (change.record.key not in now)
                now[change.record.key] = change.record.obj["data"]
        assert now == states[storage.revision]


@given(writes, st.sampled_from(["a/", "a-b/", "b/"]), st.sampled_from(["", "a/y", "b/x"]))
def test_parts_are_read_in_order(steps: list[tuple[str, str]], prefix: str, start: str) -> None:
    _, collection, states = carry_out(steps)
    last = states[max(states)]

    seen = [record.key for record in collection.records(prefix, start)]

    assert seen == sorted(key for key in last if key.startswith(prefix) and key >= start)


@given(writes, st.integers(min_value=1, max_value=5))
def test_history_is_bounded(steps: list[tuple[str, str]], limit: int) -> None:
    storage = Storage(revision=100, history_limit=limit, history_bytes=2**20)
    collection = storage.collection("", "configmaps")
    for key, _ in steps:
        storage.put(collection, key, KIND, {"metadata": {"name": key}})

    assert len(collection.changes_since(0)) <= 2 * limit
    assert len(collection.changes_since(collection.floor)) == len(collection.changes_since(0))


def put(storage: Storage, plural: str, name: str, size: int = 100) -> None:
    obj = {"metadata": {"name": name}, "data": "x" * size}
    storage.put(storage.collection("", plural), name, KIND, obj)


def test_the_history_of_all_resources_is_bounded_in_bytes() -> None:
    storage = Storage(revision=100, history_limit=10**6, history_bytes=100_000)
    put(storage, "idle", "a")
    since = storage.revision
    for number in range(1_000):
        put(storage, "busy", f"b-{number % 3}", size=1_000)
    busy, idle = storage.collection("", "busy"), storage.collection("", "idle")
    kept = busy.changes_since(0)

    assert 40 < len(kept) < 75, "of about 1,500 bytes each, three quarters to all of the bytes"
    assert kept[-1].revision == storage.revision
    assert busy.floor == busy.trimmed == kept[0].revision - 1
    assert idle.changes_since(since) == []
    assert idle.floor <= since, "readers of what did not change can still continue"


def test_deletions_count_in_the_history() -> None:
    storage = Storage(revision=100, history_limit=10**6, history_bytes=100_000)
    collection = storage.collection("", "configmaps")
    for _ in range(500):
        put(storage, "configmaps", "a", size=5_000)
        record = collection.get("a")
        assert record is not None
        storage.remove(collection, record)

    assert 10 < len(collection.changes_since(0)) < 30


def test_a_version_in_the_history_is_read_as_it_was() -> None:
    storage = Storage(revision=100, history_limit=10, history_bytes=2**20)
    collection = storage.collection("", "configmaps")
    put(storage, "configmaps", "a", size=1)
    first = collection.get("a")
    assert first is not None
    encoded, obj = first.raw, first.copy()
    put(storage, "configmaps", "a", size=2)

    assert first.obj == obj
    assert first.raw == encoded
    assert (first.name, first.obj["data"]) == ("a", "x")

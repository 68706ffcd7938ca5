"""What is remembered about ManagedResources."""

import orjson

from certwright.apply import ObjectRef
from certwright.keep import SetStates
from certwright.keep.state import Fingerprint
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.operators.managedresource.operator import _is_put_off
from certwright.operators.managedresource.state import ResourceState
from certwright.runtime import Entry, Store
from certwright.runtime.cache.decode import EntryDecoder

KEY = Key("shop", "web")
A = ObjectRef("v1", "ConfigMap", "shop", "a")
B = ObjectRef("v1", "ConfigMap", "shop", "b")


def entry(version: int) -> Entry:
    metadata = {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": str(version)}
    return EntryDecoder(ConfigMap).entry(orjson.dumps({"metadata": metadata}))


def store_with(held: Entry) -> Store:
    store = Store(EntryDecoder(ConfigMap))
    store.upsert(held)
    return store


def test_nothing_is_settled_at_first() -> None:
    assert not SetStates(ResourceState).is_settled(KEY)


def test_what_is_settled_stays_so_until_an_entry_changes() -> None:
    states, held = SetStates(ResourceState), entry(1)
    store = store_with(held)
    states.of(KEY).settled = Fingerprint(((store, held),))
    assert states.is_settled(KEY)
    store.upsert(entry(2))
    assert not states.is_settled(KEY)


def test_what_disappears_is_a_change() -> None:
    states, held = SetStates(ResourceState), entry(1)
    store = store_with(held)
    states.of(KEY).settled = Fingerprint(((store, held),))
    store.delete(entry(2))
    assert not states.is_settled(KEY)


def test_facts_that_no_store_shows_unsettle() -> None:
    states = SetStates(ResourceState)
    states.of(KEY).settled = Fingerprint(())
    states.unsettle(KEY)
    assert not states.is_settled(KEY)


def test_a_change_that_needs_no_pass_is_followed() -> None:
    states, held, written = SetStates(ResourceState), entry(1), entry(2)
    store = store_with(held)
    states.follow(KEY, held, written)
    states.of(KEY).settled = Fingerprint(((store, held),))
    store.upsert(written)
    states.follow(KEY, held, written)
    assert states.is_settled(KEY)


def test_no_other_change_is_followed_by_mistake() -> None:
    states, held = SetStates(ResourceState), entry(1)
    store = store_with(held)
    states.of(KEY).settled = Fingerprint(((store, held),))
    store.upsert(entry(2))
    store.upsert(later := entry(3))
    states.follow(KEY, entry(2), later)
    assert not states.is_settled(KEY)


def test_what_lingers_is_told_when_it_changes_and_once_a_minute() -> None:
    state = ResourceState()
    assert state.note_pending(frozenset({(A, ""), (B, "")}), 0.0)
    assert not state.note_pending(frozenset({(A, ""), (B, "")}), 5.0)
    assert state.note_pending(frozenset({(A, "")}), 6.0)
    assert not state.note_pending(frozenset({(A, "")}), 65.0)
    assert state.note_pending(frozenset({(A, "")}), 66.0)


def test_a_failure_is_news_at_once() -> None:
    state = ResourceState()
    state.note_pending(frozenset({(A, "")}), 0.0)
    assert state.note_pending(frozenset({(A, "forbidden")}), 1.0)
    assert not state.note_pending(frozenset({(A, "forbidden")}), 2.0)


def test_what_is_tried_again_later_needs_no_reminder_until_then() -> None:
    states = SetStates(ResourceState)
    assert not _is_put_off(states.known(KEY), 1.0)
    states.of(KEY).retry_at = 5.0
    assert _is_put_off(states.known(KEY), 4.0)
    assert not _is_put_off(states.known(KEY), 5.0)


def test_what_lingers_for_long_is_announced_once() -> None:
    state = ResourceState()
    state.note_pending(frozenset({(A, "")}), 0.0)
    assert not state.is_stuck(59.0)
    assert state.is_stuck(60.0)
    assert not state.is_stuck(61.0)


def test_what_is_forgotten_awaits_no_kind() -> None:
    states = SetStates(ResourceState)
    states.of(KEY).awaits_kinds = True
    assert list(states.awaiting_kinds()) == [KEY]
    states.forget(KEY)
    assert list(states.awaiting_kinds()) == []

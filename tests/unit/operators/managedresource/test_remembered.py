"""What is remembered about ManagedResources."""

import orjson

from certwright.apply import ObjectRef
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.operators.managedresource.state import Memories, Remembered, Settled
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
    assert not Memories().is_settled(KEY)


def test_what_is_settled_stays_so_until_an_entry_changes() -> None:
    memories, held = Memories(), entry(1)
    store = store_with(held)
    memories.of(KEY).settled = Settled(((store, held),))
    assert memories.is_settled(KEY)
    store.upsert(entry(2))
    assert not memories.is_settled(KEY)


def test_what_disappears_is_a_change() -> None:
    memories, held = Memories(), entry(1)
    store = store_with(held)
    memories.of(KEY).settled = Settled(((store, held),))
    store.delete(entry(2))
    assert not memories.is_settled(KEY)


def test_facts_that_no_store_shows_unsettle() -> None:
    memories = Memories()
    memories.of(KEY).settled = Settled(())
    memories.unsettle(KEY)
    assert not memories.is_settled(KEY)


def test_a_change_that_needs_no_pass_is_followed() -> None:
    memories, held, written = Memories(), entry(1), entry(2)
    store = store_with(held)
    memories.follow(KEY, held, written)
    memories.of(KEY).settled = Settled(((store, held),))
    store.upsert(written)
    memories.follow(KEY, held, written)
    assert memories.is_settled(KEY)


def test_no_other_change_is_followed_by_mistake() -> None:
    memories, held = Memories(), entry(1)
    store = store_with(held)
    memories.of(KEY).settled = Settled(((store, held),))
    store.upsert(entry(2))
    store.upsert(later := entry(3))
    memories.follow(KEY, entry(2), later)
    assert not memories.is_settled(KEY)


def test_what_lingers_is_told_when_it_changes_and_once_a_minute() -> None:
    remembered = Remembered()
    assert remembered.lingers(frozenset({(A, ""), (B, "")}), 0.0)
    assert not remembered.lingers(frozenset({(A, ""), (B, "")}), 5.0)
    assert remembered.lingers(frozenset({(A, "")}), 6.0)
    assert not remembered.lingers(frozenset({(A, "")}), 65.0)
    assert remembered.lingers(frozenset({(A, "")}), 66.0)


def test_a_failure_is_news_at_once() -> None:
    remembered = Remembered()
    remembered.lingers(frozenset({(A, "")}), 0.0)
    assert remembered.lingers(frozenset({(A, "forbidden")}), 1.0)
    assert not remembered.lingers(frozenset({(A, "forbidden")}), 2.0)


def test_what_is_tried_again_later_needs_no_reminder_until_then() -> None:
    memories = Memories()
    assert not memories.is_put_off(KEY, 1.0)
    memories.of(KEY).retry_at = 5.0
    assert memories.is_put_off(KEY, 4.0)
    assert not memories.is_put_off(KEY, 5.0)


def test_what_lingers_for_long_is_announced_once() -> None:
    remembered = Remembered()
    remembered.lingers(frozenset({(A, "")}), 0.0)
    assert not remembered.is_stuck(59.0)
    assert remembered.is_stuck(60.0)
    assert not remembered.is_stuck(61.0)


def test_what_is_forgotten_awaits_no_kind() -> None:
    memories = Memories()
    memories.of(KEY).awaits_kinds = True
    assert list(memories.awaiting_kinds()) == [KEY]
    memories.forget(KEY)
    assert list(memories.awaiting_kinds()) == []

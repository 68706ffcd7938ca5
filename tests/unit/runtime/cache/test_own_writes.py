"""What this process wrote is marked, and can be told from what others did."""

import json
from typing import Any

import pytest

from certwright.client import Client
from certwright.kube import Conflict, Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime.cache.cache import Cache
from certwright.runtime.cache.decode import EntryDecoder
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.store import THIS_PROCESS, Store
from certwright.testkit.time.virtual import VirtualLoop

KEY = Key("shop", "a")


def raw(version: int, uid: str = "uid-a") -> bytes:
    metadata = {
        "name": KEY.name,
        "namespace": KEY.namespace,
        "uid": uid,
        "resourceVersion": str(version),
    }
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).encode()


def config(version: int) -> Entry:
    return EntryDecoder(ConfigMap).entry(raw(version))


@pytest.fixture
def store() -> Store:
    return Store(EntryDecoder(ConfigMap))


def writer(store: Store) -> int:
    entry = store.get(KEY)
    assert entry is not None
    return entry.writer


def test_a_write_marks_its_entry_until_others_change_the_object(store: Store) -> None:
    assert store.note_write(raw(2))
    assert writer(store) == THIS_PROCESS
    store.upsert(config(2))
    assert writer(store) == THIS_PROCESS, "the event of the write itself"
    store.replace([config(2)], 5)
    assert writer(store) == THIS_PROCESS, "a list that shows the same"
    store.upsert(config(6))
    assert writer(store) == 0


def test_the_mark_names_the_writer(store: Store) -> None:
    store.note_write(raw(2), 7)
    store.note_write(raw(2), 8)
    assert writer(store) == 7, "a later write that changed nothing"


def test_an_event_that_was_faster_than_the_response_is_marked_afterwards(store: Store) -> None:
    store.upsert(config(2))
    assert store.note_write(raw(2), 7)
    assert writer(store) == 7


def test_a_write_that_others_have_replaced_already_is_not_what_the_store_holds(
    store: Store,
) -> None:
    store.upsert(config(3))
    assert not store.note_write(raw(2))
    assert writer(store) == 0


def test_a_listener_may_be_spared_what_this_process_does(store: Store) -> None:
    seen: list[tuple[bool, bool]] = []
    stop = store.listen(lambda old, new: seen.append((bool(old), bool(new))), own_writes=False)
    store.note_write(raw(2))
    store.note_delete(KEY, "uid-a")
    assert not seen
    store.upsert(EntryDecoder(ConfigMap).entry(raw(4, uid="uid-b")))
    store.note_delete(KEY, "uid-b", own=False)
    assert seen == [(False, True), (True, False)]
    stop()
    store.upsert(EntryDecoder(ConfigMap).entry(raw(6, uid="uid-c")))
    assert len(seen) == 2


async def confirmed(cache: Cache, **given: Any) -> bool:
    try:
        await cache.confirm(ConfigMap, KEY, **{"uid": "uid-a", "version": "2"} | given)
    except Conflict:
        return False
    return True


async def test_confirming_asks_the_server(server: Any, virtual_loop: VirtualLoop) -> None:
    cache = Cache(Client(server))
    store = cache.store(ConfigMap).store
    store.upsert(config(2))
    for found in (2, 3, 4):
        server.watch(raw(found))
    assert await confirmed(cache)
    assert not await confirmed(cache)
    assert store.get(KEY) is not None, "the store has what was read"
    assert writer(store) == 0
    cache.note_write(ConfigMap, raw(4), writer=7)
    assert await confirmed(cache, writer=7), "a later state, which this writer wrote"


async def test_confirming_finds_that_an_object_is_gone(
    server: Any, virtual_loop: VirtualLoop
) -> None:
    cache = Cache(Client(server))
    store = cache.store(ConfigMap).store
    store.upsert(config(2))
    server.refuse(404, "NotFound")
    assert not await confirmed(cache)
    assert KEY not in store
    store.upsert(EntryDecoder(ConfigMap).entry(raw(3, uid="uid-b")))
    server.watch(raw(4, uid="uid-c"))
    assert not await confirmed(cache, uid="uid-b", version="3"), "another object of the name"
    entry = store.get(KEY)
    assert entry is not None
    assert entry.uid == "uid-c"

"""A watch in good weather: lists, events, bookmarks, renewals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest

from certwright.client import Client, Selection
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key
from certwright.runtime.cache.decode import EntryDecoder
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.state import WatchState
from certwright.runtime.cache.store import Store
from certwright.runtime.cache.watch import Watch
from certwright.runtime.queue.backoff import Backoff, new_rng
from certwright.testkit.time.virtual import VirtualLoop


def state_of(watch: Watch) -> WatchState:
    """Return the state as it is now: mypy takes an attribute once checked for settled."""
    return watch.state


@pytest.fixture
def watch(server: Any) -> Watch:
    backoff = Backoff(base_seconds=0.1, cap_seconds=30, rng=new_rng(1))
    selection = Selection("shop", "app=x", "")
    return Watch(Client(server), Store(EntryDecoder(ConfigMap)), selection, backoff=backoff)


@asynccontextmanager
async def running(watch: Watch) -> AsyncIterator[Store]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch.run())
        try:
            yield watch.store
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def versions(store: Store) -> dict[str, str]:
    return {entry.key.name: entry.meta.resource_version for entry in store.items()}


async def test_it_starts_with_a_streaming_list(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 3), lines.added("b", 5), lines.end_of_list(7), hangs=True)
    assert state_of(watch) is WatchState.INITIAL
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "3", "b": "5"}
        assert watch.status().resource_version == "7"
        assert state_of(watch) is WatchState.WATCHING
        assert watch.status().lists == 1
    (_, verb, query), *_ = server.asked
    assert verb == "watch"
    assert 300 <= int(query.pop("timeoutSeconds")) <= 600
    assert query == {
        "watch": "true",
        "labelSelector": "app=x",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }


async def test_nothing_shows_before_the_list_is_complete(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(
        lines.added("a", 3), 5.0, lines.modified("a", 4), lines.added("b", 5),
        lines.deleted("b", 6), 5.0, lines.end_of_list(7), hangs=True,
    )  # fmt: skip
    heard: list[str] = []
    watch.store.listen(lambda old, new: heard.append(f"{old}{new and new.key.name}"))
    async with running(watch) as store:
        await asyncio.sleep(7)
        assert state_of(watch) is WatchState.STREAMING
        assert (len(store), store.synced, heard) == (0, False, [])
        await watch.synced()
        assert versions(store) == {"a": "4"}
        assert heard == ["Nonea"]


async def test_listeners_can_tell_the_first_list_from_changes(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 3), lines.end_of_list(3), 1.0, lines.modified("a", 4), hangs=True)
    synced: list[bool] = []
    watch.store.listen(lambda _old, _new: synced.append(watch.store.synced))
    async with running(watch):
        await asyncio.sleep(2)
    assert synced == [False, True]


async def test_events_follow_the_list(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(
        lines.added("a", 3) + lines.end_of_list(3) + lines.added("b", 4),
        lines.modified("a", 5)[:20], lines.modified("a", 5)[20:],
        lines.deleted("b", 6), hangs=True,
    )  # fmt: skip
    async with running(watch) as store:
        await asyncio.sleep(1)
        assert versions(store) == {"a": "5"}
        found = store.get(Key("shop", "a"))
        assert found is not None
        assert found.obj()["data"] == {"n": "5"}
        assert watch.status().resource_version == "6"


async def test_a_watch_is_renewed_from_the_last_bookmark(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 3), lines.end_of_list(7), 50.0, lines.bookmark(20), 50.0)
    server.watch(lines.modified("a", 21), hangs=True)
    async with running(watch) as store:
        await asyncio.sleep(101)
        assert versions(store) == {"a": "21"}
        assert state_of(watch) is WatchState.WATCHING
    assert server.kinds_of_request == ["stream", "watch@20"]
    assert server.times[1] - 100 <= 0.1


async def test_an_hour_of_bookmarks_on_one_connection(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    minutes = [part for n in range(60) for part in (60.0, lines.bookmark(100 + n))]
    server.watch(lines.end_of_list(7), *minutes, hangs=True)
    async with running(watch):
        await asyncio.sleep(3605)
        assert watch.status().silent_seconds == 5
    assert len(server.asked) == 1


async def test_late_and_repeated_events_move_nothing_back(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(
        lines.added("a", 3), lines.end_of_list(7), lines.modified("a", 20),
        lines.modified("a", 20), lines.modified("a", 9), lines.deleted("a", 8), 20.0,
    )  # fmt: skip
    async with running(watch) as store:
        await asyncio.sleep(21)
        assert versions(store) == {"a": "20"}
    assert server.kinds_of_request == ["stream", "watch@20"]


async def test_it_takes_metadata_only_when_asked_to(
    server: Any, lines: Any, virtual_loop: VirtualLoop
) -> None:
    store = Store(EntryDecoder(ConfigMap, metadata_only=True))
    watch = Watch(Client(server), store, Selection())
    server.refuse(400, "BadRequest")
    server.listing(version=5)
    async with running(watch):
        await watch.synced()
        await asyncio.sleep(1)
    accepts = [headers["accept"] for headers in server.headers]
    assert "as=PartialObjectMetadata;" in accepts[0]
    assert "as=PartialObjectMetadataList;" in accepts[1]
    assert "as=PartialObjectMetadata;" in accepts[2]


async def test_our_writes_are_settled_by_the_progress_of_the_watch(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 3), lines.end_of_list(7), 5.0, lines.bookmark(12), hangs=True)
    async with running(watch) as store:
        await watch.synced()
        store.note_write(lines.modified("a", 11)[28:-2])
        assert store.pending == 1
        await asyncio.sleep(6)
        assert store.pending == 0
        assert versions(store) == {"a": "11"}


async def test_bookmarks_settle_deletions_whose_event_is_lost(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(
        lines.added("a", 3), lines.end_of_list(7), 60.0, lines.bookmark(8), 60.0,
        lines.bookmark(9), hangs=True,
    )  # fmt: skip
    async with running(watch) as store:
        await watch.synced()
        store.note_delete(Key("shop", "a"), "uid-a")
        await asyncio.sleep(61)
        assert store.pending == 1
        await asyncio.sleep(60)
        assert store.pending == 0


@pytest.mark.parametrize("paged", [False, True])
async def test_a_list_settles_our_writes(
    server: Any, lines: Any, item: Any, watch: Watch, virtual_loop: VirtualLoop, *, paged: bool
) -> None:
    server.watch(lines.added("a", 3), lines.end_of_list(7), 5.0, lines.error(410, "Expired"))
    if paged:
        server.refuse(400, "BadRequest")
        server.listing(item("a", 11), version=12)
    else:
        server.watch(lines.added("a", 11), lines.end_of_list(12), hangs=True)
    async with running(watch) as store:
        await watch.synced()
        store.note_write(lines.modified("a", 11)[28:-2])
        assert store.pending == 1
        await asyncio.sleep(7)
        assert store.pending == 0


@pytest.mark.parametrize("paged", [False, True])
async def test_a_large_list_leaves_the_loop_to_others(
    server: Any, lines: Any, item: Any, virtual_loop: VirtualLoop, *, paged: bool
) -> None:
    """Whatever arrives at once is taken in piecemeal, and so is the news to listeners."""
    if paged:
        server.refuse(400, "BadRequest")
        server.listing(*(item(f"n{n}", n + 1) for n in range(5000)), version=5000)
    else:
        everything = b"".join(lines.added(f"n{n}", n + 1) for n in range(5000))
        server.watch(everything + lines.end_of_list(5000), hangs=True)
    taken: list[int] = []
    told: list[Entry | None] = []
    begun = asyncio.Event()

    def count(raw: bytes) -> bytes:
        taken.append(1)
        begun.set()
        return raw

    watch = Watch(Client(server), Store(EntryDecoder(ConfigMap, transform=count)), Selection())
    watch.store.listen(lambda _old, new: told.append(new))
    steps = [(0, 0)]
    async with running(watch) as store:
        await begun.wait()
        while not store.synced:
            steps.append((len(taken), len(told)))
            await asyncio.sleep(0)
    steps.append((len(taken), len(told)))
    assert steps[-1] == (5000, 5000)
    assert max(after[0] - before[0] for before, after in pairwise(steps)) < 250
    assert max(after[1] - before[1] for before, after in pairwise(steps)) < 250

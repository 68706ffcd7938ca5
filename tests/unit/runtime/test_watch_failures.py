"""A watch in bad weather: every failure is a state, waits longer each time, and ends nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest

from certwright.client import Client, ConnectFailed, ConnectionLost, Selection
from certwright.kube.kinds import ConfigMap
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
    return Watch(Client(server), Store(EntryDecoder(ConfigMap)), Selection("shop"), backoff=backoff)


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


# Lists


@pytest.mark.parametrize(("code", "reason"), [(400, "BadRequest"), (422, "Invalid")])
async def test_a_server_that_does_not_stream_is_listed_in_pages_from_then_on(
    server: Any,
    lines: Any,
    item: Any,
    watch: Watch,
    virtual_loop: VirtualLoop,
    code: int,
    reason: str,
) -> None:
    server.refuse(code, reason, "sendInitialEvents is forbidden")
    server.listing(item("a", 1), item("b", 2), version=9, token="more")
    server.listing(item("c", 3), version=9)
    server.watch(lines.error(410, "Expired"))
    server.listing(item("c", 3), version=20)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "1", "b": "2", "c": "3"}
        await asyncio.sleep(60)
        assert versions(store) == {"c": "3"}
    assert server.kinds_of_request == ["stream", "list", "list", "watch@9", "list", "watch@20"]
    first, second = server.asked[1][2], server.asked[2][2]
    assert first == {"limit": "500"}
    assert second == {"limit": "500", "continue": "more"}


async def test_a_server_that_ignores_the_request_to_stream_is_listed_in_pages(
    server: Any, lines: Any, item: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), 60.0, lines.bookmark(1), hangs=True)
    server.listing(item("a", 1), version=9)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "1"}
    assert server.kinds_of_request == ["stream", "list", "watch@9"]


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_server_that_never_completes_a_stream_is_listed_in_pages(
    server: Any, lines: Any, item: Any, watch: Watch, virtual_loop: VirtualLoop, *, hangs: bool
) -> None:
    for _ in range(3):
        server.watch(lines.added("a", 1), hangs=hangs)
    server.listing(item("a", 1), version=9)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "1"}
    assert server.kinds_of_request == ["stream", "stream", "stream", "list", "watch@9"]


async def test_a_list_cut_short_shows_nothing_and_starts_again(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), ConnectionLost("cut"))
    server.watch(lines.added("b", 2))
    server.watch(lines.added("c", 3), lines.end_of_list(4), hangs=True)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"c": "3"}
    assert server.kinds_of_request == ["stream"] * 3


@pytest.mark.scenario("ISS-73")
@pytest.mark.parametrize("how", ["event", "refusal"])
async def test_an_expired_version_is_listed_anew_and_differences_are_heard(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop, how: str
) -> None:
    server.watch(
        lines.added("a", 1), lines.added("b", 2), lines.added("c", 3), lines.end_of_list(3)
    )
    if how == "event":
        server.watch(lines.error(410, "Expired", "too old resource version"))
    else:
        server.refuse(410, "Gone", "too old resource version")
    server.watch(
        lines.added("a", 1),
        lines.added("b", 8),
        lines.added("d", 9),
        lines.end_of_list(9),
        hangs=True,
    )
    async with running(watch) as store:
        await watch.synced()
        heard: list[tuple[str | None, str | None]] = []
        store.listen(lambda old, new: heard.append((_text(old), _text(new))))
        heard.clear()
        await asyncio.sleep(5)
        assert sorted(heard, key=str) == [("b@2", "b@8"), ("c@3", None), (None, "d@9")]
        assert versions(store) == {"a": "1", "b": "8", "d": "9"}
    assert server.kinds_of_request == ["stream", "watch@3", "stream"]


def _text(entry: Entry | None) -> str | None:
    return f"{entry.key.name}@{entry.meta.resource_version}" if entry else None


async def test_a_restored_server_is_noticed_and_replaces_everything(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    too_large = {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}
    server.watch(lines.added("a", 90), lines.added("b", 95), lines.end_of_list(100), 20.0)
    for _ in range(3):
        server.refuse(504, "Timeout", "Too large resource version: 100, current: 50", **too_large)
    server.watch(
        lines.added("a", 40), lines.end_of_list(50), 1.0, lines.modified("a", 51), hangs=True
    )
    async with running(watch) as store:
        await watch.synced()
        store.note_write(lines.modified("b", 99)[28:-2])
        await asyncio.sleep(60)
        assert versions(store) == {"a": "51"}
        assert watch.status().restores == 1
        assert store.pending == 0
    assert server.kinds_of_request == ["stream", *["watch@100"] * 3, "stream"]


async def test_a_restored_server_that_says_nothing_is_noticed(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    """A real one neither refuses a watch from the future nor sends bookmarks on it."""
    server.watch(lines.added("a", 90), lines.end_of_list(100), 20.0)
    server.watch(hangs=True)
    server.refuse(500, "InternalError", "starting")
    server.listing(version=50)
    server.watch(lines.added("a", 40), lines.end_of_list(50), hangs=True)
    async with running(watch) as store:
        await asyncio.sleep(97)
        assert versions(store) == {"a": "40"}
        assert watch.status().restores == 1
    assert server.kinds_of_request == ["stream", "watch@100", "list", "list", "stream"]
    assert server.asked[2][2] == {"limit": "1"}


async def test_a_quiet_server_is_not_listed_again(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.end_of_list(100), hangs=True)
    server.listing(version=100, token="more")
    server.watch(hangs=True)
    server.fail(ConnectFailed("down"))
    server.listing(version=120)
    async with running(watch):
        await asyncio.sleep(160)
    assert server.kinds_of_request == [
        "stream", "list", "watch@100", "list", "list", "watch@100"
    ]  # fmt: skip


async def test_a_lagging_replica_is_given_time(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    causes = [{"reason": "ResourceVersionTooLarge"}]
    server.watch(lines.end_of_list(100), 20.0)
    server.watch(lines.error(504, "Timeout", "Too large resource version", causes=causes))
    async with running(watch):
        await asyncio.sleep(60)
        assert watch.status().restores == 0
    assert server.kinds_of_request == ["stream", "watch@100", "watch@100"]


# Connections


async def test_a_server_that_closes_at_once_is_asked_less_and_less(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.end_of_list(5))
    for n in range(100):
        server.watch(lines.bookmark(6 + n))
    async with running(watch):
        await asyncio.sleep(300)
    waits = [after - before for before, after in pairwise(server.times)]
    assert len(waits) < 25
    assert waits[0] <= 0.1
    assert all(15 <= wait <= 30 for wait in waits[-3:])


async def test_a_long_connection_ends_the_count_of_failures(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.end_of_list(5))
    for _ in range(8):
        server.watch()
    server.watch(60.0, lines.bookmark(7), 60.0)
    async with running(watch):
        await asyncio.sleep(400)
    before, renewed = server.times[9:11]
    assert 0 < renewed - (before + 120) <= 0.1


async def test_a_list_that_takes_long_and_is_outdated_at_once_is_not_repeated_without_pause(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    for _ in range(100):
        server.watch(20.0, lines.end_of_list(5), lines.error(410, "Expired"))
    async with running(watch):
        await asyncio.sleep(600)
    waits = [after - before - 20 for before, after in pairwise(server.times)]
    assert waits[0] <= 0.1
    assert all(15 <= wait <= 30 for wait in waits[-3:])


async def test_pages_that_take_long_do_not_excuse_a_watch_that_fails_at_once(
    server: Any, lines: Any, item: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.refuse(400, "BadRequest")
    for _ in range(100):
        server.answers.append(
            type(server.answers[0])((20.0, b'{"metadata":{"resourceVersion":"5"},"items":[]}'))
        )
        server.refuse(410, "Expired")
    async with running(watch):
        await asyncio.sleep(600)
    assert len(server.asked) < 40


async def test_a_connection_cut_while_idle_was_healthy(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.end_of_list(5), 50.0, ConnectionLost("idle for too long"))
    for _ in range(20):
        server.watch(50.0, ConnectionLost("idle for too long"))
    async with running(watch):
        await asyncio.sleep(900)
    waits = [after - before - 50 for before, after in pairwise(server.times)]
    assert len(waits) == 17
    assert max(waits) <= 0.1


@pytest.mark.parametrize("where", ["before the answer", "after the list", "during the list"])
async def test_silence_is_noticed_within_75_seconds(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop, where: str
) -> None:
    match where:
        case "before the answer":
            server.never_answers()
        case "after the list":
            server.watch(lines.end_of_list(5), hangs=True)
        case "during the list":
            server.watch(lines.added("a", 1), hangs=True)
    asked = 2
    if where == "after the list":
        server.listing(version=5)
        asked = 3
    server.watch(lines.end_of_list(5), hangs=True)
    async with running(watch):
        await asyncio.sleep(74)
        assert len(server.asked) == 1
        await asyncio.sleep(1)
        assert state_of(watch) is WatchState.BACKING_OFF
        assert watch.last_error == "no bytes for 75 s; the connection is dead, opening another"
        await asyncio.sleep(0.2)
        assert len(server.asked) == asked
        assert state_of(watch) is WatchState.WATCHING


async def test_an_unreachable_server_is_tried_for_ever_and_the_store_stays(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 3), lines.end_of_list(5), ConnectionLost("cut"))
    for _ in range(1000):
        server.fail(ConnectFailed("nobody listens on 10.0.0.1:6443"))
    async with running(watch) as store:
        await asyncio.sleep(600)
        assert 120 < len(server.asked) < 240, "every 2.5 to 5 seconds"
        assert state_of(watch) is WatchState.BACKING_OFF
        assert watch.last_error == "nobody listens on 10.0.0.1:6443"
        assert versions(store) == {"a": "3"}
        assert store.synced
        assert watch.status().silent_seconds == 600
        server.answers.clear()
        server.watch(lines.modified("a", 9), hangs=True)
        await asyncio.sleep(5)
        assert state_of(watch) is WatchState.WATCHING
        assert watch.last_error == ""
        assert versions(store) == {"a": "9"}
    assert set(server.kinds_of_request[1:]) == {"watch@5"}


async def test_the_server_may_ask_for_more_patience(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.refuse(429, "TooManyRequests", "slow down", retryAfterSeconds=20)
    server.watch(lines.end_of_list(5), hangs=True)
    async with running(watch):
        await watch.synced()
    assert server.times == [0, 20]


async def test_nobody_waits_for_a_year(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.refuse(429, "TooManyRequests", "slow down", retryAfterSeconds=31_536_000)
    server.watch(lines.end_of_list(5), hangs=True)
    async with running(watch):
        await watch.synced()
    assert server.times == [0, 300]


# States that people must resolve


async def test_a_missing_kind_is_a_state_and_is_watched_once_it_appears(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    for _ in range(20):
        server.refuse(404, "NotFound", "the server could not find the requested resource")
    async with running(watch) as store:
        await asyncio.sleep(200)
        assert state_of(watch) is WatchState.MISSING
        assert watch.last_error == (
            "the server does not serve configmaps in v1; "
            "install its CustomResourceDefinition; watched as soon as it appears"
        )
        assert not store.synced
        assert len(server.asked) < 20
        server.answers.clear()
        server.watch(lines.added("a", 1), lines.end_of_list(2), hangs=True)
        before = virtual_loop.time()
        watch.poke()
        await watch.synced()
        assert virtual_loop.time() == before
        await asyncio.sleep(0)
        assert state_of(watch) is WatchState.WATCHING


async def test_a_kind_that_appears_while_the_refusal_is_under_way_is_not_waited_for(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    for _ in range(20):
        server.refuse(404, "NotFound")
    slow = type(server.answers[0])
    async with running(watch):
        await asyncio.sleep(200)
        server.answers[:] = [slow((1.0, server.answers[0].parts[0]), 404)]
        asked = len(server.asked)
        while len(server.asked) == asked:
            await asyncio.sleep(0.1)
        server.watch(lines.end_of_list(2), hangs=True)
        before = virtual_loop.time()
        watch.poke()
        await watch.synced()
        assert virtual_loop.time() - before <= 1.0


async def test_a_kind_that_vanishes_keeps_what_is_known_and_lists_when_it_returns(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), lines.end_of_list(2))
    server.refuse(404, "NotFound")
    server.watch(lines.added("b", 8), lines.end_of_list(9), hangs=True)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "1"}
        await asyncio.sleep(5)
        assert versions(store) == {"b": "8"}
    assert server.kinds_of_request == ["stream", "watch@2", "stream"]


async def test_a_forbidden_kind_is_a_state_and_goes_on_once_granted(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), lines.end_of_list(2))
    for _ in range(5):
        server.refuse(403, "Forbidden", 'configmaps is forbidden: User "x" cannot watch')
    server.watch(lines.modified("a", 3), hangs=True)
    async with running(watch) as store:
        await asyncio.sleep(1)
        assert state_of(watch) is WatchState.FORBIDDEN
        assert watch.last_error == (
            'configmaps is forbidden: User "x" cannot watch; '
            "grant this user list and watch on configmaps"
        )
        await asyncio.sleep(60)
        assert state_of(watch) is WatchState.WATCHING
        assert versions(store) == {"a": "3"}


# Bad input


async def test_a_garbled_event_is_asked_for_again_and_finally_listed(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), lines.end_of_list(2), b'{"type":"MODIFIED","obj\n')
    server.watch(lines.modified("a", 3), lines.modified("a", 4)[:-30] + b"\n")
    server.watch(b"<html>\n")
    server.watch(lines.added("a", 5), lines.end_of_list(5), hangs=True)
    async with running(watch) as store:
        await watch.synced()
        await asyncio.sleep(10)
        assert versions(store) == {"a": "5"}
    assert server.kinds_of_request == ["stream", "watch@2", "watch@3", "stream"]


async def test_one_bad_object_does_not_hold_up_the_others(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    nameless = lines.event("ADDED", {"kind": "ConfigMap", "metadata": {"resourceVersion": "3"}})
    unknown = lines.event("SHOUTED", {"metadata": {}})
    server.watch(
        lines.added("bad", 1, labels=["x"]), nameless, unknown, lines.end_of_list(4),
        lines.added("late", 5, finalizers={}), nameless, lines.added("good", 6), hangs=True,
    )  # fmt: skip
    async with running(watch) as store:
        await asyncio.sleep(1)
        assert versions(store) == {"bad": "1", "late": "5", "good": "6"}
        assert sorted(key.name for key in store.malformed) == ["bad", "late"]
        assert watch.status().skipped == 2
        assert len(server.asked) == 1


async def test_a_bad_page_is_read_again(
    server: Any, lines: Any, item: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.refuse(400, "BadRequest")
    server.answers.append(type(server.answers[0])((b'{"metadata":{},"items":[{"metad',)))
    server.listing({"metadata": {}}, item("a", 1), version=9)
    async with running(watch) as store:
        await watch.synced()
        assert versions(store) == {"a": "1"}
        assert watch.status().skipped == 1


async def test_an_event_with_more_members_than_usual_is_read(
    server: Any, lines: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    odd = lines.modified("a", 3)[:-2] + b',"hint":1}\n'
    spaced = lines.modified("a", 4).replace(b'"type":', b'"type" : ')
    server.watch(lines.added("a", 1), lines.end_of_list(2), odd, hangs=True)
    async with running(watch) as store:
        await watch.synced()
        await asyncio.sleep(1)
        assert versions(store) == {"a": "3"}
        gone = lines.deleted("a", 5).replace(b'"type":', b'"type" : ')
        server.listing(version=3)
        server.watch(spaced, 5.0, gone, hangs=True)
        await asyncio.sleep(78)
        assert versions(store) == {"a": "4"}
        await asyncio.sleep(5)
        assert versions(store) == {}


async def test_a_stopped_watch_lets_those_who_wait_go(
    server: Any, watch: Watch, virtual_loop: VirtualLoop
) -> None:
    server.refuse(404, "NotFound")
    async with running(watch), asyncio.TaskGroup() as group:
        group.create_task(watch.synced())
        await asyncio.sleep(1)
        watch.stop()
    assert state_of(watch) is WatchState.STOPPED

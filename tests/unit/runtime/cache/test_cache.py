"""Stores are shared, come and go while the cache runs, and say what they wait for."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from certwright.client import Client, ConnectFailed
from certwright.kube import Forbidden, NotFound
from certwright.kube.kinds import ConfigMap, Secret
from certwright.kube.objects import Key
from certwright.runtime.cache.cache import Cache
from certwright.runtime.cache.entries import Entry
from certwright.runtime.cache.state import WatchState
from certwright.runtime.cache.transforms import KeepFields
from certwright.runtime.queue.backoff import new_rng
from certwright.testkit.time.virtual import VirtualLoop


@pytest.fixture
def cache(server: Any) -> Cache:
    return Cache(Client(server), rng=new_rng(1))


@asynccontextmanager
async def running(cache: Cache) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        try:
            await asyncio.sleep(0)
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def watches() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("watch ")}


async def test_equal_views_share_a_store(cache: Cache, virtual_loop: VirtualLoop) -> None:
    plain = cache.store(ConfigMap)
    assert cache.store(ConfigMap).store is plain.store
    selected = cache.store(ConfigMap, labels="b=2, a=1")
    assert cache.store(ConfigMap, labels="a=1,b=2").store is selected.store
    kept = cache.store(ConfigMap, transform=KeepFields("/data"))
    assert cache.store(ConfigMap, transform=KeepFields("/data")).store is kept.store
    others = [
        cache.store(Secret),
        cache.store(ConfigMap, namespace="shop"),
        cache.store(ConfigMap, labels="a=1"),
        cache.store(ConfigMap, fields="metadata.name=x"),
        cache.store(ConfigMap, metadata_only=True),
        selected,
        kept,
        plain,
    ]
    assert len({id(handle.store) for handle in others}) == 8
    assert len(cache.informers) == 8


async def test_the_view_names_what_is_watched(cache: Cache, virtual_loop: VirtualLoop) -> None:
    handle = cache.store(Secret, namespace="shop", labels="a=1", metadata_only=True)
    assert str(handle.view) == "Secret namespace=shop a=1 metadata"


@pytest.mark.parametrize("selector", [{"labels": "a in"}, {"fields": "metadata.name"}])
async def test_a_selector_that_cannot_be_read_is_refused(
    cache: Cache, virtual_loop: VirtualLoop, selector: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"a in|metadata\.name"):
        cache.store(ConfigMap, **selector)
    assert cache.informers == []


async def test_kinds_come_and_go_while_it_runs(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), lines.end_of_list(2), hangs=True)
    first = cache.store(ConfigMap)
    async with running(cache):
        await first.synced()
        assert watches() == {"watch ConfigMap"}
        server.watch(lines.added("b", 1), lines.end_of_list(2), hangs=True)
        second = cache.store(ConfigMap, namespace="shop")
        third = cache.store(ConfigMap, namespace="shop")
        await second.synced()
        assert watches() == {"watch ConfigMap", "watch ConfigMap namespace=shop"}
        second.release()
        second.release()
        await asyncio.sleep(1)
        assert len(watches()) == 2
        assert third.store.get(Key("shop", "b")) is not None
        third.release()
        await asyncio.sleep(1)
        assert watches() == {"watch ConfigMap"}
        assert third.watch.state is WatchState.STOPPED
    assert watches() == set()


async def test_a_store_asked_for_again_starts_anew(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    async with running(cache):
        for version in (2, 5):
            server.watch(lines.added("a", version), lines.end_of_list(version), hangs=True)
            with cache.store(ConfigMap) as handle:
                await handle.synced()
                [entry] = handle.store.items()
                assert entry.meta.resource_version == str(version)
            await asyncio.sleep(1)
    assert server.kinds_of_request == ["stream", "stream"]


async def test_a_released_handle_hears_nothing_more(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.added("a", 1), lines.end_of_list(2), 5.0, lines.modified("a", 3), hangs=True)
    heard: dict[str, list[str]] = {"stays": [], "goes": []}

    def note(who: str, new: Entry | None) -> None:
        heard[who].append(new.meta.resource_version if new else "")

    stays, goes = cache.store(ConfigMap), cache.store(ConfigMap)
    stays.listen(lambda _, new: note("stays", new))
    goes.listen(lambda _, new: note("goes", new))
    async with running(cache):
        await stays.synced()
        goes.release()
        await asyncio.sleep(6)
    assert heard == {"stays": ["1", "3"], "goes": ["1"]}


async def test_the_barrier_opens_when_every_store_is_complete(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.watch(3.0, lines.end_of_list(2), hangs=True)
    server.watch(7.0, lines.end_of_list(2), hangs=True)
    cache.store(ConfigMap)
    cache.store(Secret)
    async with running(cache):
        await cache.wait_synced(timeout_seconds=30)
        assert virtual_loop.time() == 7
        assert cache.unsynced() == []


async def test_the_barrier_names_what_is_missing_and_why(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.watch(lines.end_of_list(2), hangs=True)
    server.refuse(403, "Forbidden", "secrets is forbidden")
    server.answers += server.answers[1:] * 20
    cache.store(ConfigMap)
    cache.store(Secret, namespace="shop")
    cache.store(ConfigMap, namespace="shop")
    async with running(cache):
        with pytest.raises(TimeoutError) as caught:
            await cache.wait_synced(timeout_seconds=30)
        assert len(watches()) == 3
    assert str(caught.value).startswith(
        "not synced after 30 s: "
        "Secret namespace=shop (forbidden: secrets is forbidden; grant this user list and watch on "
        "secrets); ConfigMap namespace=shop (forbidden: "
    )


async def test_a_store_given_up_does_not_hold_the_barrier(
    server: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.refuse(404, "NotFound")
    handle = cache.store(ConfigMap)
    async with running(cache), asyncio.TaskGroup() as group:
        group.create_task(cache.wait_synced())
        await asyncio.sleep(1)
        handle.release()


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [(404, "NotFound", NotFound), (403, "Forbidden", Forbidden), (500, "Broken", ConnectFailed)],
)
async def test_readiness_fails_as_soon_as_it_is_not_to_be_expected(
    server: Any, cache: Cache, virtual_loop: VirtualLoop, code: int, reason: str, error: Any
) -> None:
    for _ in range(9):
        server.refuse(code, reason)
    handle = cache.store(ConfigMap)
    async with running(cache):
        with pytest.raises(error):
            await handle.ready()
        attempts = len(server.asked)
        with pytest.raises(error):
            await handle.ready()
    assert attempts == len(server.asked) == (3 if code == 500 else 1)


async def test_readiness_comes_with_the_list_and_fails_with_the_last_user(
    server: Any, lines: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    server.watch(3.0, lines.end_of_list(2), hangs=True)
    first = cache.store(ConfigMap)
    second = cache.store(Secret)
    async with running(cache):
        await asyncio.gather(first.ready(), first.ready())
        assert virtual_loop.time() == 3
        await first.ready()
        waiting = asyncio.gather(second.ready())
        await asyncio.sleep(0)
        second.release()
        with pytest.raises(NotFound, match="Secret is not watched any more"):
            await waiting


async def test_a_write_reaches_every_store_it_belongs_into(
    item: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    everything = cache.store(ConfigMap).store
    here = cache.store(ConfigMap, namespace="shop").store
    elsewhere = cache.store(ConfigMap, namespace="other").store
    labelled = cache.store(ConfigMap, labels="app=x").store
    others = cache.store(ConfigMap, labels="app!=x").store
    by_field = cache.store(ConfigMap, fields="metadata.name=a").store
    meta = cache.store(ConfigMap, metadata_only=True).store
    another_kind = cache.store(Secret).store
    raw = json.dumps(item("a", 7, labels={"app": "x"})).encode()
    cache.note_write(ConfigMap, raw)
    assert [len(s) for s in (everything, here, labelled, meta)] == [1, 1, 1, 1]
    assert [len(s) for s in (elsewhere, others, by_field, another_kind)] == [0, 0, 0, 0]
    assert cache.pending == 4
    cache.note_delete(ConfigMap, Key("shop", "a"), "uid-a")
    assert len(everything) == len(here) == len(labelled) == len(meta) == 0


async def test_a_write_reaches_the_store_of_its_type(
    item: Any, cache: Cache, virtual_loop: VirtualLoop
) -> None:
    same = cache.store(Secret, fields="type=kubernetes.io/tls").store
    other = cache.store(Secret, fields="type=Opaque").store
    unlike = cache.store(Secret, fields="type!=Opaque").store
    more = cache.store(Secret, fields="type=kubernetes.io/tls,metadata.name=a").store
    obj = item("a", 7) | {"kind": "Secret", "type": "kubernetes.io/tls"}
    cache.note_write(Secret, json.dumps(obj).encode())
    assert [len(store) for store in (same, other, unlike, more)] == [1, 0, 0, 0]


async def test_own_field_managers_stay_visible(
    server: Any, lines: Any, virtual_loop: VirtualLoop
) -> None:
    fields = [{"manager": "me"}, {"manager": "they"}]
    for managers, kept in (([], []), (["me"], [{"manager": "me"}])):
        server.watch(lines.added("a", 1, managedFields=fields), lines.end_of_list(2), hangs=True)
        cache = Cache(Client(server), field_managers=managers)
        handle = cache.store(ConfigMap)
        async with running(cache):
            await handle.synced()
            [entry] = handle.store.items()
            assert entry.managed_fields == kept


async def test_it_runs_once_at_a_time(cache: Cache, virtual_loop: VirtualLoop) -> None:
    async with running(cache):
        with pytest.raises(RuntimeError, match="runs already"):
            await cache.run()

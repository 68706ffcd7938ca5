"""Objects nested deeper than decoders go: known by name, refused when read, in nobody's way."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from certwright.client import Client, Selection
from certwright.kube.errors import ApiError
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key, Object
from certwright.runtime.cache.decode import BrokenJson, EntryDecoder, UnnamedObject
from certwright.runtime.cache.entries import Entry, UnreadableEntry
from certwright.runtime.cache.events import ObjectEvent, read_event
from certwright.runtime.cache.store import Store
from certwright.runtime.cache.watch import Watch
from certwright.runtime.outcome import BadObject
from certwright.runtime.queue.backoff import Backoff, new_rng
from certwright.testkit.time.virtual import VirtualLoop

LEVELS = [201, 1_200, 10_000, 100_000]


def tower(levels: int) -> bytes:
    return b'{"f:x":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def managed(levels: int, manager: bytes = b"they", version: int = 7, name: bytes = b"a") -> bytes:
    """Return an object that is deep in managedFields only."""
    return (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%b","namespace":"shop",'
        b'"uid":"u","resourceVersion":"%d","managedFields":[{"manager":"%b","operation":"Update",'
        b'"fieldsV1":%b}]},"data":{"k":"v"}}'
    ) % (name, version, manager, tower(levels))


def deep(levels: int, version: int = 7, name: bytes = b"a") -> bytes:
    """Return an object that is deep all over."""
    return (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%b","namespace":"shop",'
        b'"uid":"u","resourceVersion":"%d","labels":{"l":"v"},"managedFields":[%b]},"data":%b}'
    ) % (name, version, tower(levels), tower(levels))


def event(kind: bytes, raw: bytes) -> bytes:
    return b'{"type":"%b","object":%b}' % (kind, raw)


@pytest.mark.parametrize("levels", LEVELS)
def test_without_deep_managed_fields_an_object_is_like_others(levels: int) -> None:
    decoder = EntryDecoder(ConfigMap, field_managers=["me", "they"])
    entry = decoder.entry(managed(levels))
    assert (entry.key, entry.uid, entry.obj()["data"]) == (Key("shop", "a"), "u", {"k": "v"})
    assert entry.managed_fields == []  # too deep to tell of our own ones either
    assert (entry.malformed, decoder.unreadable) == ("", 0)


@pytest.mark.parametrize("levels", LEVELS[1:])
def test_of_a_deep_object_only_the_metadata_are_known(levels: int) -> None:
    decoder = EntryDecoder(ConfigMap)
    entry = decoder.entry(deep(levels))
    assert isinstance(entry, UnreadableEntry)
    assert (entry.key, entry.uid, entry.meta.labels) == (Key("shop", "a"), "u", {"l": "v"})
    assert entry.meta.resource_version == "7"
    with pytest.raises(BadObject, match="ConfigMap shop/a cannot be read: nested too deeply"):
        entry.obj()
    with pytest.raises(BadObject):
        entry.as_(Object)
    with pytest.raises(BadObject):
        entry.require_contents()
    assert decoder.unreadable == 1


@pytest.mark.parametrize("levels", range(180, 1_100, 40))
def test_metadata_are_known_at_any_depth(levels: int) -> None:
    entry = EntryDecoder(ConfigMap).entry(deep(levels))

    def at(frames: int) -> tuple[str, dict[str, str]]:
        """Read far down the stack, where less is left."""
        return at(frames - 1) if frames else (entry.uid, entry.annotations)

    assert at(400) == ("u", {})
    try:
        assert entry.obj()["data"]
    except BadObject as error:
        assert "nested too deeply" in str(error)  # noqa: PT017 - either is fine
        assert levels > 800


def test_a_store_of_metadata_reads_deep_objects() -> None:
    decoder = EntryDecoder(ConfigMap, metadata_only=True)
    assert decoder.entry(deep(2_000)).obj()["metadata"]["labels"] == {"l": "v"}
    assert decoder.unreadable == 0


def test_deep_bytes_that_are_no_object_are_told_apart() -> None:
    decoder = EntryDecoder(ConfigMap)
    with pytest.raises(BrokenJson):
        decoder.entry(deep(2_000)[:9_000])
    with pytest.raises(UnnamedObject):
        decoder.entry(b'{"metadata":{"labels":{}},"data":%b}' % tower(2_000))
    with pytest.raises(UnnamedObject):
        decoder.entry(tower(2_000))


@pytest.mark.parametrize("kind", [b"ADDED", b"MODIFIED", b"DELETED"])
@pytest.mark.parametrize("odd", [b"", b" "])
def test_events_of_deep_objects_are_read(kind: bytes, odd: bytes) -> None:
    line = event(kind, deep(5_000)).replace(b'"object":', b'"object":' + odd, 1)
    for given in (line, line[:-1] + b',"hint":1}'):
        found = read_event(given, EntryDecoder(ConfigMap))
        assert isinstance(found, ObjectEvent)
        assert found.entry.key == Key("shop", "a")
        assert found.deleted == (kind == b"DELETED")


def test_a_deep_refusal_is_a_failure_like_others() -> None:
    for kind in (b"ERROR", b"BOOKMARK"):
        with pytest.raises((BrokenJson, ApiError)):  # depends on how deep the decoder goes
            read_event(event(kind, tower(5_000)), EntryDecoder(ConfigMap))
    with pytest.raises(BrokenJson):
        read_event(event(b"SHOUTED", tower(5_000))[:-20], EntryDecoder(ConfigMap))


def test_a_response_that_is_deep_is_noted() -> None:
    store = Store(EntryDecoder(ConfigMap))
    store.replace([], version=1)
    assert store.note_write(deep(5_000))
    assert store.note_write(managed(5_000, version=8))
    assert [entry.obj()["data"] for entry in store.items()] == [{"k": "v"}]


# Watches


@asynccontextmanager
async def running(*watches: Watch) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watch.run()) for watch in watches]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def watch_of(server: Any, store: Store | None = None) -> Watch:
    backoff = Backoff(base_seconds=0.1, cap_seconds=30, rng=new_rng(1))
    store = Store(EntryDecoder(ConfigMap)) if store is None else store
    return Watch(Client(server), store, Selection("shop"), backoff=backoff)


async def test_a_watch_counts_names_and_keeps_deep_objects(
    server: Any, lines: Any, virtual_loop: VirtualLoop, capfd: pytest.CaptureFixture[str]
) -> None:
    server.watch(
        event(b"ADDED", deep(9_000)) + b"\n", lines.added("good", 8), lines.end_of_list(9),
        event(b"MODIFIED", deep(9_000, version=10)) + b"\n",
        event(b"ADDED", managed(9_000, version=11, name=b"b")) + b"\n",
        lines.modified("good", 12), hangs=True,
    )  # fmt: skip
    watch = watch_of(server)
    async with running(watch):
        await asyncio.sleep(1)
        versions = {entry.key.name: entry.meta.resource_version for entry in watch.store.items()}
        assert versions == {"a": "10", "good": "12", "b": "11"}
        assert watch.status().skipped == 2
        assert len(server.asked) == 1
    told = "".join(capfd.readouterr())
    assert told.count("object cannot be read") == 1
    assert "shop/a" in told
    assert "nested too deeply" in told


async def test_pages_of_deep_objects_are_read(
    server: Any, lines: Any, virtual_loop: VirtualLoop
) -> None:
    server.refuse(400, "BadRequest")
    body = b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[%b,%b]}'
    page = body % (deep(9_000), managed(9_000, name=b"b"))
    server.answers.append(type(server.answers[0])((page,)))
    watch = watch_of(server)
    async with running(watch):
        await watch.synced()
        assert sorted(entry.key.name for entry in watch.store.items()) == ["a", "b"]
        assert watch.status().skipped == 1


async def test_a_listener_that_fails_keeps_no_change_from_the_others(
    server: Any, lines: Any, virtual_loop: VirtualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    server.watch(
        lines.added("a", 1), lines.end_of_list(2), lines.added("b", 3), lines.modified("a", 4),
        hangs=True,
    )  # fmt: skip
    store = Store(EntryDecoder(ConfigMap))
    heard: list[str] = []

    def fails(old: Entry | None, new: Entry | None) -> None:
        raise KeyError(str(new and new.key))

    store.listen(fails)
    store.listen(lambda _, new: heard.append(f"{new and new.key}"))
    watch = watch_of(server, store)
    with caplog.at_level(logging.CRITICAL):
        async with running(watch):
            await asyncio.sleep(1)
            assert heard == ["shop/a", "shop/b", "shop/a"]
            assert watch.status().listener_errors == 3
            assert len(server.asked) == 1


async def test_what_nobody_foresaw_ends_no_other_watch(
    server: Any, lines: Any, virtual_loop: VirtualLoop
) -> None:
    class Failing(EntryDecoder):
        failures = 2

        def entry(self, *args: Any, **kwargs: Any) -> Entry:
            if self.failures:
                Failing.failures -= 1
                raise ZeroDivisionError
            return super().entry(*args, **kwargs)

    server.watch(lines.added("a", 1), lines.end_of_list(2), hangs=True)
    server.watch(lines.added("a", 1), lines.end_of_list(2), hangs=True)
    server.watch(lines.added("a", 1), lines.end_of_list(2), hangs=True)
    watch = watch_of(server, Store(Failing(ConfigMap)))
    async with running(watch):
        await asyncio.sleep(0.05)
        assert watch.last_error == "ZeroDivisionError; see the log"
        await watch.synced()
        assert len(watch.store) == 1
        assert watch.status().lists == 1


def test_a_function_that_cannot_decide_keeps_the_object() -> None:
    def raises(entry: Entry) -> bool:
        raise RecursionError

    store = Store(EntryDecoder(ConfigMap), keep=raises)
    store.replace([store.decoder.entry(deep(900))], version=1)
    store.upsert(store.decoder.entry(deep(900, name=b"b")))
    assert len(store) == 2

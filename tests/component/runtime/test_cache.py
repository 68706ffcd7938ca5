"""Stores on a server that means it: the embedded one, and the real one where it is asked for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import orjson
import pytest
from tests.component.runtime.conftest import Toys

from certwright.client import Client, ConnectionLost, Request, Response
from certwright.client.transport import Stream, Transport
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import JsonObject, Key, Resource
from certwright.runtime import Cache, Store
from certwright.testkit.cluster import Cluster
from certwright.testkit.embedded import EmbeddedCluster


def config_map(name: str, **labels: str) -> JsonObject:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}}


@asynccontextmanager
async def running(cache: Cache) -> AsyncIterator[Cache]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        try:
            yield cache
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(store: Store, holds: Callable[[], bool]) -> None:
    """Return as soon as something holds that a change of the store may bring about."""
    changed = asyncio.Event()
    stop = store.listen(lambda _old, _new: changed.set())
    async with asyncio.timeout(30):
        while not holds():
            changed.clear()
            await changed.wait()
    stop()


def names(store: Store) -> set[str]:
    return {entry.key.name for entry in store.items()}


async def test_stores_follow_what_happens(cluster: Cluster) -> None:
    await cluster.create(config_map("old", app="x"))
    here = cluster.namespace
    async with running(Cache(cluster.client, field_managers=["test"])) as cache:
        everything = cache.store(ConfigMap, namespace=here)
        selected = cache.store(ConfigMap, namespace=here, labels="app in (x)")
        metadata = cache.store(ConfigMap, namespace=here, labels="app", metadata_only=True)
        one = cache.store(ConfigMap, namespace=here, fields="metadata.name=new")
        await cache.wait_synced(30)
        assert names(selected.store) == names(metadata.store) == {"old"}

        await cluster.apply(config_map("new", app="x"))
        await until(everything.store, lambda: {"old", "new"} <= names(everything.store))
        await until(selected.store, lambda: names(selected.store) == {"old", "new"})
        await until(one.store, lambda: names(one.store) == {"new"})
        await cluster.apply(config_map("new", app="y"))
        await until(selected.store, lambda: names(selected.store) == {"old"})
        await cluster.delete(ConfigMap, "old")
        await until(everything.store, lambda: "old" not in names(everything.store))
        await until(metadata.store, lambda: names(metadata.store) == {"new"})

        [bare] = metadata.store.items()
        assert bare.obj()["kind"] == "PartialObjectMetadata"
        assert "data" not in bare.obj()
        entry = everything.store.get(Key(here, "new"))
        assert entry is not None
        live = await cluster.get(ConfigMap, "new")
        owned = live["metadata"].pop("managedFields")
        assert entry.obj() == live
        for one in owned:
            del one["time"]
        assert entry.managed_fields == [one for one in owned if one["manager"] == "test"]


async def test_a_write_is_read_before_its_event_arrives(cluster: Cluster) -> None:
    async with running(Cache(cluster.client)) as cache:
        store = cache.store(ConfigMap, namespace=cluster.namespace).store
        await cache.wait_synced(30)
        for n in range(3):
            written = await cluster.apply(config_map("mine", step=str(n)))
            cache.note_write(ConfigMap, orjson.dumps(written))
            entry = store.get(Key(cluster.namespace, "mine"))
            assert entry is not None
            assert entry.meta.labels == {"step": str(n)}
        await cluster.create(config_map("other"))
        await until(store, lambda: "other" in names(store))
        assert cache.pending == 0


class Cuttable:
    """A transport whose watches can be cut, and which can be kept from opening new ones."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._cut = asyncio.Event()
        self.reachable = asyncio.Event()
        self.reachable.set()

    def cut(self) -> None:
        self._cut.set()
        self._cut = asyncio.Event()

    async def send(self, request: Request) -> Response:
        return await self._inner.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        await self.reachable.wait()
        async with self._inner.stream(request) as stream:
            yield _CuttableStream(stream, self._cut)

    async def close(self) -> None:
        await self._inner.close()


class _CuttableStream:
    def __init__(self, inner: Stream, cut: asyncio.Event) -> None:
        self._inner = inner
        self._cut = cut
        self.status, self.headers = inner.status, inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        chunks = self._inner.chunks()
        while True:
            async with asyncio.TaskGroup() as group:
                cut = group.create_task(self._cut.wait())
                more = group.create_task(_next(chunks))
                await asyncio.wait({cut, more}, return_when=asyncio.FIRST_COMPLETED)
                cut.cancel()
                more.cancel()
            if self._cut.is_set():
                raise ConnectionLost("cut")
            chunk = more.result()
            if chunk is None:
                return
            yield chunk


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def test_what_happened_while_the_server_was_away_is_caught_up(
    embedded_cluster: EmbeddedCluster,
) -> None:
    """From the last version if the server remembers it, else by a list, with the same end."""
    cluster = embedded_cluster
    transport = Cuttable(cluster.server.transport())
    for forgets in (False, True):
        await cluster.create(config_map("a"))
        await cluster.create(config_map("b"))
        async with running(Cache(Client(transport, clock=cluster.clock))) as cache:
            handle = cache.store(ConfigMap, namespace=cluster.namespace)
            await handle.synced()
            transport.reachable.clear()
            transport.cut()
            await cluster.delete(ConfigMap, "a")
            await cluster.patch(ConfigMap, "b", {"data": {"k": "changed"}})
            await cluster.create(config_map("c"))
            if forgets:
                cluster.server.trim_history()
            await asyncio.sleep(5)
            assert {"a", "b"} <= names(handle.store)
            transport.reachable.set()
            await until(handle.store, lambda: "c" in names(handle.store))  # noqa: B023
            await until(handle.store, lambda: "a" not in names(handle.store))  # noqa: B023
            entry = handle.store.get(Key(cluster.namespace, "b"))
            assert entry is not None
            assert entry.obj()["data"] == {"k": "changed"}
            assert handle.watch.status().lists == (2 if forgets else 1)
        for name in ("b", "c"):
            await cluster.delete(ConfigMap, name)


async def test_a_kind_is_watched_as_soon_as_its_definition_is_installed(
    cluster: Cluster, toy: Toys
) -> None:
    toys: Resource = toy.resource
    crd: JsonObject = toy.crd
    async with running(Cache(cluster.client)) as cache:
        handle = cache.store(toys, namespace=cluster.namespace)
        with pytest.raises(TimeoutError, match=r"Toy.* \(missing: .*install its CustomResource"):
            await cache.wait_synced(2)
        await cluster.install(crd)
        await cluster.create({**toy("t"), "metadata": {"name": "t"}})
        handle.watch.poke()
        async with asyncio.timeout(60):
            await handle.synced()
        await until(handle.store, lambda: names(handle.store) == {"t"})

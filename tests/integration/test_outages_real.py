"""The real API server goes away, comes back, and forgets: stores catch up."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.waits import until

from certwright.client import Client, ConnectionLost, Request, Response, Stream, Transport, connect
from certwright.kube.kinds import ConfigMap
from certwright.runtime import Cache, Store
from certwright.testkit.builders import config_map
from certwright.testkit.controlplane import control_plane

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

NAMESPACE = "default"


class Cable:
    """A connection whose watches can be cut and kept from coming back."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._cut = asyncio.Event()
        self.refused: list[int] = []
        """The statuses of watches the server did not open, and of those it ended itself."""

    def cut(self) -> None:
        self._cut.set()

    def mend(self) -> None:
        self._cut.clear()

    async def send(self, request: Request) -> Response:
        return await self._inner.send(request)

    async def close(self) -> None:
        """The connection belongs to the test."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        if self._cut.is_set():
            raise ConnectionLost("the cable is cut")
        async with self._inner.stream(request) as stream:
            yield CutStream(stream, self._cut, self.refused)


class CutStream:
    """A watch that ends when the cable is cut."""

    def __init__(self, inner: Stream, cut: asyncio.Event, refused: list[int]) -> None:
        self._inner = inner
        self._cut = cut
        self._refused = refused
        if inner.status != 200:
            refused.append(inner.status)

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        chunks = self._inner.chunks().__aiter__()
        async with asyncio.TaskGroup() as group:
            over = group.create_task(self._cut.wait())
            while True:
                chunk = group.create_task(anext(chunks, b""))
                await asyncio.wait({chunk, over}, return_when=asyncio.FIRST_COMPLETED)
                if over.done() or not chunk.result():
                    break
                if b'"code":410' in chunk.result():
                    self._refused.append(410)
                yield chunk.result()
            chunk.cancel()
            over.cancel()
        if self._cut.is_set():
            raise ConnectionLost("the cable was cut")


@asynccontextmanager
async def kept(transport: Transport) -> AsyncIterator[Store]:
    """Keep the ConfigMaps of a namespace in a store."""
    cache = Cache(Client(transport))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        share = cache.store(ConfigMap, namespace=NAMESPACE)
        await share.synced()
        yield share.store
        task.cancel()


async def eventually(what: str, holds: Callable[[], Any]) -> None:
    async def held() -> object:
        return holds()

    await until(what, held)


def names(store: Store) -> set[str]:
    return {entry.key.name for entry in store.items()} - {"kube-root-ca.crt"}


async def is_forgotten(client: Client, version: str) -> bool:
    """Return whether a server no longer knows what there was at a version."""
    query = (("resourceVersion", version), ("resourceVersionMatch", "Exact"))
    path = ConfigMap.path(NAMESPACE)
    answer = await client.transport.send(Request("list", "GET", path, query))
    return answer.status == 410


async def test_a_watch_outlives_the_api_server() -> None:
    async with control_plane() as plane, connect(kubeconfig=plane.kubeconfig) as client:
        await client.create(config_map("before", namespace=NAMESPACE))
        async with kept(client.transport) as store:
            assert names(store) == {"before"}
            await plane.restart_apiserver()
            await client.create(config_map("after", namespace=NAMESPACE))
            await eventually(
                "the store has what came after", lambda: names(store) == {"before", "after"}
            )


async def test_history_that_was_compacted_is_listed_anew() -> None:
    flags = ("--etcd-compaction-interval=1s", "--watch-cache=false")
    async with (
        control_plane(apiserver_flags=flags) as plane,
        connect(kubeconfig=plane.kubeconfig) as client,
    ):
        await client.create(config_map("before", namespace=NAMESPACE))
        cable = Cable(client.transport)
        async with kept(cable) as store:
            assert names(store) == {"before"}
            cable.cut()
            seen = (await client.list(ConfigMap, NAMESPACE)).resource_version
            missed: set[str] = set()

            async def forgotten() -> bool:
                """Each compaction forgets what was before the last one."""
                made = await client.create(config_map(f"missed-{len(missed)}", namespace=NAMESPACE))
                missed.add(made["metadata"]["name"])
                return await is_forgotten(client, seen)

            await until("history is compacted", forgotten)
            assert names(store) == {"before"}
            cable.mend()
            await eventually(
                "the store has what was missed", lambda: names(store) == {"before", *missed}
            )
            assert 410 in cable.refused, "history was gone"

"""80,000 Secrets, of which 5,000 ManagedResources want one each.

No server is asked to hold them: a transport tells the watches about them, and what is counted
is how often anybody has to look something up. Time and memory of the whole are measured by the
benchmarks.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.api.managedresources import ManagedResource
from certwright.client import Client, Request
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, Secret
from certwright.operators.managedresource.input import SECRETS, Secrets, referenced_secrets
from certwright.runtime import Cache, Metrics, Store
from certwright.runtime.cache.entries import Entry
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

FOREIGN, RESOURCES = 75_000, 5_000
REFUSED_BYTES = 2**20
PER_CHUNK = 1000

SECRET = (
    '{"type":"%s","object":{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"ns",'
    '"name":"%s","uid":"%s","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z"},'
    '"data":{"k":"c2VjcmV0IGFzIG1hbnkgYXJlIGluIGEgY2x1c3Rlcg=="}}}\n'
)


def secret_event(type_: str, name: str, version: int) -> bytes:
    return (SECRET % (type_, name, name, version)).encode()


def resource_event(name: str, version: int) -> bytes:
    metadata = {"namespace": "ns", "name": name, "uid": name, "resourceVersion": str(version)}
    spec = {"secretRefs": [{"name": f"wanted-{name}"}]}
    obj = {**HEAD, "metadata": metadata, "spec": spec}
    return orjson.dumps({"type": "ADDED", "object": obj}) + b"\n"


HEAD = {"apiVersion": ManagedResource.resource.api_version, "kind": "ManagedResource"}


def end_of_list(kind: str, version: int) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    obj = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


class Answer:
    """The body of a watch."""

    status = 200

    def __init__(self, chunks: Callable[..., Any]) -> None:
        self.headers: dict[Any, Any] = {}
        self.chunks = chunks


class Crowd:
    """A server with many Secrets, on which nothing but watches is possible."""

    def __init__(self, foreign: int = FOREIGN, resources: int = RESOURCES) -> None:
        self.later: Any = asyncio.Queue()
        self.later_resources: Any = asyncio.Queue()
        self.sent = 0
        self._foreign, self._wanted = foreign, resources

    async def send(self, request: Any) -> None:
        raise AssertionError(f"nobody needs to ask: {request.verb} {request.path}")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Answer]:
        secrets = (request.resource and request.resource.kind) == "Secret"
        yield Answer(self._secrets if secrets else self._resources)

    async def _resources(self) -> AsyncIterator[bytes]:
        lines = [resource_event(f"mr-{n}", n + 1) for n in range(self._wanted)]
        yield b"".join([*lines, end_of_list("ManagedResource", self._wanted + 1)])
        while True:
            yield await self.later_resources.get()

    async def _secrets(self) -> AsyncIterator[bytes]:
        names = [f"foreign-{n}" for n in range(self._foreign)]
        step = self._foreign // self._wanted
        for n in range(self._wanted):  # the wanted ones among the others
            names.insert(n * (step + 1), f"wanted-mr-{n}")
        for start in range(0, len(names), PER_CHUNK):
            some = enumerate(names[start : start + PER_CHUNK], start=start + 1)
            chunk = b"".join(secret_event("ADDED", name, version) for version, name in some)
            self.sent += len(chunk)
            yield chunk
        yield end_of_list("Secret", len(names))
        while True:
            yield await self.later.get()

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class Counted:
    """Counts how often a store is asked, and how often a ManagedResource is read for its index."""

    def __init__(self) -> None:
        self.looks = 0
        self.reads = 0

    def references(self, entry: Entry) -> Iterable[Key]:
        self.reads += 1
        return referenced_secrets(entry)

    def watch(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        by_index = store.by_index

        def look(name: str, value: Key) -> list[Entry]:
            self.looks += 1
            return by_index(name, value)

        monkeypatch.setattr(store, "by_index", look)


@pytest.mark.scenario("MR-104")
@pytest.mark.timeout(300)
async def test_a_start_asks_nothing_and_a_changed_secret_costs_one_pass(
    embedded_cluster: EmbeddedCluster, keeping_on: type[Keeping]
) -> None:
    """The whole operator, on a fortieth of the Secrets and a fiftieth of the ManagedResources."""
    metrics = Metrics()
    async with EmbeddedCluster(metrics=metrics) as cluster:
        keeping = keeping_on(cluster)
        for number in range(100):
            await keeping.declare(f"mr-{number}", config_map(f"cm-{number}"))
        await keeping.settle()
        await cluster.stop()
        for number in range(2_000):
            await cluster.create(keeping.secret_of(f"foreign-{number}", {}))
        calls = await keeping.settle()
        assert (calls.reads, calls.writes) == (0, 0)
        assert calls.watches < 20, "one for each kind, not for each Secret"

        def passes() -> float:
            name, labels = "controller_runtime_reconcile_total", {"controller": "managedresource"}
            values = [
                metrics.registry.get_sample_value(name, {**labels, "result": result})
                for result in ("success", "requeue", "requeue_after", "error")
            ]
            return sum(value or 0 for value in values)

        before = passes()
        await keeping.rewrite("mr-77", config_map("cm-77", {"new": "yes"}))
        await cluster.patch(Secret, "foreign-7", {"data": {"new": "eWVz"}})
        calls = await keeping.settle()
        assert (await keeping.find(ConfigMap, "cm-77"))["data"] == {"new": "yes"}
        assert calls.of("ConfigMap").writes == 1
        assert passes() - before <= 2, "the change, and perhaps the answer to our own write"


@pytest.mark.scenario("MR-104")
async def test_a_secret_finds_its_managed_resources_with_one_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd, counted = Crowd(), Counted()
    woken: list[Any] = []
    client = Client(cast("Any", crowd))
    cache = Cache(client)
    resources = cache.store(ManagedResource, indexes={SECRETS: counted.references})
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cache.run())
        await resources.synced()
        counted.watch(resources.store, monkeypatch)
        secrets = Secrets(client, cache, wake=woken.append)
        secrets.serve(resources.store)
        await secrets.ready()

        store = secrets.store(Key("ns", "any"))
        assert len(store) == RESOURCES, "foreign Secrets are not kept"
        assert counted.looks <= FOREIGN + 2 * RESOURCES, "one look each, two where it is wanted"
        assert counted.reads == RESOURCES, "each ManagedResource is read once"

        woken.clear()
        counted.looks = 0
        crowd.later.put_nowait(secret_event("MODIFIED", "foreign-7", 90_000))
        crowd.later.put_nowait(secret_event("MODIFIED", "wanted-mr-77", 90_001))
        async with asyncio.timeout(10):
            while not woken:
                await asyncio.sleep(0)
        assert woken == [Key("ns", "mr-77")]
        assert counted.looks == 2, "one for each event"
        assert counted.reads == RESOURCES

        waiting = [store.admit(Key("ns", f"foreign-{n}")) for n in range(FOREIGN)]
        held = sum(len(entry.raw) for entry in waiting if entry is not None)
        assert 0.9 * REFUSED_BYTES < held <= REFUSED_BYTES < crowd.sent
        assert waiting[-1] is not None, "the latest are at hand"
        running.cancel()


async def test_a_secret_just_before_its_managed_resource_is_not_asked_for() -> None:
    """However long the first pass takes to come, and however many others come meanwhile."""
    crowd = Crowd(foreign=10, resources=1)
    client = Client(cast("Any", crowd))
    cache = Cache(client)
    resources = cache.store(ManagedResource, indexes={SECRETS: referenced_secrets})
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        running = group.create_task(cache.run())
        await resources.synced()
        secrets = Secrets(client, cache, wake=lambda _: None)
        secrets.serve(resources.store)
        await secrets.ready()
        store = secrets.store(Key("ns", "any"))

        crowd.later.put_nowait(secret_event("ADDED", "wanted-late", 1_000))
        crowd.later.put_nowait(secret_event("ADDED", "then", 1_001))
        while store.admit(Key("ns", "then")) is None:
            await asyncio.sleep(0)
        assert store.get(Key("ns", "wanted-late")) is None, "no ManagedResource refers to it"
        crowd.later_resources.put_nowait(resource_event("late", 1_002))
        while resources.store.get(Key("ns", "late")) is None:
            await asyncio.sleep(0)
        others = [secret_event("ADDED", f"other-{n}", 2_000 + n) for n in range(6_000)]
        assert sum(map(len, others)) > REFUSED_BYTES
        crowd.later.put_nowait(b"".join(others))
        while store.admit(Key("ns", "other-5999")) is None:
            await asyncio.sleep(0)

        assert (await secrets.get(Key("ns", "wanted-late"))).key.name == "wanted-late"
        running.cancel()

"""Servers that fail, or do not answer: how often they are asked, and what is told then."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from certwright.apply import Action, ChangeSet, Declared, Direct, Engine, ObjectRef
from certwright.apply.engine.engine import MOST_FAILURES, MOST_FAILURES_IN_ALL
from certwright.client import Client, Request
from certwright.client.transport import Response
from certwright.kube import JsonObject
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, namespace, secret

MANY = 500
FAILURE = Response(500, {}, b'{"kind": "Status", "message": "etcd is ill"}')


Which = Callable[[str, str], bool]
"""Says whether an object is meant, by its namespace and name."""


class Ailing:
    """A transport to a server that fails, or does not answer, writes of some ConfigMaps."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._inner = cluster.client.transport
        self.fails: Which = lambda _namespace, _name: False
        self.hangs: Which = lambda _namespace, _name: False
        self.seconds = 0
        self.asked = 0

    async def send(self, request: Request) -> Response:
        namespace, _, rest = request.path.partition("/namespaces/")[2].partition("/")
        kind, _, name = rest.partition("/")
        if request.method != "GET" and kind == "configmaps":
            name = name or orjson.loads(request.body or b"")["metadata"]["name"]
            self.asked += 1
            await asyncio.sleep(3600 if self.hangs(namespace, name) else self.seconds)
            if self.fails(namespace, name):
                return FAILURE
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Bench:
    """An engine and the server it is to be tried on."""

    def __init__(self, cluster: EmbeddedCluster, *, seconds: float | None = None) -> None:
        self.cluster = cluster
        self.server = Ailing(cluster)
        client = Client(self.server, clock=cluster.clock, field_manager="certwright")
        self.engine = Engine(Direct(client), clock=cluster.clock, seconds=seconds)

    async def apply(self, *objects: JsonObject) -> ChangeSet:
        self.server.asked = 0
        return await self.engine.apply(map(Declared, objects))

    async def delete(self, *objects: JsonObject) -> ChangeSet:
        self.server.asked = 0
        return await self.engine.delete(map(ObjectRef.of, objects))


def config_maps(place: str = "default", count: int = MANY) -> list[JsonObject]:
    return [config_map(f"c{number:03}", namespace=place) for number in range(count)]


def counts(changes: ChangeSet) -> Counter[Action]:
    return Counter(entry.action for entry in changes.entries)


async def test_a_server_that_always_fails_is_not_asked_about_every_object(
    embedded_cluster: EmbeddedCluster,
) -> None:
    bench = Bench(embedded_cluster)
    bench.server.fails = lambda _namespace, _name: True
    objects = config_maps()
    for act in (bench.apply, bench.delete):
        if act == bench.delete:
            for obj in objects:
                await embedded_cluster.create(obj)
        changes = await act(*objects)
        asked = bench.server.asked
        assert MOST_FAILURES <= asked < MOST_FAILURES + 8
        assert counts(changes) == {Action.FAILED: asked, Action.BLOCKED: MANY - asked}
        reason = changes.with_action(Action.BLOCKED)[0].reason
        assert reason.endswith("times: etcd is ill")


async def test_many_namespaces_do_not_make_it_many_requests(
    embedded_cluster: EmbeddedCluster,
) -> None:
    bench = Bench(embedded_cluster)
    bench.server.fails = lambda _namespace, _name: True
    objects = [config_map("c", namespace=f"n{number}") for number in range(MANY)]
    changes = await bench.apply(*objects)
    asked = bench.server.asked
    assert MOST_FAILURES_IN_ALL <= asked < MOST_FAILURES_IN_ALL + 8
    assert len(changes.entries) == MANY


async def test_a_kind_that_fails_keeps_no_other_kind_and_no_other_namespace(
    embedded_cluster: EmbeddedCluster,
) -> None:
    await embedded_cluster.create(namespace("other"))
    bench = Bench(embedded_cluster)
    bench.server.fails = lambda namespace, _name: namespace == "default"
    others = [secret("s", namespace="default"), *config_maps("other", 3)]
    changes = await bench.apply(*config_maps(count=30), *others)
    assert counts(changes)[Action.CREATED] == 4


async def test_what_was_not_tried_comes_first_the_next_time(
    embedded_cluster: EmbeddedCluster,
) -> None:
    """Else a few objects that always fail would keep the others for ever."""
    bench = Bench(embedded_cluster)
    failing = {f"c{number:03}" for number in range(20)}
    bench.server.fails = lambda _namespace, name: name in failing
    objects = config_maps(count=40)
    changes = await bench.apply(*objects)
    assert Action.CREATED not in counts(changes)
    changes = await bench.apply(*objects)
    assert counts(changes)[Action.CREATED] == 20
    bench.server.fails = lambda _namespace, _name: False
    changes = await bench.apply(*objects)
    assert changes.complete
    assert counts(changes)[Action.CREATED] == 20


async def test_refusals_are_answers(embedded_cluster: EmbeddedCluster) -> None:
    bench = Bench(embedded_cluster)
    objects = [config_map(f"In_Valid{n}", namespace="default") for n in range(30)]
    changes = await bench.apply(*objects, config_map("z", namespace="default"))
    assert counts(changes) == {Action.FAILED: 30, Action.CREATED: 1}


async def test_what_takes_too_long_is_told_and_goes_on_later(
    embedded_cluster: EmbeddedCluster,
) -> None:
    bench = Bench(embedded_cluster, seconds=10)
    hanging = {f"c{number:03}" for number in range(8)}
    bench.server.hangs = lambda _namespace, name: name in hanging
    objects = config_maps(count=20)
    began = embedded_cluster.clock.monotonic()
    changes = await bench.apply(*objects)
    assert embedded_cluster.clock.monotonic() - began < 16
    assert counts(changes) == {Action.FAILED: 8, Action.BLOCKED: 12}
    assert {entry.unreached for entry in changes.with_action(Action.BLOCKED)} == {True}
    failure = changes.with_action(Action.FAILED)[0]
    assert failure.reason.startswith(f'error during apply of object "{failure.ref.id}": ')
    assert failure.reason.endswith("no result within 15 s")
    changes = await bench.apply(*objects)
    assert counts(changes) == {Action.FAILED: 8, Action.CREATED: 12}
    bench.server.hangs = lambda _namespace, _name: False
    assert (await bench.apply(*objects)).complete
    bench.server.hangs = lambda _namespace, name: name in hanging
    changes = await bench.delete(*objects)
    assert counts(changes)[Action.FAILED] == 8


async def test_what_is_slow_is_not_cut_off(embedded_cluster: EmbeddedCluster) -> None:
    """Each takes four seconds, eight at a time: what was begun in time is done."""
    bench = Bench(embedded_cluster, seconds=10)
    bench.server.seconds = 4
    objects = config_maps(count=40)
    changes = await bench.apply(*objects)
    assert counts(changes) == {Action.CREATED: 24, Action.BLOCKED: 16}
    changes = await bench.apply(*objects)
    assert counts(changes) == {Action.CREATED: 16, Action.UNCHANGED: 24}

"""Servers that list a new kind late, or do not serve it for a moment: its objects are not gone."""

from contextlib import AbstractAsyncContextManager

import orjson
import pytest
from tests.component.apply.conftest import Bench, Toys

from certwright.apply import Action, DeleteRules, Direct, Engine, ObjectRef, Owner
from certwright.client import Client, Request, Response, Stream, Transport
from certwright.kube import JsonObject
from certwright.kube.kinds import CronJob, CustomResourceDefinition
from certwright.testkit import EmbeddedCluster
from certwright.testkit.calls import CountingTransport

OURS = Owner("example.com/owner", "ours")
NOT_SERVED = Response(404, {"content-type": "text/plain; charset=utf-8"}, b"404 page not found\n")
FORBIDDEN = Response(403, {}, b'{"kind": "Status", "code": 403, "reason": "Forbidden"}')


def without_group(response: Response, group: str) -> Response:
    """Return what a server lists that does not serve a group."""
    document = orjson.loads(response.body)
    left = [one for one in document["items"] if one["metadata"].get("name") != group]
    return Response(response.status, response.headers, orjson.dumps({**document, "items": left}))


class Behind:
    """A transport to a server one part of which has not heard of the latest definitions."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._listed: dict[str, Response] = {}
        self.lists_late = False
        self.serves_late = False
        self.hides_definitions = False
        self.lists_definitions_only = False
        self.lacks_jobs = False

    async def send(self, request: Request) -> Response:
        if request.path in {"/api", "/apis"}:
            if not self.lists_late or request.path not in self._listed:
                self._listed[request.path] = await self._inner.send(request)
            response = self._listed[request.path]
            return without_group(response, "batch") if self.lacks_jobs else response
        if request.resource == CronJob and self.lacks_jobs:
            return NOT_SERVED
        if request.resource == Toys.resource and self.serves_late:
            return NOT_SERVED
        if request.resource == CustomResourceDefinition and (
            self.hides_definitions or (self.lists_definitions_only and request.verb == "get")
        ):
            return FORBIDDEN
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture
def behind(embedded_cluster: EmbeddedCluster) -> Behind:
    return Behind(embedded_cluster.server.transport())


@pytest.fixture
def late_bench(embedded_bench: Bench, behind: Behind) -> Bench:
    """A bench on a server that may be behind; the test itself sees what is true."""
    bench = embedded_bench
    transport = CountingTransport(behind, bench.log)
    clock = bench.cluster.clock
    bench.client = Client(transport, clock=clock, field_manager="certwright")
    bench.direct = Direct(bench.client)
    bench.restart()
    return bench


async def test_an_object_of_a_kind_that_is_listed_late_is_deleted(
    late_bench: Bench, behind: Behind, toy: Toys
) -> None:
    bench, placed = late_bench, late_bench.placed(toy("a"))
    await bench.client.discovery.resources()
    behind.lists_late = True
    applied = await bench.apply_as_is(toy.crd(), placed)
    assert bench.told(applied)["Toy/a"] == "created"
    changes = await bench.delete_as_is(placed)
    assert bench.told(changes) == {"Toy/a": "deleted"}
    assert await bench.cluster.find(toy.resource, "a") is None


async def test_definitions_that_may_only_be_listed_are_known(
    late_bench: Bench, behind: Behind, toy: Toys
) -> None:
    bench, placed = late_bench, late_bench.placed(toy("a"))
    await bench.client.discovery.resources()
    behind.lists_late = True
    await bench.apply_as_is(toy.crd(), placed)
    behind.lists_definitions_only = True
    changes = await bench.delete_as_is(placed)
    assert bench.told(changes) == {"Toy/a": "deleted"}


async def test_an_object_of_a_built_in_kind_that_a_server_does_without_is_gone(
    late_bench: Bench, behind: Behind
) -> None:
    bench, behind.lacks_jobs = late_bench, True
    nightly = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    changes = await bench.delete(nightly)
    assert bench.told(changes) == {"CronJob/nightly": "unchanged"}


async def test_the_mark_comes_off_an_object_of_a_kind_that_is_listed_late(
    late_bench: Bench, behind: Behind, toy: Toys
) -> None:
    bench, placed = late_bench, late_bench.placed(toy("a"))
    await bench.client.discovery.resources()
    behind.lists_late = True
    await bench.apply_as_is(toy.crd(), placed, owner=OURS)
    await bench.engine.release([ObjectRef.of(placed)], owner=OURS)
    kept = await bench.cluster.get(toy.resource, "a")
    assert OURS.annotation not in (kept["metadata"].get("annotations") or {})


async def test_a_definition_stays_while_its_objects_cannot_be_looked_at(
    late_bench: Bench, behind: Behind, toy: Toys
) -> None:
    bench, objects = late_bench, [toy.crd(), late_bench.placed(toy("a"))]
    await bench.apply_as_is(*objects)
    behind.serves_late = True
    changes = await bench.delete_as_is(*objects)
    assert bench.told(changes) == {
        "Toy/a": "failed",
        "CustomResourceDefinition/toys.toys.certwright.dev": "blocked",
    }
    assert "does not serve it right now" in changes.entries[0].reason
    behind.serves_late = False
    changes = await bench.delete_as_is(*objects)
    assert bench.told(changes)["Toy/a"] == "deleted"
    await bench.cluster.gone(CustomResourceDefinition, toy.resource.qualified)


async def test_a_deletion_that_the_server_has_no_place_for_did_not_happen(
    late_bench: Bench, behind: Behind, toy: Toys
) -> None:
    bench, placed = late_bench, late_bench.placed(toy("a"))
    await bench.apply_as_is(toy.crd(), placed)

    def stop_serving(*_: object) -> str:
        behind.serves_late = True
        return ""

    rules = DeleteRules(keep=stop_serving)
    changes = await bench.delete_as_is(placed, rules=rules)
    assert bench.told(changes) == {"Toy/a": "failed"}
    assert await bench.cluster.find(toy.resource, "a") is not None


@pytest.mark.parametrize("hides_definitions", [False, True])
async def test_objects_went_with_their_definition_and_the_server_is_asked_once(
    late_bench: Bench, behind: Behind, toy: Toys, *, hides_definitions: bool
) -> None:
    bench = late_bench
    objects: list[JsonObject] = [bench.placed(toy(f"t{number}")) for number in range(20)]
    await bench.apply_as_is(toy.crd(), *objects)
    await bench.cluster.delete(CustomResourceDefinition, toy.resource.qualified)
    await bench.cluster.gone(CustomResourceDefinition, toy.resource.qualified)
    behind.hides_definitions = hides_definitions
    bench.log.mark()
    changes = await bench.delete_as_is(*objects)
    assert {entry.action for entry in changes.entries} == {Action.UNCHANGED}
    calls = bench.log.since_mark()
    assert len(calls.of("CustomResourceDefinition")) == 1
    assert sum(call.path == "/apis" for call in calls) == 1
    restarted = Engine(Direct(bench.client), clock=bench.cluster.clock)
    changes = await restarted.delete(map(ObjectRef.of, objects))
    assert {entry.action for entry in changes.entries} == {Action.UNCHANGED}

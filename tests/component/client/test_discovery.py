"""Kinds are found, remembered, and found again when a CRD appears."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from certwright.client import BadResponse, Client, Request, Response
from certwright.client.discovery import MOST_READS, Discovery
from certwright.client.transport import Stream
from certwright.kube import GroupVersionKind, JsonObject, NotFound, Resource, ServiceUnavailable
from certwright.kube.kinds import Deployment
from certwright.testkit.time.virtual import VirtualLoop

GREETING = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")
CLUSTER_GREETING = Resource("demo.certwright.dev", "v1", "Host", "hosts", namespaced=False)


def aggregated(*resources: Resource) -> JsonObject:
    groups: JsonObject = {}
    for resource in resources:
        served = {
            "resource": resource.plural,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "responseKind": {"group": "", "version": "", "kind": resource.kind},
            "subresources": [{"subresource": "status", "responseKind": {"kind": resource.kind}}],
        }
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(served)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [{"version": v, "resources": served} for v, served in versions.items()],
            }
            for group, versions in groups.items()
        ],
    }


@dataclass
class Served:
    """A transport that serves documents by path, and counts."""

    documents: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        await asyncio.sleep(0)
        found = self.documents[request.path]
        if isinstance(found, int):
            return Response(found, {}, b"")
        return Response(200, {}, orjson.dumps(found))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        pass


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def served() -> Served:
    return Served({"/api": aggregated(), "/apis": aggregated(GREETING, CLUSTER_GREETING)})


@pytest.fixture
def discovery(loop: VirtualLoop, served: Served) -> Discovery:
    return Client(served, clock=loop.clock).discovery


def test_built_in_kinds_cost_nothing(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    assert loop.run_until_complete(discovery.resource_for(Deployment.gvk)) == Deployment
    assert served.asked == []


def test_custom_kinds_cost_two_requests_once(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    for _ in range(3):
        assert loop.run_until_complete(discovery.resource_for(GREETING.gvk)) == GREETING
    assert loop.run_until_complete(discovery.resource_for(CLUSTER_GREETING.gvk)) == CLUSTER_GREETING
    assert served.asked == ["/api", "/apis"]


def test_many_who_ask_at_once_share_one_answer(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    async def many() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(discovery.resource_for(GREETING.gvk))

    loop.run_until_complete(many())
    assert served.asked == ["/api", "/apis"]


def test_a_new_crd_is_noticed(loop: VirtualLoop, served: Served, discovery: Discovery) -> None:
    later = Resource("new.example.com", "v1", "Late", "lates")
    with pytest.raises(NotFound, match=r"no kind Late in new\.example\.com/v1; install its"):
        loop.run_until_complete(discovery.resource_for(later.gvk))
    served.documents["/apis"] = aggregated(GREETING, later)
    loop.run_until_complete(asyncio.sleep(5))
    assert loop.run_until_complete(discovery.resource_for(later.gvk)) == later


def test_a_kind_installed_after_a_read_is_found_at_once(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    late = Resource("new.example.com", "v1", "Late", "lates")
    loop.run_until_complete(discovery.resource_for(GREETING.gvk))
    served.documents["/apis"] = aggregated(GREETING, late)
    assert loop.run_until_complete(discovery.resource_for(late.gvk)) == late


def test_all_that_ask_during_a_read_share_the_next(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    async def ask(kind: str) -> None:
        with pytest.raises(NotFound):
            await discovery.resource_for(GroupVersionKind("a", "v1", kind))

    async def many() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(ask(f"Misspelt{number}"))

    loop.run_until_complete(many())
    assert served.asked.count("/apis") == 2


def test_a_read_that_fails_tells_nothing_to_those_that_wait(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    good = served.documents["/apis"]
    served.documents["/apis"] = {"items": "x"}

    async def in_vain() -> None:
        with pytest.raises(BadResponse):
            await discovery.resource_for(GREETING.gvk)

    async def and_then_well() -> None:
        await in_vain()
        served.documents["/apis"] = good

    async def all_at_once() -> Resource:
        async with asyncio.TaskGroup() as group:
            group.create_task(in_vain())
            group.create_task(and_then_well())
            found = group.create_task(discovery.resource_for(GREETING.gvk))
        return found.result()

    assert loop.run_until_complete(all_at_once()) == GREETING


def test_many_kinds_that_do_not_exist_are_no_flood(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    async def ask_for_ten_seconds() -> None:
        for number in range(100):
            with pytest.raises(NotFound):
                await discovery.resource_for(GroupVersionKind("a", "v1", f"Misspelt{number}"))
            await asyncio.sleep(0.1)

    loop.run_until_complete(ask_for_ten_seconds())
    assert served.asked.count("/apis") == 2 * MOST_READS


def test_a_kind_that_does_not_exist_is_no_flood(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    async def ask_for_ten_seconds() -> None:
        for _ in range(100):
            with pytest.raises(NotFound):
                await discovery.resource_for(GroupVersionKind("a", "v1", "Misspelt"))
            await asyncio.sleep(0.1)

    loop.run_until_complete(ask_for_ten_seconds())
    assert served.asked.count("/apis") == 2


def test_invalidated_discovery_asks_again(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    loop.run_until_complete(discovery.resource_for(GREETING.gvk))
    discovery.invalidate()
    assert discovery.known(GREETING.gvk) is None
    loop.run_until_complete(discovery.resource_for(GREETING.gvk))
    assert served.asked.count("/apis") == 2


def test_resources_lists_all(loop: VirtualLoop, served: Served, discovery: Discovery) -> None:
    served.documents["/api"] = aggregated(Resource("", "v1", "Pod", "pods"))
    assert loop.run_until_complete(discovery.resources()) == (
        Resource("", "v1", "Pod", "pods"),
        GREETING,
        CLUSTER_GREETING,
    )


LEGACY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True},
            {"name": "pods/log", "kind": "Pod", "namespaced": True},
        ],
    },
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "demo.certwright.dev",
                "versions": [
                    {"groupVersion": "demo.certwright.dev/v1beta1", "version": "v1beta1"},
                    {"groupVersion": "demo.certwright.dev/v1", "version": "v1"},
                ],
                "preferredVersion": {"groupVersion": "demo.certwright.dev/v1", "version": "v1"},
            },
            {"name": "down.example.com", "versions": [{"groupVersion": "down.example.com/v1"}]},
        ],
    },
    "/apis/demo.certwright.dev/v1": {
        "kind": "APIResourceList",
        "resources": [{"name": "greetings", "kind": "Greeting", "namespaced": True}],
    },
    "/apis/demo.certwright.dev/v1beta1": {"kind": "APIResourceList", "resources": None},
    "/apis/down.example.com/v1": 503,
}


def test_servers_without_aggregated_discovery(loop: VirtualLoop) -> None:
    discovery = Client(Served(LEGACY), clock=loop.clock).discovery
    assert loop.run_until_complete(discovery.resources()) == (
        Resource("", "v1", "Pod", "pods"),
        GREETING,
    )


STALE = {
    "metadata": {"name": "down.example.com"},
    "versions": [{"version": "v1", "freshness": "Stale", "resources": []}],
}


@pytest.mark.parametrize(
    "documents",
    [
        LEGACY,
        {"/api": aggregated(), "/apis": {"kind": "APIGroupDiscoveryList", "items": [STALE]}},
    ],
)
def test_what_a_silent_server_serves_is_not_known(loop: VirtualLoop, documents: JsonObject) -> None:
    """Whoever deletes objects must not take them for gone with their kind."""
    discovery = Client(Served(documents), clock=loop.clock).discovery
    with pytest.raises(ServiceUnavailable, match=r"down\.example\.com/v1 does not answer"):
        loop.run_until_complete(
            discovery.resource_for(GroupVersionKind("down.example.com", "v1", "Thing"))
        )
    with pytest.raises(NotFound):
        loop.run_until_complete(
            discovery.resource_for(GroupVersionKind("other.example.com", "v1", "Thing"))
        )


def test_a_document_that_is_no_discovery_is_named(
    loop: VirtualLoop, served: Served, discovery: Discovery
) -> None:
    served.documents["/apis"] = {"items": "x"}
    with pytest.raises(BadResponse, match="GET /apis: the response is not a discovery document"):
        loop.run_until_complete(discovery.resource_for(GREETING.gvk))

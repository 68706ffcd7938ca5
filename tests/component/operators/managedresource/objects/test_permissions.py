"""An operator that may not do everything: the rest is done, and what is refused is named."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping
from tests.support.waits import until_allowed

from certwright.client import Client, Request, Response, Transport
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import ConfigMap, Secret, Service
from certwright.runtime import Manager
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.builders import config_map, deployment

RBAC = "rbac.authorization.k8s.io"
USER = "certwright-test-restricted"


class ActingAs:
    """A transport that says it is somebody else."""

    def __init__(self, inner: Transport, user: str) -> None:
        self._inner = inner
        self._header = ("impersonate-user", user)

    def _as(self, request: Request) -> Request:
        return replace(request, headers=(*request.headers, self._header))

    async def send(self, request: Request) -> Response:
        return await self._inner.send(self._as(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(self._as(request))

    async def close(self) -> None:
        """Do nothing: the connection belongs to the cluster."""


def rule(group: str, resource: str, verbs: str) -> JsonObject:
    return {"apiGroups": [group], "resources": [resource], "verbs": verbs.split()}


async def grant(cluster: EmbeddedCluster, *rules: JsonObject) -> None:
    """Let the restricted user do this in the namespace of the test, and nothing else."""
    metadata = {"name": "restricted", "namespace": cluster.namespace}
    api = f"{RBAC}/v1"
    await cluster.apply({"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules})
    await cluster.apply(
        {
            "apiVersion": api,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "restricted"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": USER}],
        }
    )
    await until_allowed(cluster.client, USER, cluster.namespace, rules)


@dataclass
class Restricted:
    """A target where the operator may do what a role says."""

    keeping: Any
    target: Any

    async def allow(self, **verbs: str) -> None:
        """Let the operator use these verbs on the resources of the core group, and no others."""
        await grant(self.target, *(rule("", name, allowed) for name, allowed in verbs.items()))

    async def exists(self, kind: Resource, *names: str) -> set[str]:
        return {name for name in names if await self.target.find(kind, name) is not None}


@pytest.fixture
async def restricted(keeping: Keeping) -> AsyncIterator[Restricted]:
    """On the real server the target is the same one; the embedded one checks no roles by itself."""
    source = keeping.cluster
    if not isinstance(source, EmbeddedCluster):
        yield await restrict(keeping, source)
        return
    async with EmbeddedCluster(seed=7, rbac=True) as target:
        yield await restrict(keeping, target)
        await source.stop()


async def restrict(keeping: Keeping, target: Cluster) -> Restricted:
    transport = ActingAs(target.client.transport, USER)
    client = Client(transport, clock=target.clock)
    namespaces = [keeping.namespace]
    keeping.running = keeping.operator(target=client, target_namespaces=namespaces)
    return Restricted(keeping, target)


ALL = "get list watch create update patch delete"


def service(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}]},
    }


def failed(keeping: Keeping, identity: tuple[str, str]) -> str:
    kind, name = identity
    return f'error during apply of object "{kind}/{keeping.namespace}/{name}": '


@pytest.mark.scenario("MR-48")
async def test_what_is_forbidden_keeps_nobody_else(
    restricted: Restricted, healthy: dict[str, str]
) -> None:
    keeping = restricted.keeping
    await restricted.allow(configmaps=ALL, services="get list watch")
    await keeping.declare("web", service("front"), config_map("a"), deployment("x"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    message = await keeping.message("web")
    assert message.startswith("Could not apply all new resources: 2 errors occurred: [")
    for identity in (("v1/Service", "front"), ("apps/v1/Deployment", "x")):
        assert failed(keeping, identity) in message
    assert f'User "{USER}" cannot' in message
    assert await restricted.exists(ConfigMap, "a") == {"a"}

    await restricted.allow(configmaps=ALL, services=ALL)
    await keeping.rewrite("web", service("front"), config_map("a"))
    await keeping.until_healthy("web")
    assert await restricted.exists(Service, "front") == {"front"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-48")
async def test_a_deletion_that_is_forbidden_is_told_and_forgets_nothing(
    restricted: Restricted, healthy: dict[str, str]
) -> None:
    keeping = restricted.keeping
    await restricted.allow(configmaps="get list watch create update patch")
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a", {"new": "yes"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/DeletionFailed"
    pending = f'deletion of old resource "v1/ConfigMap/{keeping.namespace}/b" is still pending: '
    assert pending in await keeping.message("web")
    assert "forbidden" in await keeping.message("web")
    assert (await restricted.target.get(ConfigMap, "a"))["data"] == {"new": "yes"}
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b"]

    await restricted.allow(configmaps=ALL)
    await keeping.until_healthy("web")
    assert await restricted.exists(ConfigMap, "a", "b") == {"a"}
    assert await keeping.inventory("web") == ["ConfigMap/a"]


@asynccontextmanager
async def running(keeping: Keeping, transport: ActingAs) -> AsyncIterator[Manager]:
    """Run the operator on a connection of its own."""
    clock, place = keeping.cluster.clock, [keeping.namespace]
    operator = keeping.operator(target_namespaces=place)
    manager = Manager(Client(transport, clock=clock), [operator], clock=clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        yield manager
        manager.stop()


async def test_secrets_that_may_not_be_read_delete_nothing(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Embedded, for the time: a permission that comes late is noticed after a minute or so."""
    rules = [
        rule("", "configmaps", ALL),
        rule("resources.gardener.cloud", "managedresources", ALL),
        rule("resources.gardener.cloud", "managedresources/status", ALL),
    ]
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        keeping = type(embedded_keeping)(cluster, embedded_keeping.definition)
        await grant(cluster, *rules)
        await keeping.declare("web", config_map("a"))
        await keeping.settle()
        await cluster.stop()
        await keeping.rewrite("web", config_map("b"))
        async with running(keeping, ActingAs(cluster.client.transport, USER)) as manager:
            await asyncio.sleep(60)
            assert any(check.problem for check in manager.readiness())
            assert (await keeping.conditions("web"))["Applied"] == "False/CannotReadSecret"
            assert f'User "{USER}" cannot' in await keeping.message("web")
            assert 'resource "secrets"' in await keeping.message("web")
            assert await keeping.exists(ConfigMap, "a", "b") == {"a"}
            await grant(cluster, *rules, rule("", "secrets", ALL))
            await asyncio.sleep(600)
            assert await keeping.conditions("web") == healthy
            assert await keeping.exists(ConfigMap, "a", "b") == {"b"}


KEEPING = [
    rule("", "secrets", ALL),
    rule("resources.gardener.cloud", "managedresources", ALL),
    rule("resources.gardener.cloud", "managedresources/status", ALL),
]


async def test_nobody_makes_the_operator_unready_by_what_it_may_not_watch(
    embedded_keeping: Keeping,
) -> None:
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        keeping = type(embedded_keeping)(cluster, embedded_keeping.definition)
        await grant(cluster, *KEEPING)
        await keeping.declare("web", service("front"), config_map("a"))
        async with running(keeping, ActingAs(cluster.client.transport, USER)) as manager:
            await asyncio.sleep(600)
            assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
            checks = list(manager.readiness())
            assert not [check.problem for check in checks if check.problem]
            [said] = [check.detail for check in checks if check.name.startswith("watch Service")]
            assert said.startswith("not required; not synced: forbidden: ")


async def declare_large(keeping: Keeping) -> list[str]:
    """Declare Secrets whose inventory needs a ConfigMap beside the status; return their names."""
    large, names = {"n": "x" * 250_000}, ["a", "b", "c"]
    objects = [{**config_map(name, annotations=large), "kind": "Secret"} for name in names]
    await keeping.declare("web", *[{**obj, "data": {}} for obj in objects])
    return names


async def test_parts_of_an_inventory_that_may_not_be_watched_are_kept_all_the_same(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    """Only that nobody notices when they are deleted: a role may be older than the program."""
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        keeping = type(embedded_keeping)(cluster, embedded_keeping.definition)
        await grant(cluster, *KEEPING, rule("", "configmaps", "get create patch delete"))
        names = await declare_large(keeping)
        async with running(keeping, ActingAs(cluster.client.transport, USER)):
            await asyncio.sleep(60)
            assert await keeping.conditions("web") == healthy
            [part] = await keeping.shards("web")
            assert await keeping.exists(ConfigMap, part) == {part}
            await cluster.delete(keeping.kind, "web")
            await asyncio.sleep(60)
            assert await keeping.exists(Secret, *names) == set()
            assert await keeping.find(keeping.kind, "web") is None


async def test_parts_of_an_inventory_that_may_not_be_written_are_named(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        keeping = type(embedded_keeping)(cluster, embedded_keeping.definition)
        await grant(cluster, *KEEPING)
        await declare_large(keeping)
        async with running(keeping, ActingAs(cluster.client.transport, USER)):
            await asyncio.sleep(60)
            assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
            message = await keeping.message("web")
            assert message.startswith(f"the ConfigMap {keeping.namespace}/web-inventory-")
            assert 'cannot patch resource "configmaps"' in message
            await grant(cluster, *KEEPING, rule("", "configmaps", ALL))
            await asyncio.sleep(600)
            assert await keeping.conditions("web") == healthy

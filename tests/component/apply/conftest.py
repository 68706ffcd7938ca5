"""An engine on a cluster, its calls counted where they leave it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from certwright.apply import ChangeSet, Declared, Direct, Engine, Memory, ObjectRef, Rules
from certwright.client import Client
from certwright.kube import JsonObject, Resource
from certwright.testkit import Cluster
from certwright.testkit.calls import CallLog, Calls, CountingTransport

MANAGER = "certwright"


class Bench:
    """An engine on a cluster; objects without a namespace go to the test's own."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.log = CallLog([])
        transport = CountingTransport(cluster.client.transport, self.log)
        self.client = Client(transport, clock=cluster.clock, field_manager=MANAGER)
        self.direct: Any = Direct(self.client)
        self.restart()

    def restart(self) -> None:
        """Forget everything, as a new process would have."""
        self.engine = Engine(self.direct, Memory(), clock=self.cluster.clock)

    def placed(self, obj: JsonObject) -> JsonObject:
        """Return an object with the namespace of the test."""
        return {**obj, "metadata": {"namespace": self.cluster.namespace, **obj["metadata"]}}

    async def apply(
        self, *objects: JsonObject, rules: Rules | None = None, **options: Any
    ) -> ChangeSet:
        wanted = [Declared(self.placed(obj), rules or Rules()) for obj in objects]
        return await self.engine.apply(wanted, **options)

    async def apply_as_is(self, *objects: JsonObject, **options: Any) -> ChangeSet:
        """Apply cluster-wide objects."""
        return await self.engine.apply([Declared(obj) for obj in objects], **options)

    async def delete(self, *objects: JsonObject, **options: Any) -> ChangeSet:
        refs = [ObjectRef.of(self.placed(obj)) for obj in objects]
        return await self.engine.delete(refs, **options)

    async def delete_as_is(self, *objects: JsonObject, **options: Any) -> ChangeSet:
        """Delete cluster-wide objects."""
        return await self.engine.delete([ObjectRef.of(obj) for obj in objects], **options)

    @staticmethod
    def told(changes: ChangeSet) -> dict[str, str]:
        """Return what became of each object, by kind and name."""
        return {f"{e.ref.kind}/{e.ref.name}": e.action.value for e in changes.entries}

    @contextmanager
    def counted(self) -> Iterator[list[Calls]]:
        """Collect the calls made inside; the first item is there afterwards."""
        self.log.mark()
        found: list[Calls] = []
        yield found
        found.append(self.log.since_mark())


@pytest.fixture
def bench(cluster: Cluster) -> Bench:
    return Bench(cluster)


class Toys:
    """A custom kind that takes anything."""

    resource = Resource("toys.certwright.dev", "v1", "Toy", "toys")

    def crd(self, *, status_subresource: bool = True) -> JsonObject:
        kind = self.resource
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
        version = {
            "name": kind.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
        }
        if status_subresource:
            version["subresources"] = {"status": {}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.qualified},
            "spec": {
                "group": kind.group,
                "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": kind.plural, "singular": "toy"},
                "versions": [version],
            },
        }

    def __call__(self, name: str, **spec: Any) -> JsonObject:
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        return {**head, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def toy() -> Toys:
    return Toys()


@pytest.fixture
def embedded_bench(embedded_cluster: Cluster) -> Bench:
    """An engine for what would disturb others on the real control plane."""
    return Bench(embedded_cluster)


@pytest.fixture
def pass_time() -> Callable[[float], Awaitable[None]]:
    """Let virtual time pass."""
    return asyncio.sleep

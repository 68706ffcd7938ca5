"""Controllers on the embedded server: a kind of their own, and a world to put objects into."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from certwright.client import Client
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import Event
from certwright.runtime import Controller, Manager, Metrics
from certwright.testkit.embedded import EmbeddedCluster
from certwright.testkit.time.virtual import VirtualLoop


class Toys:
    """A custom kind with a status, without a Python type."""

    resource = Resource("toys.certwright.dev", "v1", "Toy", "toys")

    @property
    def crd(self) -> JsonObject:
        kind = self.resource
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.qualified},
            "spec": {
                "group": kind.group,
                "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": kind.plural, "singular": "toy"},
                "versions": [
                    {
                        "name": kind.version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                        "subresources": {"status": {}},
                    }
                ],
            },
        }

    @property
    def kind(self) -> JsonObject:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}

    def __call__(self, name: str, **spec: Any) -> JsonObject:
        return {
            **self.kind,
            "metadata": {"name": name},
            "spec": spec,
        }


@pytest.fixture
def toy() -> Toys:
    return Toys()


class World:
    """An embedded server under virtual time, and managers that run on it."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.server = cluster.server
        self.clock = cluster.clock

    @asynccontextmanager
    async def running(self, *controllers: Controller, **options: Any) -> AsyncIterator[Manager]:
        """Run a manager; leaving the context stops it gracefully."""
        metrics = Metrics()
        client = Client(self.server.transport(), clock=self.clock, observers=[metrics])
        manager = Manager(client, controllers, clock=self.clock, metrics=metrics, **options)
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            yield manager
            manager.stop()

    async def rest(self, seconds: float = 0.0) -> None:
        """Return when nothing happens any more, after letting some time pass."""
        await asyncio.sleep(seconds)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await loop.idle()

    async def secrets(self, *names: str) -> None:
        for name in names:
            metadata = {"namespace": "default", "name": name}
            await self.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})

    async def events(self) -> list[JsonObject]:
        return (await self.cluster.client.list(Event)).items


@pytest.fixture
def world(embedded_cluster: EmbeddedCluster) -> World:
    return World(embedded_cluster)


@pytest.fixture
def metric() -> Callable[..., float]:
    """Read one number of a manager."""

    def read(manager: Manager, name: str, /, **labels: str) -> float:
        return manager.metrics.registry.get_sample_value(name, labels) or 0.0

    return read

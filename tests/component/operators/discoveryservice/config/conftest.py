"""A discovery service of one process, on the embedded server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.envoy.played import PlayedEnvoy
from tests.support.envoy.smallschema import small_schema

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.client import Client
from certwright.clock import Clock
from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Controller, Metrics, Operator, OperatorHost, Part
from certwright.runtime.queue.backoff import Rng
from certwright.testkit import Calls, EmbeddedCluster
from certwright.xds.observations import Connections
from certwright.xds.snapshot import NodeKey, NodeSnapshot
from certwright.xds.store import SnapshotStore


@dataclass
class ReplicaHost:
    """A process of which the test says whether it leads."""

    client: Client
    clock: Clock
    metrics: Metrics
    rng: Rng
    leads: Callable[[], bool]


class Serving:
    """EnvoyConfigs, what is served of them, and Envoys that ask for it."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.snapshots = SnapshotStore()
        self.connections = Connections()
        self.leads = False
        """Whether the standby believes that it leads."""
        self.operator = config_operator(small_schema(), self.snapshots, self.connections)

    def replica(self, name: str) -> Operator:
        """Return the operator as a pod of that name runs it, which leads."""
        identity = ReplicaIdentity("x", Key(self.cluster.namespace, name))
        return config_operator(
            small_schema(), self.snapshots, self.connections, replica=name, identity=identity
        )

    def standby(self, name: str) -> Operator:
        """Return the operator as a replica runs it that does not lead."""
        whole = self.replica(name)

        def build(host: OperatorHost) -> Iterator[Part]:
            leads = lambda: self.leads  # noqa: E731 - a callback
            parts = whole.build(ReplicaHost(host.client, host.clock, host.metrics, host.rng, leads))
            return (part for part in parts if not isinstance(part, Controller))

        return Operator("standby", build)

    async def settle(self) -> Calls:
        """Run the operator until it rests."""
        return await self.cluster.settle(self.operator)

    async def create(self, name: str = "gateway", *, node: str = "", **spec: Any) -> None:
        await self.cluster.create(
            {
                "apiVersion": "marin3r.3scale.net/v1alpha1",
                "kind": "EnvoyConfig",
                "metadata": {"name": name},
                "spec": {"nodeID": node or name, **spec},
            }
        )

    async def change(self, name: str = "gateway", **spec: Any) -> None:
        await self.cluster.patch(EnvoyConfig, name, {"spec": spec})

    async def config(self, name: str = "gateway") -> EnvoyConfig:
        return await self.cluster.get(EnvoyConfig, name)

    async def revisions(self) -> dict[str, EnvoyConfigRevision]:
        found = await self.cluster.list(EnvoyConfigRevision)
        return {one.spec.version: one for one in found}

    async def conditions(self, name: str = "gateway") -> dict[str, tuple[str, str, str]]:
        found = (await self.config(name)).status.conditions
        return {one.type: (one.status, one.reason, one.message) for one in found}

    def node(self, name: str = "gateway") -> NodeKey:
        return NodeKey(self.cluster.namespace, name)

    def snapshot(self, name: str = "gateway") -> NodeSnapshot | None:
        return self.snapshots.get(self.node(name))

    def names(self, name: str = "gateway") -> dict[str, set[str]]:
        """Return what is served, by the last word of its type."""
        snapshot = self.snapshot(name)
        types = snapshot.types if snapshot else {}
        names = {url.rpartition(".")[2]: set(one.resources) for url, one in types.items()}
        assert names.pop("Runtime", {"runtime"}) == {"runtime"}, "always there"
        return names

    def envoy(
        self,
        name: str = "envoy",
        node: str = "gateway",
        verdict: Callable[[str, frozenset[str]], str] = lambda _type, _names: "",
    ) -> PlayedEnvoy:
        return PlayedEnvoy(
            self.snapshots, self.connections, self.cluster.clock, self.node(node), name, verdict
        )


def clusters(*values: JsonObject) -> list[JsonObject]:
    return [{"type": "cluster", "value": value} for value in values]


@pytest.fixture
async def serving(embedded_cluster: EmbeddedCluster) -> Serving:
    made = Serving(embedded_cluster)
    await embedded_cluster.serve(EnvoyConfig, EnvoyConfigRevision)
    return made

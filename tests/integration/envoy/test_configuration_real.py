"""EnvoyConfigs on the real API server, served to a real Envoy over mTLS."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.envoy.filexds import real_schema, require_envoy
from tests.support.envoy.resources import TYPES, cluster, listener, rds, routes
from tests.support.envoy.secrets import key_pair, tls_secret
from tests.support.envoy.sidecar import sidecar, write_sidecar
from tests.support.waits import PATIENCE_SECONDS
from tests.support.xds.client import Served

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.testkit import RealCluster
from certwright.testkit.controlplane.component import free_ports
from certwright.testkit.envoy import check_bootstrap
from certwright.xds.typeurls import SECRET

pytestmark = pytest.mark.real


def resource(kind: str, value: JsonObject) -> JsonObject:
    return {"type": kind, "value": value}


BAD = {"name": "bad", "type": "EDS", "connect_timeout": "1s"}
"""Envoy alone knows that a cluster of this type needs more."""


class Operated:
    """A discovery service with its server, on the real API server."""

    def __init__(self, cluster: RealCluster, served: Served) -> None:
        self.cluster = cluster
        self.served = served

    async def apply(self, name: str, resources: list[JsonObject]) -> None:
        await self.cluster.apply(
            {
                "apiVersion": "marin3r.3scale.net/v1alpha1",
                "kind": "EnvoyConfig",
                "metadata": {"name": name},
                "spec": {"nodeID": name, "resources": resources},
            }
        )

    async def until(self, name: str, condition: Callable[[EnvoyConfig], bool]) -> EnvoyConfig:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition(found := await self.cluster.get(EnvoyConfig, name)):
                await asyncio.sleep(0.1)
        return found


@asynccontextmanager
async def operated(cluster: RealCluster) -> AsyncIterator[Operated]:
    require_envoy()
    served = Served()
    operator = config_operator(real_schema(), served.snapshots, served.server.connections)
    async with served.running():
        await cluster.settle(operator)
        yield Operated(cluster, served)


async def test_the_generated_bootstrap_is_valid_and_its_stream_is_accepted(
    tmp_path: Path,
) -> None:
    require_envoy()
    served = Served()
    async with served.running():
        bootstrap = write_sidecar(tmp_path, served.server.port, served.ca.client("shop"))
        arguments = ("--service-node", "gateway", "--service-cluster", "gateway")
        check = partial(check_bootstrap, arguments=arguments)
        assert await asyncio.to_thread(check, bootstrap) == ""
        async with sidecar(served, tmp_path, "shop") as running:
            await running.until(connected(served))
            [seen, *_] = served.server.connections.observe()
            assert (seen.node.namespace, seen.node.node_id) == ("shop", "gateway")
            stats = await running.admin.stats("^cluster.xds_cluster.ssl")
            assert stats["cluster.xds_cluster.ssl.handshake"] == 1
        wrong = bootstrap | {"dynamic_resources": {"cds_config": {"nothing": 1}}}
        assert "nothing" in await asyncio.to_thread(check, wrong)


def connected(served: Served) -> Callable[[], Awaitable[bool]]:
    async def some() -> bool:
        return bool(served.server.connections.observe())

    return some


async def test_a_version_that_envoy_rejects_is_rolled_back(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    [port] = free_ports(1)
    good = [
        resource("cluster", cluster("a")),
        resource("route", routes("r", "a")),
        resource("listener", listener("l", port, rds=rds("r"))),
    ]
    async with operated(real_cluster) as service:
        await service.apply("gateway", good)
        await service.apply("other", good)
        first = await service.until("gateway", lambda one: one.status.cache_state == "InSync")
        version = first.status.published_version
        async with sidecar(service.served, tmp_path, real_cluster.namespace) as running:
            await service.until(
                "gateway",
                lambda one: [(v.version, v.envoys) for v in one.status.envoys] == [(version, 1)],
            )
            await service.apply("gateway", [*good, resource("cluster", BAD)])
            after = await service.until(
                "gateway",
                lambda one: one.status.cache_state == "Rollback" and bool(one.status.rejections),
            )
            assert after.status.published_version == version
            [rejection] = after.status.rejections
            assert rejection.type == "Cluster"
            assert rejection.version == after.status.desired_version
            assert "bad" in rejection.message
            revisions = await real_cluster.list(EnvoyConfigRevision)
            tainted = {one.spec.version for one in revisions if one.status.tainted is True}
            assert tainted == {after.status.desired_version}
            assert await running.admin.is_ready()
        other = await real_cluster.get(EnvoyConfig, "other")
        assert other.status.cache_state == "InSync"
        assert not other.status.rejections


async def test_a_renewed_secret_reaches_envoy_and_a_broken_one_does_not(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    now = real_cluster.clock.now()
    [port] = free_ports(1)
    tls = {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": f"{TYPES}envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "tls_certificate_sds_secret_configs": [
                    {"name": "web", "sds_config": {"ads": {}, "resource_api_version": "V3"}}
                ]
            },
        },
    }
    value = listener("l", port, route_config=routes("r"))
    value["filter_chains"][0]["transport_socket"] = tls
    pairs = [key_pair(now, f"web{number}.example") for number in range(2)]
    async with operated(real_cluster) as service:
        await real_cluster.create(tls_secret("web", *pairs[0]))
        await service.apply(
            "gateway",
            [resource("listener", value), {"type": "secret", "generateFromTlsSecret": "web"}],
        )
        async with sidecar(service.served, tmp_path, real_cluster.namespace) as running:

            def shows(host: str) -> Any:
                async def shown() -> bool:
                    return host in await running.admin.text("/certs")

                return shown

            await running.until(shows("web0.example"))
            data = tls_secret("web", *pairs[1])["data"]
            await real_cluster.patch(Secret, "web", {"data": data})
            await running.until(shows("web1.example"))
            await real_cluster.patch(
                Secret, "web", {"data": {"tls.key": tls_secret("x", *pairs[0])["data"]["tls.key"]}}
            )

            def unusable(one: EnvoyConfig) -> bool:
                conditions = {c.type: (c.status, c.message) for c in one.status.conditions}
                return conditions.get("ResourcesInSync", ("", ""))[0] == "False"

            found = await service.until("gateway", unusable)
            [message] = [c.message for c in found.status.conditions if c.type == "ResourcesInSync"]
            assert message.startswith("Secret web tls.key does not belong to tls.crt")
            assert await shows("web1.example")()
            observed = service.served.server.connections.observe()
            [secrets] = [one for seen in observed for one in seen.types if one.type_url == SECRET]
            assert secrets.rejections == 0

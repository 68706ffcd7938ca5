"""A Pod that is admitted gets a sidecar that becomes ready with its configuration."""

import asyncio
import http.client
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.envoy.filexds import real_schema, require_envoy
from tests.support.envoy.resources import listener
from tests.support.envoy.sidecar import write_sidecar
from tests.support.webhook import admission_body
from tests.support.xds.client import Served

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import JsonObject
from certwright.kube.reviews.admission import read_admission_review
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.operators.discoveryservice.injection.annotations import PREFIX, SidecarDefaults
from certwright.operators.discoveryservice.injection.review import decide
from certwright.testkit import RealCluster
from certwright.testkit.controlplane.component import free_ports
from certwright.testkit.envoy import envoy
from certwright.webhook import Patch

pytestmark = pytest.mark.real


def admitted(namespace: str) -> JsonObject:
    """Return the sidecar that the webhook adds to a Pod."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "app",
            "namespace": namespace,
            "annotations": {PREFIX + "node-id": "gateway"},
        },
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    }
    decision = decide(read_admission_review(admission_body(pod)), SidecarDefaults("instance"))
    assert isinstance(decision, Patch)
    [sidecar] = [
        one for one in decision.obj["spec"]["containers"] if one["name"] == "envoy-sidecar"
    ]
    found: JsonObject = sidecar
    return found


def arguments(sidecar: JsonObject) -> list[str]:
    """Return the arguments of a sidecar but for the bootstrap, which is elsewhere here."""
    words = list(sidecar["args"])
    assert words[:2] == ["-c", "/etc/envoy/bootstrap/config.json"]
    return words[2:]


def get(port: int) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


async def test_an_injected_sidecar_becomes_ready_and_serves(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    """DS-8: Pod, webhook, Envoy, mTLS, traffic."""
    require_envoy()
    served = Served()
    [port] = free_ports(1)
    answer = {
        "name": "r",
        "virtual_hosts": [
            {
                "name": "all",
                "domains": ["*"],
                "routes": [
                    {
                        "match": {"prefix": "/"},
                        "direct_response": {"status": 200, "body": {"inline_string": "hello"}},
                    }
                ],
            }
        ],
    }
    operator = config_operator(real_schema(), served.snapshots, served.server.connections)
    await real_cluster.serve(EnvoyConfig, EnvoyConfigRevision)
    async with served.running():
        await real_cluster.settle(operator)
        value = listener("l", port, route_config=answer)
        await real_cluster.create(
            {
                "apiVersion": "marin3r.3scale.net/v1alpha1",
                "kind": "EnvoyConfig",
                "metadata": {"name": "gateway"},
                "spec": {"nodeID": "gateway", "resources": [{"type": "listener", "value": value}]},
            }
        )
        await real_cluster.settle()
        client = served.ca.client(real_cluster.namespace)
        bootstrap = write_sidecar(tmp_path, served.server.port, client)
        words = arguments(admitted(real_cluster.namespace))
        async with envoy(bootstrap, tmp_path, arguments=words) as running:
            await running.until(running.admin.is_ready)
            assert await asyncio.to_thread(get, port) == (200, b"hello")
            [seen] = served.server.connections.observe()
            assert (seen.node.namespace, seen.node.node_id) == (real_cluster.namespace, "gateway")
            await running.until(_in_sync(served))


def _in_sync(served: Served) -> Callable[[], Awaitable[bool]]:
    async def synced() -> bool:
        return all(one.in_sync for one in served.server.connections.observe())

    return synced

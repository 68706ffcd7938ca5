"""Secrets and EndpointSlices that a configuration names."""

import base64
from datetime import timedelta

import pytest
from tests.component.operators.discoveryservice.config.conftest import Serving, clusters
from tests.support.envoy.resources import cluster, eds_cluster
from tests.support.envoy.secrets import key_pair, tls_secret

from certwright.kube import JsonObject
from certwright.kube.kinds import EndpointSlice, Secret
from certwright.xds.typeurls import ENDPOINTS, SECRET

WEB: JsonObject = {"type": "secret", "generateFromTlsSecret": "web"}


def body(serving: Serving) -> bytes:
    snapshot = serving.snapshot()
    assert snapshot is not None
    return snapshot.types[SECRET].resources["web"].body


async def replace(serving: Serving, certificate: bytes, key: bytes) -> None:
    data = tls_secret("web", certificate, key)["data"]
    await serving.cluster.patch(Secret, "web", {"data": data})
    await serving.settle()


async def test_a_secret_is_served_and_followed(serving: Serving) -> None:
    now = serving.cluster.clock.now()
    first, second = key_pair(now), key_pair(now)
    await serving.cluster.create(tls_secret("web", *first))
    await serving.create(resources=[WEB])
    await serving.settle()
    assert first[0] in body(serving)
    assert first[1] in body(serving)
    await replace(serving, *second)
    assert second[0] in body(serving)
    assert len(await serving.revisions()) == 1, "a renewed certificate is no other configuration"


@pytest.mark.parametrize("damage", ["no PEM", "wrong key", "expired", "wrong type", "deleted"])
async def test_a_secret_that_cannot_be_used_is_named_and_the_last_is_kept(
    serving: Serving, damage: str
) -> None:
    now = serving.cluster.clock.now()
    first = key_pair(now)
    await serving.cluster.create(tls_secret("web", *first))
    await serving.create(resources=[WEB, *clusters(cluster("a"))])
    await serving.settle()
    match damage:
        case "no PEM":
            await replace(serving, b"hello", first[1])
            problem = "tls.crt: no certificate found"
        case "wrong key":
            await replace(serving, first[0], key_pair(now)[1])
            problem = "tls.key does not belong to tls.crt"
        case "expired":
            await replace(serving, *key_pair(now - timedelta(days=40)))
            problem = "the certificate expired at"
        case "wrong type":
            await serving.cluster.delete(Secret, "web")
            await serving.cluster.create(tls_secret("web", *first) | {"type": "Opaque"})
            problem = "is of type Opaque, not kubernetes.io/tls"
        case _:
            await serving.cluster.delete(Secret, "web")
            problem = "does not exist"
    await serving.settle()
    status, reason, message = (await serving.conditions())["ResourcesInSync"]
    assert (status, reason) == ("False", "SecretUnusable")
    assert message.startswith(f"Secret web {problem}")
    assert "(spec.resources[0].generateFromTlsSecret)" in message
    assert first[0] in body(serving), "Envoys keep the last"
    assert serving.names()["Cluster"] == {"a"}
    [revision] = (await serving.revisions()).values()
    assert revision.status.tainted is not True
    assert "PRIVATE" not in str((await serving.config()).status)
    if damage != "deleted":
        await serving.cluster.delete(Secret, "web")
    await serving.cluster.create(tls_secret("web", *first))
    await serving.settle()
    assert (await serving.conditions())["ResourcesInSync"][0] == "True"


async def test_a_secret_that_comes_later_is_served_then(serving: Serving) -> None:
    await serving.create(resources=[WEB, *clusters(cluster("a"))])
    await serving.settle()
    assert serving.names() == {"Cluster": {"a"}}
    await serving.cluster.create(tls_secret("web", *key_pair(serving.cluster.clock.now())))
    await serving.settle()
    assert serving.names() == {"Cluster": {"a"}, "Secret": {"web"}}


async def test_a_secret_that_an_envoy_rejects_taints_no_version(serving: Serving) -> None:
    await serving.cluster.create(tls_secret("web", *key_pair(serving.cluster.clock.now())))
    await serving.create(resources=[WEB])
    await serving.settle()
    serving.envoy(verdict=lambda url, _names: "no" if url == SECRET else "")
    await serving.settle()
    assert (await serving.config()).status.cache_state == "InSync"


async def test_endpoints_follow_the_slices(serving: Serving) -> None:
    source = {
        "selector": {"matchLabels": {"app": "a"}},
        "clusterName": "a",
        "targetPort": "http",
    }
    endpoints = {"type": "endpoint", "generateFromEndpointSlices": source}
    await serving.create(resources=[*clusters(eds_cluster("a")), endpoints])
    await serving.settle()
    slice_: JsonObject = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a-1", "labels": {"app": "a"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
    }
    await serving.cluster.create(slice_)
    await serving.settle()
    snapshot = serving.snapshot()
    assert snapshot is not None
    assert b"10.1.2.3" in snapshot.types[ENDPOINTS].resources["a"].body
    await serving.cluster.delete(EndpointSlice, "a-1")
    await serving.settle()
    snapshot = serving.snapshot()
    assert snapshot is not None
    assert b"10.1.2.3" not in snapshot.types[ENDPOINTS].resources["a"].body


async def test_an_opaque_value_is_served_under_its_alias(serving: Serving) -> None:
    data = {"token": base64.b64encode(b"s3cret").decode()}
    await serving.cluster.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "plain"}, "data": data}
    )
    source = {"name": "plain", "key": "token", "alias": "web"}
    await serving.create(resources=[{"type": "secret", "generateFromOpaqueSecret": source}])
    await serving.settle()
    assert b"s3cret" in body(serving)

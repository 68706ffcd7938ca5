"""The kinds of the discovery service as API servers serve them: what they accept and refuse."""

from typing import Any

import pytest

from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import Invalid, JsonObject, Object
from certwright.testkit import Cluster

VALUE = {"type": "cluster", "value": {"name": "a", "anything": [1]}}
CERTIFICATE = {
    "commonName": "a",
    "validFor": 60,
    "signer": {"caSigned": {"caSecretRef": {"name": "ca", "namespace": "infra"}}},
    "secretRef": {"name": "a", "namespace": ""},
}


def resource(kind: type[Object], spec: JsonObject) -> JsonObject:
    head = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
    return {**head, "metadata": {"generateName": "a-"}, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (DiscoveryService, {"discoveryServiceNamespace": "infra", "pkiConfg": {}, "xdsPort": 1}),
        (DiscoveryServiceCertificate, CERTIFICATE),
        (DiscoveryServiceCertificate, {**CERTIFICATE, "isCA": True, "signer": {"selfSigned": {}}}),
        (EnvoyConfig, {"nodeID": "n", "resources": [VALUE]}),
        (EnvoyConfig, {"nodeID": "n", "envoyResources": {"clusters": [{"value": "{}"}]}}),
        (EnvoyConfigRevision, {"nodeID": "n", "version": "1", "resources": [VALUE]}),
    ],
)
async def test_the_server_takes_a_spec_and_adds_nothing(
    cluster: Cluster, kind: type[Object], spec: JsonObject
) -> None:
    await cluster.serve(kind)
    made = await cluster.create(resource(kind, spec))
    assert made["spec"] == spec
    await cluster.client.delete(kind, cluster.key(kind, made["metadata"]["name"]))


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        (DiscoveryService, {"discoveryServiceNamespace": "No!"}, "discoveryServiceNamespace"),
        (DiscoveryServiceCertificate, {**CERTIFICATE, "validFor": 0}, "validFor"),
        (DiscoveryServiceCertificate, {**CERTIFICATE, "signer": {}}, "signer"),
        (EnvoyConfig, {"nodeID": "n"}, "exactly one of"),
        (EnvoyConfig, {"nodeID": "n", "resources": [{"type": "cluster"}]}, "exactly one of"),
        (EnvoyConfig, {"nodeID": "", "resources": [VALUE]}, "nodeID"),
        (EnvoyConfigRevision, {"nodeID": "n", "resources": [VALUE]}, "version"),
    ],
)
async def test_the_server_refuses_with_the_field(
    cluster: Cluster, kind: type[Object], spec: dict[str, Any], field: str
) -> None:
    await cluster.serve(kind)
    with pytest.raises(Invalid, match=field):
        await cluster.create(resource(kind, spec))

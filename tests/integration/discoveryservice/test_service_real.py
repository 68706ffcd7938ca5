"""A DiscoveryService on the real API server: its objects are accepted, defaulted and removed."""

import asyncio
from typing import Any

import pytest

from certwright import pki
from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.kube import JsonObject
from certwright.kube.kinds import (
    Deployment,
    MutatingWebhookConfiguration,
    Namespace,
    Secret,
    Service,
)
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.service.operator import service_operator
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.testkit.real import RealCluster

pytestmark = [pytest.mark.real]

DS, DSC = DiscoveryService.resource, DiscoveryServiceCertificate.resource


def service(own: str, enabled: str) -> JsonObject:
    return {
        "apiVersion": DS.api_version,
        "kind": DS.kind,
        "metadata": {"name": "x"},
        "spec": {"discoveryServiceNamespace": own, "enabledNamespaces": [enabled]},
    }


@pytest.mark.scenario("DS-1", "DS-5", "DS-33", "DS-36", "DS-48")
async def test_it_is_installed_kept_and_removed(real_cluster: RealCluster) -> None:
    own, enabled = f"{real_cluster.namespace}-xds", f"{real_cluster.namespace}-shop"
    for name in (own, enabled):
        await real_cluster.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
    operators = (
        service_operator(ServiceDefaults(image="certwright:test")),
        certificate_operator(CertificateOperatorSettings(keys=pki.KeySpec())),
    )
    await real_cluster.serve(DiscoveryService, DiscoveryServiceCertificate)
    await real_cluster.create(service(own, enabled))
    try:
        await real_cluster.settle(*operators)
        await until_found(real_cluster, MutatingWebhookConfiguration, "marin3r-x")
        await until_found(real_cluster, Secret, f"{enabled}/envoy-sidecar-client-cert")
        await real_cluster.settle()
        deployment = await real_cluster.get(Deployment, f"{own}/marin3r-x")
        assert deployment["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
        # There is no node. All objects were accepted all the same.
        await until_reason(real_cluster, "DeploymentNotAvailable")
        await real_cluster.settle()
        assert (await real_cluster.restart()).writes == 0
        again = await real_cluster.get(Deployment, f"{own}/marin3r-x")
        assert again["metadata"]["generation"] == 1

        edited: Any = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
        await real_cluster.patch(
            MutatingWebhookConfiguration, "marin3r-x", edited, type="application/json-patch+json"
        )
        await real_cluster.settle()
        registered = await real_cluster.get(MutatingWebhookConfiguration, "marin3r-x")
        assert registered["webhooks"][0]["failurePolicy"] == "Fail"

        await real_cluster.patch(DS, "x", {"spec": {"serviceConfig": {"type": "Headless"}}})
        await until_headless(real_cluster, f"{own}/marin3r-x", headless=True)
        await real_cluster.patch(DS, "x", {"spec": {"serviceConfig": {"type": "ClusterIP"}}})
        await until_headless(real_cluster, f"{own}/marin3r-x", headless=False)
    finally:
        await real_cluster.delete(DS, "x")
        await real_cluster.gone(DS, "x")
        for name in (own, enabled):
            await real_cluster.delete(Namespace, name)
    assert await real_cluster.find(MutatingWebhookConfiguration, "marin3r-x") is None


async def until_found(cluster: RealCluster, kind: Any, name: str) -> None:
    async with asyncio.timeout(60):
        while await cluster.find(kind, name) is None:
            await asyncio.sleep(0.1)


async def until_reason(cluster: RealCluster, reason: str) -> None:
    async with asyncio.timeout(60):
        while True:
            conditions = (await cluster.get(DS, "x"))["status"]["conditions"]
            if any(one["type"] == "Ready" and one["reason"] == reason for one in conditions):
                return
            await asyncio.sleep(0.1)


async def until_headless(cluster: RealCluster, name: str, *, headless: bool) -> None:
    async with asyncio.timeout(60):
        while True:
            found = await cluster.find(Service, name)
            if found is not None and (found["spec"]["clusterIP"] == "None") is headless:
                return
            await asyncio.sleep(0.1)

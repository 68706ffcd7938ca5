"""Pods are admitted while a control plane takes up certificates and authorities, on the real server."""

import asyncio
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.node import discoverypod

from certwright import pki
from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.client import Client, TransportError, until_served
from certwright.kube import ApiError, JsonObject, Key, crd_manifest
from certwright.kube.kinds import Deployment, EndpointSlice, Secret
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
from certwright.operators.discoveryservice.hashes import hash_of_certificate
from certwright.operators.discoveryservice.service.objects.workload import HASH_LABEL
from certwright.operators.discoveryservice.service.operator import service_operator
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.runtime import Manager
from certwright.testkit.node import NodeSettings, Program
from certwright.testkit.node.plane import control_plane_with_node

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

DS, DSC = DiscoveryService.resource, DiscoveryServiceCertificate.resource
KINDS = (DiscoveryService, DiscoveryServiceCertificate, EnvoyConfig, EnvoyConfigRevision)
IMAGES = {"discovery:*": Program((sys.executable, str(Path(discoverypod.__file__))))}
CA = Key("infra", "marin3r-ca-cert-x")
PLANE, SERVER = Key("infra", "marin3r-x"), Key("infra", "marin3r-server-cert-x")
SPEC: JsonObject = {"discoveryServiceNamespace": "infra", "enabledNamespaces": ["shop"]}
POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "app",
        "namespace": "shop",
        "labels": {"marin3r.3scale.net/status": "enabled"},
        "annotations": {"marin3r.3scale.net/node-id": "app"},
    },
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}


@dataclass
class Visitor:
    """Creates labelled Pods again and again, as dry runs, and counts endpoints that are ready."""

    client: Client
    ready: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    number: int = 0

    async def endpoints(self) -> int:
        labels = f"kubernetes.io/service-name={PLANE.name}"
        slices = (await self.client.list(EndpointSlice, PLANE.namespace, labels=labels)).items
        found = {
            one["addresses"][0]: (one.get("conditions") or {}).get("ready")
            for each in slices
            for one in each.get("endpoints") or ()
        }
        return sum(bool(ready) for ready in found.values())

    async def run(self, pause: float = 0.05) -> None:
        while True:
            try:
                if pause:
                    self.ready.append(await self.endpoints())
                self.number += 1
                pod = await self.client.create(POD, dry_run=True)
                names = [one["name"] for one in pod["spec"]["containers"]]
                if "envoy-sidecar" not in names:
                    self.failures.append(f"not injected: {names}")
            except (ApiError, TransportError) as error:
                self.failures.append(str(error))
            await asyncio.sleep(pause)


async def until_ready(client: Client) -> None:
    while True:
        status = (await client.get(DS, Key("", "x"))).get("status") or {}
        ready = [one for one in status.get("conditions") or () if one["type"] == "Ready"]
        if ready and ready[0]["status"] == "True":
            return
        await asyncio.sleep(0.2)


async def rolled_out(client: Client, label: str) -> bool:
    found = await client.get(Deployment, PLANE)
    spec, status = found["spec"], found.get("status") or {}
    return bool(
        spec["template"]["metadata"]["labels"][HASH_LABEL] == label
        and status.get("observedGeneration") == found["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("readyReplicas") == 2
        and status.get("replicas") == 2
    )


async def hash_of_server(client: Client) -> str:
    secret = await client.get(Secret, SERVER)
    return hash_of_certificate(b64decode(secret["data"]["tls.crt"]))


@asynccontextmanager
async def serving(
    settings: CertificateOperatorSettings, **spec: str
) -> AsyncIterator[tuple[Client, asyncio.TaskGroup]]:
    """Run a DiscoveryService whose pods are processes of this machine, until it is ready."""
    node = NodeSettings(probe_scale=0.1, volume_lag_seconds=2.0)
    async with (
        control_plane_with_node(images=IMAGES, settings=node) as running,
        asyncio.timeout(220),
        asyncio.TaskGroup() as tasks,
    ):
        client = running.client
        for kind in KINDS:
            await client.apply(crd_manifest(kind))
            await until_served(client, crd_manifest(kind))
        for name in ("infra", "shop"):
            await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        defaults = ServiceDefaults(image="discovery:test")
        manager = Manager(client, [service_operator(defaults), certificate_operator(settings)])
        tasks.create_task(manager.run())
        service = {"apiVersion": DS.api_version, "kind": DS.kind, "metadata": {"name": "x"}}
        await client.create({**service, "spec": {**SPEC, **spec}})
        await until_ready(client)
        yield client, tasks
        manager.stop()


async def request_renewal(client: Client, key: Key) -> None:
    certificate = await client.get(DSC, key)
    asked = {
        "type": "CertificateNeedsRenewal",
        "status": "True",
        "reason": "Asked",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    conditions = [*certificate["status"]["conditions"], asked]
    await client.patch(DSC, key, {"status": {"conditions": conditions}}, subresource="status")


@pytest.mark.scenario("DS-18")
async def test_pods_follow_a_certificate_and_one_is_always_ready() -> None:
    settings = CertificateOperatorSettings(keys=pki.KeySpec())
    async with serving(settings, certificateReload="Rollout") as (client, tasks):
        old = await hash_of_server(client)
        assert await rolled_out(client, old)
        visitor = Visitor(client)
        visits = tasks.create_task(visitor.run())
        await request_renewal(client, SERVER)
        while (new := await hash_of_server(client)) == old:
            await asyncio.sleep(0.1)
        while not await rolled_out(client, new):
            await asyncio.sleep(0.2)
        visits.cancel()
        assert visitor.failures == []
        assert len(visitor.ready) > 20
        assert min(visitor.ready) >= 1


@pytest.mark.scenario("DS-22")
async def test_pods_are_admitted_while_the_authority_is_replaced() -> None:
    settings = CertificateOperatorSettings(
        keys=pki.KeySpec(),
        observer=ReportObserver(),
        watched=WATCHED,
        propagation=timedelta(seconds=10),
        soonest=timedelta(seconds=5),
    )
    async with serving(settings) as (client, tasks):
        old = (await client.get(DSC, CA))["status"]["serialNumber"]
        visitor = Visitor(client)
        visits = [tasks.create_task(visitor.run(pause=0.0)) for _ in range(2)]
        await request_renewal(client, CA)
        began = asyncio.get_running_loop().time()
        phases: set[str] = set()
        status: JsonObject = {}
        while (
            status.get("serialNumber", old) == old
            or phases == {"Stable"}
            or (status["rotation"]["phase"] != "Stable")
        ):
            status = (await client.get(DSC, CA))["status"]
            phases.add(status["rotation"]["phase"])
            await asyncio.sleep(0.1)
        seconds = asyncio.get_running_loop().time() - began
        for one in visits:
            one.cancel()
        sys.stdout.write(f"{visitor.number} admissions, {visitor.number / seconds:.0f}/s\n")
        assert visitor.failures == []
        assert visitor.number > 200
        assert {"Distributed", "Activated"} <= phases

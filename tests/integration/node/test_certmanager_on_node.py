"""cert-manager as it is released, on a node of the real control plane: pods, roles and Services."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support.bundles.released import released

from certwright.client import until_served
from certwright.clock import SYSTEM
from certwright.kube import ApiError, InternalError, JsonObject, Key, Resource
from certwright.kube.kinds import Lease, Pod, Secret, ValidatingWebhookConfiguration
from certwright.testkit.certmanager.assets import LATEST
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.node import NodeSettings
from certwright.testkit.node.plane import PlaneWithNode, control_plane_with_node

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

SECONDS = 15.0
"""From applied manifests to an issued certificate."""
NAMESPACE = "cert-manager"
Certificate = Resource("cert-manager.io", "v1", "Certificate", "certificates")


@pytest_asyncio.fixture
async def running() -> AsyncIterator[PlaneWithNode]:
    """Give a control plane with a node that has cert-manager's images."""
    try:
        images = await asyncio.to_thread(cert_manager_images, [LATEST])
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    settings = NodeSettings(probe_scale=0.05)
    async with control_plane_with_node(images=images, settings=settings) as made:
        yield made


async def applied(running: PlaneWithNode, manifests: tuple[JsonObject, ...]) -> None:
    """Apply a release: its namespace and definitions, and then the rest."""
    definitions = [each for each in manifests if each["kind"] == "CustomResourceDefinition"]
    for manifest in manifests:
        await running.client.apply(manifest)
        if manifest is definitions[-1]:
            for definition in definitions:
                await until_served(running.client, definition)


async def created(running: PlaneWithNode, kind: str, name: str, spec: JsonObject) -> None:
    """Create an object as soon as the webhook is there to judge it, and trusted."""
    metadata = {"name": name, "namespace": "default"}
    obj = {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
    while True:
        try:
            await running.client.create(obj)
        except InternalError:
            await asyncio.sleep(0.1)
        else:
            return


async def is_ready(running: PlaneWithNode) -> bool:
    found = await running.client.get(Certificate, Key("default", "one"))
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


async def test_a_release_leads_to_a_certificate(running: PlaneWithNode) -> None:
    client, bundle = running.client, released(f"v{LATEST}")
    started = SYSTEM.monotonic()
    await applied(running, bundle.objects)
    spec = {"secretName": "one", "dnsNames": ["one.example"], "issuerRef": {"name": "own"},
            "privateKey": {"algorithm": "ECDSA", "size": 256}}  # fmt: skip
    async with asyncio.timeout(60):
        await created(running, "Issuer", "own", {"selfSigned": {}})
        await created(running, "Certificate", "one", spec)
        while not await is_ready(running):
            await asyncio.sleep(0.05)
    seconds = SYSTEM.monotonic() - started
    secret = await client.get(Secret, Key("default", "one"))
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["tls.crt"])
    assert seconds < SECONDS, f"it took {seconds:.1f} s"

    with pytest.raises(ApiError, match="denied the request"):
        await created(running, "Certificate", "bad", {**spec, "issuerRef": {"name": ""}})
    authority = await client.get(Secret, Key(NAMESPACE, "cert-manager-webhook-ca"))
    key = Key("", "cert-manager-webhook")
    registered = await client.get(ValidatingWebhookConfiguration, key)
    injected = registered["webhooks"][0]["clientConfig"]["caBundle"]
    assert injected == authority["data"]["ca.crt"]
    lease = await client.get(Lease, Key("kube-system", "cert-manager-controller"))
    pods = (await client.list(Pod, NAMESPACE)).items
    names = {pod["metadata"]["labels"]["app"]: pod["metadata"]["name"] for pod in pods}
    holder = f"{names['cert-manager']}-external-cert-manager-controller"
    assert lease["spec"]["holderIdentity"] == holder

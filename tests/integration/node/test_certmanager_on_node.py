"""cert-manager as it is released, on a node of the real control plane: pods, roles and Services."""

import asyncio
import base64

import pytest
from tests.support.bundles.released import released
from tests.support.certmanager.releases import (
    apply_release,
    certificate_manifest,
    certificate_spec,
    plane_with_releases,
    request_certificate,
    until_ready,
)

from certwright.kube import ApiError, Key
from certwright.kube.kinds import Lease, Pod, Secret, ValidatingWebhookConfiguration
from certwright.testkit.certmanager.assets import LATEST

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

SECONDS = 150.0
"""From applied manifests to an issued certificate, on a busy machine; where processors are free, it
takes two, and five with probes as far apart as kubelet has them."""
NAMESPACE = "cert-manager"


async def test_a_release_leads_to_a_certificate() -> None:
    bundle = await asyncio.to_thread(released, f"v{LATEST}")
    async with plane_with_releases(LATEST) as running:
        client = running.client
        await apply_release(client, bundle.objects)
        async with asyncio.timeout(SECONDS):
            await request_certificate(client, "one")
            await until_ready(client, "one")
        secret = await client.get(Secret, Key("default", "one"))
        assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["tls.crt"])

        bad = certificate_manifest("bad", {**certificate_spec("bad"), "issuerRef": {"name": ""}})
        with pytest.raises(ApiError, match="denied the request"):
            await client.create(bad)
        authority = await client.get(Secret, Key(NAMESPACE, "cert-manager-webhook-ca"))
        key = Key("", "cert-manager-webhook")
        registered = await client.get(ValidatingWebhookConfiguration, key)
        injected = registered["webhooks"][0]["clientConfig"]["caBundle"]
        assert injected == authority["data"]["ca.crt"]
        pods = (await client.list(Pod, NAMESPACE)).items
        names = {pod["metadata"]["labels"]["app"]: pod["metadata"]["name"] for pod in pods}
        lease = await client.get(Lease, Key("kube-system", "cert-manager-controller"))
        holder = f"{names['cert-manager']}-external-cert-manager-controller"
        assert lease["spec"]["holderIdentity"] == holder
        key = Key("kube-system", "cert-manager-cainjector-leader-election")
        lease = await client.get(Lease, key)
        assert lease["spec"]["holderIdentity"].startswith(f"{names['cainjector']}_")

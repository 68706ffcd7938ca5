"""The authority is replaced while Pods are created: none is refused."""

import base64
from typing import Any

from tests.component.operators.discoveryservice.service.conftest import Serving

from certwright import pki
from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube.kinds import ConfigMap, MutatingWebhookConfiguration, Secret

DSC = DiscoveryServiceCertificate.resource
AUTHORITY = "infra/marin3r-ca-cert-x"


async def trusted(serving: Serving) -> tuple[int, int]:
    """Return how many authorities the API server trusts, and how many the ConfigMap names."""
    [webhook] = (await serving.find(MutatingWebhookConfiguration, "marin3r-x"))["webhooks"]
    bundle = base64.b64decode(webhook["clientConfig"]["caBundle"])
    listed = (await serving.find(ConfigMap, "infra/marin3r-ca-bundle-x"))["data"]["ca.crt"]
    return len(pki.read_bundle(bundle)), len(pki.read_bundle(listed.encode()))


async def test_no_pod_is_refused_while_the_authority_is_replaced(serving: Serving) -> None:
    await serving.served("a", "b")
    before = await serving.find(Secret, AUTHORITY)
    asked: Any = {
        "type": "CertificateNeedsRenewal",
        "status": "True",
        "reason": "Requested",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    conditions = (await serving.find(DSC, AUTHORITY))["status"]["conditions"]
    change = {"status": {"conditions": [*conditions, asked]}}
    await serving.cluster.patch(DSC, AUTHORITY, change, subresource="status")
    phases, counts = [], []
    for _ in range(120):
        await serving.advance(60)
        assert await serving.is_injected("a")
        assert (await serving.conditions())["Ready"] == "True/Serving"
        phases.append((await serving.status()).get("rotation", {}).get("phase"))
        counts.append(await trusted(serving))
        if phases[-1] == "Stable" and "Activated" in phases:
            break
    assert phases[-1] == "Stable", phases
    assert "Activated" in phases
    assert (2, 2) in counts
    assert counts[-1] == (1, 1)
    after = await serving.find(Secret, AUTHORITY)
    assert after["data"]["tls.crt"] != before["data"]["tls.crt"]


async def test_how_long_secrets_take_reaches_the_authority_and_goes_again(serving: Serving) -> None:
    await serving.served("a", pkiConfig={"propagation": "90s"})
    key = "operator.marin3r.3scale.net/propagation"
    authority = await serving.find(DSC, AUTHORITY)
    assert authority["metadata"]["annotations"][key] == "90s"
    await serving.change(pkiConfig={"propagation": "3m"})
    await serving.settle()
    authority = await serving.find(DSC, AUTHORITY)
    assert authority["metadata"]["annotations"][key] == "3m"
    await serving.change(pkiConfig=None)
    await serving.settle()
    authority = await serving.find(DSC, AUTHORITY)
    assert key not in (authority["metadata"].get("annotations") or {})

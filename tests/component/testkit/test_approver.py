"""The stand-in for cert-manager's approval."""

import pytest

from certwright import pki
from certwright.api.certmanager import CertificateRequest, CertificateRequestSpec, IssuerRef
from certwright.kube import ObjectMeta
from certwright.testkit import Cluster
from certwright.testkit.actors import approver


@pytest.fixture
async def request_(cluster: Cluster) -> None:
    csr = pki.build_request(pki.generate_key(pki.KeySpec()), pki.parse_name("CN=web"))
    spec = CertificateRequestSpec(request=pki.write_request(csr), issuer_ref=IssuerRef("ca"))
    await cluster.create(CertificateRequest(metadata=ObjectMeta(name="web"), spec=spec))


async def decided(cluster: Cluster) -> list[tuple[str, str]]:
    found = await cluster.get(CertificateRequest, "web")
    return [(one.type, one.status) for one in found.status.conditions]


async def test_requests_are_approved_once(cluster: Cluster, request_: None) -> None:
    calls = await cluster.settle(approver(cluster.namespace))
    assert await decided(cluster) == [("Approved", "True")]
    assert calls.writes == 1
    assert (await cluster.restart(approver(cluster.namespace))).writes == 0


async def test_what_was_denied_stays_denied(cluster: Cluster, request_: None) -> None:
    denied = {
        "type": "Denied", "status": "True", "reason": "No", "message": "no",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    patch = {"status": {"conditions": [denied]}}
    await cluster.patch(CertificateRequest, "web", patch, subresource="status")
    assert (await cluster.settle(approver(cluster.namespace))).writes == 0

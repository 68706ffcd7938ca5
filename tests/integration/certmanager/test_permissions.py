"""Issuers work with exactly the roles they print, and cert-manager approves through theirs only."""

from typing import Any, cast

import pytest
from tests.support.certmanager.certmanager_world import Service

from certwright.api.certmanager import Certificate, CertificateRequest, IssuerRef
from certwright.client import connect
from certwright.issuers.selfsigned import app as selfsigned
from certwright.kube import Forbidden, Key, find_condition, resource_of
from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager

pytestmark = pytest.mark.timeout(120)

REQUEST = resource_of(CertificateRequest)
DOCTORS = 10
"""How often one is asked whether something is wrong."""


async def test_the_issuer_may_do_what_it_does_and_no_more(
    cert_manager_cluster: RealCluster,
    ca_service: Service,
    ca_issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
) -> None:
    """The Certificate shows that its roles suffice; these are what a thief of its token wants."""
    await make_certificate("web", ca_issuer)
    await until(Certificate, "web", ready)
    assert b"orbidden" not in ca_service.process.log.read_bytes()
    namespace = cert_manager_cluster.namespace
    request, tls = Key(namespace, "web-1"), Key(namespace, "web-tls")
    changed = {"metadata": {"labels": {"mine": "now"}}}
    async with connect(kubeconfig=ca_service.kubeconfig) as issuer:
        with pytest.raises(Forbidden):
            await issuer.list(ConfigMap, namespace)
        with pytest.raises(Forbidden):
            await issuer.patch(REQUEST, request, changed)
        with pytest.raises(Forbidden):
            await issuer.delete(REQUEST, request)
        with pytest.raises(Forbidden):
            await issuer.patch(Secret, tls, {"data": {"tls.key": ""}})
        with pytest.raises(Forbidden):
            await issuer.patch(resource_of(Certificate), Key(namespace, "web"), changed)


async def test_an_issuer_cannot_approve_its_own_requests(
    cert_manager_cluster: RealCluster, ca_service: Service, make_request: Any
) -> None:
    """It may write the status of requests, but the webhook asks who may approve."""
    foreign = IssuerRef("any", "CAIssuer", "issuers.certwright.dev")
    await make_request("mine", foreign)
    condition = {
        "type": "Denied",
        "status": "True",
        "reason": "x",
        "message": "x",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    key = Key(cert_manager_cluster.namespace, "mine")
    async with connect(kubeconfig=ca_service.kubeconfig) as issuer:
        with pytest.raises(Forbidden):
            await issuer.patch(
                REQUEST, key, {"status": {"conditions": [condition]}}, subresource="status"
            )


async def test_the_doctor_finds_that_no_permission_is_missing(
    ca_service: Service, say: Any
) -> None:
    """Asked as the issuer itself; who answers CSRs may also ask what cert-manager may do."""
    where = ["--kubeconfig", ca_service.kubeconfig, "--namespace", ca_service.namespace]
    _, out = await say("certwright.issuers.ca", "doctor", "--name", ca_service.namespace, *where)
    lines = out.splitlines()
    assert len([line for line in lines if line.startswith("ok ")]) > 5
    assert [line for line in lines if line.startswith("MISSING")] == []
    assert [line for line in lines if line.startswith("WARNING")] == []
    assert any(
        line.startswith("ok ") and line.endswith("approval by cert-manager/cert-manager")
        for line in lines
    )


async def test_cert_manager_approves_through_the_generated_role_only(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, run_service: Any, ca_issuer: IssuerRef,
    make_certificate: Any, until: Any, ready: Any, say: Any,
) -> None:  # fmt: skip
    asked = ["--kubeconfig", cert_manager.plane.kubeconfig, "--namespace", "selfsigned"]
    left_out = []

    def is_approval(manifest: Any) -> bool:
        if not manifest["metadata"]["name"].startswith("cert-manager-controller-approve:"):
            return False
        left_out.append(manifest)
        return True

    cluster, resource = cert_manager_cluster, cast("Any", selfsigned.namespaced_kind).resource
    async with run_service("certwright.issuers.selfsigned", is_approval):
        await cluster.serve(*selfsigned.kinds)
        await cluster.create(
            {
                "apiVersion": f"{resource.group}/{resource.version}",
                "kind": resource.kind,
                "metadata": {"name": "mine"},
                "spec": {},
            }
        )
        for _ in range(DOCTORS):  # what others installed is taken back, which takes a moment
            code, out = await say("certwright.issuers.selfsigned", "doctor", *asked)
            if code:
                break
        assert "may not approve requests for selfsignedissuers.issuers.certwright.dev/*" in out
        await make_certificate("waiting", IssuerRef("mine", resource.kind, resource.group))
        await until(CertificateRequest, "waiting-1", lambda _one: True)
        await make_certificate("other", ca_issuer)
        await until(Certificate, "other", ready)  # the approver has been at work meanwhile
        request = await cluster.get(CertificateRequest, "waiting-1")
        assert find_condition(request.status.conditions, "Approved") is None
        assert [one["kind"] for one in left_out] == ["ClusterRole", "ClusterRoleBinding"]
        for manifest in left_out:
            await cluster.client.apply(manifest, field_manager="test")
        await until(Certificate, "waiting", ready)
        code, out = await say("certwright.issuers.selfsigned", "doctor", *asked)
        assert code == 0, out

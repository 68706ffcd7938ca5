"""The cert-manager of the tests does what the one in a cluster does."""

from typing import Any

import pytest
from tests.support.waits import until, until_allowed

from certwright.api.certmanager import Certificate, CertificateRequest, IssuerRef
from certwright.client import Client, connect
from certwright.kube import (
    Forbidden,
    JsonObject,
    Key,
    Object,
    crd_manifest,
    custom_resource,
    find_condition,
    resource_of,
)
from certwright.kube.kinds import Secret
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager

pytestmark = pytest.mark.timeout(120)

ISSUER = IssuerRef(name="selfsigned", kind="Issuer", group="cert-manager.io")


@pytest.fixture
async def issuer(cert_manager_cluster: RealCluster) -> IssuerRef:
    await cert_manager_cluster.create(
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": {"name": ISSUER.name},
            "spec": {"selfSigned": {}},
        }
    )
    return ISSUER


async def test_a_certificate_becomes_ready(
    cert_manager_cluster: RealCluster,
    issuer: IssuerRef,
    make_certificate: Any,
    until: Any,
    ready: Any,
) -> None:
    await make_certificate("web", issuer)
    made = await until(Certificate, "web", ready)
    secret = await cert_manager_cluster.get(Secret, "web-tls")
    assert made.status.revision == 1
    assert set(secret["data"]) == {"ca.crt", "tls.crt", "tls.key"}


async def test_the_webhook_fills_in_who_asks(
    cert_manager_cluster: RealCluster, make_request: Any
) -> None:
    asked = await make_request("mine", IssuerRef(name="x", kind="Y", group="example.com"))
    assert asked.spec.username == "certwright-admin"
    assert "system:masters" in asked.spec.groups


@custom_resource("rig.example.com", "v1")
class ForeignIssuer(Object):
    """A kind that cert-manager has never heard of."""


async def test_cert_manager_approves_requests_for_its_own_issuers_only(
    cert_manager_cluster: RealCluster, issuer: IssuerRef, make_request: Any, until: Any
) -> None:
    await cert_manager_cluster.install(crd_manifest(ForeignIssuer))
    foreign = IssuerRef(name="theirs", kind="ForeignIssuer", group="rig.example.com")
    await make_request("theirs", foreign)
    await make_request("ours", issuer)
    approved = await until(CertificateRequest, "ours", is_approved)
    decided = find_condition(approved.status.conditions, "Approved")
    assert decided is not None
    assert decided.reason == "cert-manager.io"
    assert not is_approved(await cert_manager_cluster.get(CertificateRequest, "theirs"))


async def test_approving_needs_the_permission_to_approve(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, make_request: Any
) -> None:
    cluster = cert_manager_cluster
    await cluster.install(crd_manifest(ForeignIssuer))
    foreign = IssuerRef(name="theirs", kind="ForeignIssuer", group="rig.example.com")
    await make_request("theirs", foreign)
    rule = await grant(
        cluster, "rig-status", "cert-manager.io", "certificaterequests/status", ["patch"]
    )
    await until_allowed(cluster.client, "rig-approver", cluster.namespace, [rule])
    key = cluster.key(CertificateRequest, "theirs")
    async with connect(kubeconfig=cert_manager.plane.kubeconfig_for("rig-approver")) as approver:
        with pytest.raises(Forbidden, match="does not have permissions to set approved/denied"):
            await approve(approver, key)
        name = f"foreignissuers.rig.example.com/{cluster.namespace}.theirs"
        await grant(cluster, "rig-approve", "cert-manager.io", "signers", ["approve"], [name])
        await approve_once_allowed(approver, key)
    assert is_approved(await cluster.get(CertificateRequest, "theirs"))


async def approve(client: Client, key: Key) -> None:
    approved = {
        "type": "Approved",
        "status": "True",
        "reason": "Tested",
        "message": "fine",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = {"status": {"conditions": [approved]}}
    await client.patch(resource_of(CertificateRequest), key, patch, subresource="status")


async def approve_once_allowed(client: Client, key: Key) -> None:
    """Approve; the server notices a new role a moment after it was stored."""

    async def approved() -> bool:
        try:
            await approve(client, key)
        except Forbidden:
            return False
        return True

    await until("the webhook lets the request be approved", approved)


async def grant(
    cluster: RealCluster, name: str, group: str, resource: str, verbs: Any, names: Any = ()
) -> JsonObject:
    rule: JsonObject = {"apiGroups": [group], "resources": [resource], "verbs": verbs}
    if names:
        rule["resourceNames"] = list(names)
    api = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{api}/v1", "metadata": {"name": name}}
    await cluster.create({**role, "kind": "ClusterRole", "rules": [rule]})
    await cluster.create(
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": api, "kind": "User", "name": "rig-approver"}],
        }
    )
    return rule


def is_approved(request: CertificateRequest) -> bool:
    return find_condition(request.status.conditions, "Approved") is not None

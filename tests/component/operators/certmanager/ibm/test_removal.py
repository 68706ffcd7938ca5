"""What goes with a CertManager, in which order, and what stays."""

from typing import Any

import pytest
from tests.component.operators.certmanager.ibm.conftest import CM, FINALIZER, HERE, Ibm
from tests.component.operators.certmanager.ibm.test_deployments import elsewhere

from certwright.kube import Resource
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    CustomResourceDefinition,
    Deployment,
    Lease,
    Namespace,
    Secret,
    ServiceAccount,
)
from certwright.operators.certmanager.v010.definitions import definitions
from certwright.operators.certmanager.v010.names import watcher_labels

CONTROLLER, WATCHER = "cert-manager-controller", "configmap-watcher"
ORIGIN = "operators.redhat.io/origin"
ISSUER = Resource("certmanager.k8s.io", "v1alpha1", "Issuer", "issuers")
ORDER = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "APIService",
    "Service",
    "Deployment cert-manager-webhook",
    "Deployment cert-manager-cainjector",
    "Deployment configmap-watcher",
    "Deployment cert-manager-controller",
    "RoleBinding",
    "ClusterRoleBinding",
    "ClusterRole",
    "Secret",
    "ServiceAccount",
]


async def remove(ibm: Ibm, seconds: float = 120) -> list[Any]:
    """Delete the CertManager; return what the operator deletes."""
    await ibm.cluster.delete(CM, "default")
    calls = [*await ibm.settle(), *await ibm.advance(seconds)]
    return [call for call in calls if call.verb == "delete"]


def told(call: Any) -> str:
    kind = call.resource.kind
    return f"{kind} {call.path.rpartition('/')[2]}" if kind == "Deployment" else kind


@pytest.mark.scenario("CM-48")
async def test_all_goes_in_order_and_certificates_stay(ibm: Ibm) -> None:
    await ibm.secret("src/my")
    await ibm.installed(enableWebhook=True, pullSecret={"name": "my", "namespace": "src"})
    await ibm.secret(f"{HERE}/issued")
    issuer = {"apiVersion": ISSUER.api_version, "kind": "Issuer"}
    deleted = await remove(ibm)
    assert await ibm.find(CM, "default") is None
    kinds = [told(call) for call in deleted if call.resource.kind != "Lease"]
    first = dict.fromkeys(kinds)
    assert [kind for kind in first if kind in ORDER[:2]] == [*first][:2]
    assert [*first][2:] == ORDER[2:]
    for one in definitions():
        assert await ibm.find(CustomResourceDefinition, one["metadata"]["name"])
    assert await ibm.find(Secret, f"{HERE}/issued")
    assert await ibm.find(Namespace, HERE)
    assert await ibm.find(Secret, "src/my")
    metadata = {"name": "kept", "namespace": HERE}
    assert await ibm.cluster.create({**issuer, "metadata": metadata, "spec": {}})


@pytest.mark.scenario("CM-49")
async def test_a_deletion_while_the_operator_was_down_is_completed(ibm: Ibm) -> None:
    await ibm.installed(enableWebhook=True)
    await ibm.cluster.stop()
    await ibm.cluster.delete(CM, "default")
    assert (await ibm.find(CM, "default"))["metadata"]["deletionTimestamp"]
    ibm.running = None
    await ibm.advance(60)
    assert await ibm.find(CM, "default") is None
    assert await ibm.deployment(CONTROLLER) is None
    assert await ibm.find(ClusterRole, "cert-manager") is None


@pytest.mark.scenario("CM-50")
async def test_a_role_of_others_stays(ibm: Ibm) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "cert-manager"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    await ibm.cluster.create(role)
    before = await ibm.find(ClusterRole, "cert-manager")
    await ibm.installed()
    await remove(ibm)
    assert await ibm.find(CM, "default") is None
    assert await ibm.find(ClusterRole, "cert-manager") == before
    assert await ibm.find(ClusterRoleBinding, "cert-manager") is None


@pytest.mark.scenario("CM-51")
async def test_one_that_cannot_be_deleted_is_named_and_the_others_go(ibm: Ibm) -> None:
    await ibm.installed()
    ibm.refuses["delete", "ClusterRoleBinding", "cert-manager"] = 403
    await remove(ibm)
    found = await ibm.find(CM, "default")
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert "ClusterRoleBinding" in await ibm.message("Degraded")
    assert await ibm.deployment(CONTROLLER) is None
    assert await ibm.find(ClusterRole, "cert-manager") is None
    assert await ibm.find(ServiceAccount, f"{HERE}/cert-manager") is None
    assert 3 <= len(ibm.refused) <= 12  # within two minutes: it backs off
    ibm.refuses.clear()
    await ibm.advance(300)
    assert await ibm.find(CM, "default") is None


@pytest.mark.scenario("CM-52")
async def test_what_is_gone_already_is_noted_and_ignored(
    ibm: Ibm, capsys: pytest.CaptureFixture[str]
) -> None:
    await ibm.installed()
    await ibm.cluster.stop()
    await ibm.cluster.delete(CM, "default")
    await ibm.cluster.delete(ClusterRole, "cert-manager")
    ibm.running = None
    await ibm.advance(60)
    assert await ibm.find(CM, "default") is None
    lines = [one for one in capsys.readouterr().out.splitlines() if "already gone" in one]
    (line,) = [one for one in lines if "ClusterRole cert-manager" in one]
    assert "v=1" in line


@pytest.mark.scenario("CM-53")
async def test_a_conflict_does_not_hold_up_a_deletion(ibm: Ibm) -> None:
    image = "quay.io/jetstack/cert-manager-controller:v1"
    await ibm.namespace("other")
    await ibm.cluster.create(elsewhere("other", "cm", image))
    await ibm.declare()
    await ibm.advance(10)
    assert (await ibm.find(CM, "default"))["metadata"]["finalizers"] == [FINALIZER]
    await remove(ibm, 1)
    assert await ibm.find(CM, "default") is None
    assert await ibm.find(Deployment, "other/cm")


@pytest.mark.scenario("CM-54")
async def test_an_adopted_deployment_survives_without_our_marks(ibm: Ibm) -> None:
    await ibm.namespace(HERE)
    await ibm.cluster.create(elsewhere(HERE, WATCHER, "watcher:1", **watcher_labels()))
    before = await ibm.deployment(WATCHER)
    await ibm.installed()
    adopted = await ibm.deployment(WATCHER)
    assert adopted["metadata"]["uid"] == before["metadata"]["uid"]
    assert adopted["metadata"]["annotations"][ORIGIN] == "adopted"
    assert (await ibm.container(WATCHER))["args"] == ["--v=0"]
    await remove(ibm)
    assert await ibm.find(CM, "default") is None
    assert await ibm.deployment(CONTROLLER) is None
    left = (await ibm.deployment(WATCHER))["metadata"]
    assert left["uid"] == before["metadata"]["uid"]
    assert "ownerReferences" not in left
    assert left["labels"] == watcher_labels()
    marks = [name for name in left["annotations"] if name.startswith("operators.redhat.io/")]
    assert marks == ["operators.redhat.io/cert-manager-version"]


@pytest.mark.scenario("CM-55")
async def test_deleted_and_created_at_once_there_is_one_installation(ibm: Ibm) -> None:
    await ibm.installed(enableWebhook=True)
    old = await ibm.find(CM, "default")
    await ibm.cluster.delete(CM, "default")
    for _ in range(60):
        await ibm.advance(1)
        if await ibm.find(CM, "default") is None:
            break
    new = await ibm.declare(enableWebhook=True)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    await ibm.until_ready()
    assert await ibm.deployment(CONTROLLER)
    assert (await ibm.conditions())["Ready"] == "True/Deployed"
    claim = await ibm.find(Lease, "kube-system/cert-manager-install-claim")
    assert claim["spec"]["holderIdentity"] == f"CertManager/default/{new['metadata']['uid']}"
    assert (await ibm.status())["managedResources"] == 19

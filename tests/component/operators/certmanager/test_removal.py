"""What goes when an installation is removed, in which order, and what stays."""

import pytest
from tests.component.operators.certmanager.conftest import CMD, V121, Installing, packed

from certwright.apply import ObjectRef
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import (
    ClusterRole,
    CustomResourceDefinition,
    Deployment,
    Lease,
    Namespace,
    Secret,
    Service,
    ValidatingWebhookConfiguration,
)
from certwright.testkit.actors.certmanager import small_release

CERTIFICATE = Resource("cert-manager.io", "v1", "Certificate", "certificates")
CHALLENGE = Resource("acme.cert-manager.io", "v1", "Challenge", "challenges")
CLAIM = "kube-system/cert-manager-install-claim"


async def issue(installing: Installing) -> None:
    cluster = installing.cluster
    cluster.client.discovery.invalidate()
    head = {"apiVersion": "cert-manager.io/v1", "metadata": {"name": "own"}}
    await cluster.apply({**head, "kind": "Issuer", "spec": {"selfSigned": {}}})
    spec = {"secretName": "one", "dnsNames": ["a.example"], "issuerRef": {"name": "own"}}
    await cluster.create({**head, "kind": "Certificate", "metadata": {"name": "one"}, "spec": spec})
    await installing.advance(20)
    assert await installing.find(Secret, "default/one") is not None


async def left(installing: Installing, version: str = V121) -> set[str]:
    """Return the kinds of which objects of the installation are there."""
    refs = [ObjectRef.of(one) for one in small_release(version)]
    return {ref.kind for ref in refs if await installing.exists(ref)}


def secret(name: str, namespace: str = "cert-manager") -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"k": "dg=="}}


@pytest.mark.scenario("CMD-53")
async def test_definitions_and_what_they_define_stay(installing: Installing) -> None:
    await installing.installed()
    await issue(installing)
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    assert await installing.find(CMD, "cluster") is None
    assert await left(installing) == {"CustomResourceDefinition"}
    assert await installing.find(CERTIFICATE, "default/one") is not None
    assert await installing.find(Secret, "default/one") is not None
    definition = await installing.find(CustomResourceDefinition, "certificates.cert-manager.io")
    assert "operators.redhat.io/owner" not in definition["metadata"].get("annotations", {})
    assert await installing.find(Lease, CLAIM) is None


@pytest.mark.scenario("CMD-54")
async def test_a_namespace_with_secrets_of_others_stays(installing: Installing) -> None:
    await installing.installed()
    await installing.cluster.create(secret("account-key"))
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    assert await installing.find(CMD, "cluster") is None
    assert await left(installing) == {"CustomResourceDefinition", "Namespace"}
    assert await installing.find(Secret, "cert-manager/account-key") is not None


async def test_a_policy_lets_the_namespace_go_all_the_same(installing: Installing) -> None:
    await installing.installed(deletionPolicy={"namespace": "Delete"})
    await installing.cluster.create(secret("account-key"))
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    assert await installing.find(Namespace, "cert-manager") is None


@pytest.mark.scenario("CMD-55")
async def test_a_namespace_of_others_is_never_deleted(installing: Installing) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}}
    await installing.cluster.create(namespace)
    await installing.installed(deletionPolicy={"namespace": "Delete"})
    found = await installing.find(Namespace, "cert-manager")
    assert "operators.redhat.io/owner" not in found["metadata"].get("annotations", {})
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    assert await installing.find(CMD, "cluster") is None
    assert await left(installing) == {"CustomResourceDefinition", "Namespace"}


@pytest.mark.scenario("CMD-56")
async def test_registrations_go_first(installing: Installing) -> None:
    await installing.installed()
    await installing.cluster.delete(CMD, "cluster")
    calls = await installing.advance(60)
    kinds = [call.resource.kind for call in calls if call.resource and call.verb == "delete"]
    assert set(kinds[:2]) == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    assert kinds.index("Deployment") < kinds.index("ClusterRole")
    assert kinds[-1] in {"Namespace", "Lease"}


@pytest.mark.scenario("CMD-56")
async def test_a_webhook_that_is_gone_holds_up_nothing(installing: Installing) -> None:
    await installing.installed()
    await issue(installing)
    await installing.cluster.stop()
    await installing.cluster.delete(Deployment, "cert-manager/cert-manager-webhook")
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    assert await installing.find(CMD, "cluster") is None
    assert await installing.find(ValidatingWebhookConfiguration, "cert-manager-webhook") is None
    touched = {"metadata": {"annotations": {"a": "b"}}}
    await installing.cluster.patch(CERTIFICATE, "default/one", touched)


async def test_conversion_needs_no_webhook_afterwards(installing: Installing) -> None:
    def converted(objects: list[JsonObject]) -> None:
        for one in objects:
            if one["kind"] == "CustomResourceDefinition":
                service = {"name": "cert-manager-webhook", "namespace": "cert-manager"}
                webhook = {
                    "clientConfig": {"service": {**service, "path": "/convert"}},
                    "conversionReviewVersions": ["v1"],
                }
                one["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}

    installing.bundles[V121] = packed(V121, converted)
    await installing.installed()
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    definition = await installing.find(CustomResourceDefinition, "certificates.cert-manager.io")
    assert definition["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.scenario("CMD-57")
async def test_deleted_and_created_again_it_is_installed_again(installing: Installing) -> None:
    await installing.installed()
    await issue(installing)
    await installing.cluster.delete(CMD, "cluster")
    await installing.settle()
    for _ in range(60):
        if await installing.find(CMD, "cluster") is None:
            break
        await installing.advance(1)
    await installing.cluster.create(installing.resource())
    await installing.until_available()
    assert await left(installing) == {one["kind"] for one in small_release(V121)}
    assert await installing.find(Secret, "default/one") is not None


@pytest.mark.scenario("CMD-58")
async def test_without_the_operator_everything_stays(installing: Installing) -> None:
    await installing.installed()
    await installing.cluster.stop()
    before = await left(installing)
    await installing.cluster.advance(minutes=30)
    assert await left(installing) == before
    assert await installing.obstacles() == []


@pytest.mark.scenario("CMD-59")
async def test_definitions_go_only_without_certificates_or_by_force(
    installing: Installing,
) -> None:
    await installing.installed(deletionPolicy={"crds": "Delete"})
    await issue(installing)
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(120)
    conditions = await installing.conditions()
    assert conditions["Degraded"] == "True/RemovalBlocked"
    assert "Certificate default/one" in await installing.message("Degraded")
    assert await left(installing) == {one["kind"] for one in small_release(V121)}
    assert await installing.obstacles() == []
    await installing.change(deletionPolicy={"force": True})
    await installing.advance(120)
    assert await installing.find(CMD, "cluster") is None
    assert await left(installing) == set()
    assert await installing.find(Secret, "default/one") is not None


@pytest.mark.scenario("CMD-60")
async def test_what_is_not_managed_is_not_repaired(installing: Installing) -> None:
    await installing.installed()
    await installing.change(managementState="Unmanaged")
    await installing.advance(5)
    await installing.cluster.delete(Service, "cert-manager/cert-manager-webhook")
    await installing.cluster.patch(ClusterRole, "cert-manager-controller-issuers", {"rules": []})
    calls = await installing.advance(60)
    assert calls.writes == calls.of("CertManagerDeployment").writes + calls.of("Event").writes
    assert await installing.find(Service, "cert-manager/cert-manager-webhook") is None
    await installing.change(managementState="Managed")
    await installing.advance(10)
    assert await installing.find(Service, "cert-manager/cert-manager-webhook") is not None


@pytest.mark.scenario("CMD-60")
async def test_what_is_to_be_removed_goes_and_definitions_stay(installing: Installing) -> None:
    await installing.installed()
    await issue(installing)
    await installing.change(managementState="Removed")
    await installing.advance(60)
    assert await left(installing) == {"CustomResourceDefinition"}
    assert await installing.find(CERTIFICATE, "default/one") is not None
    conditions = await installing.conditions()
    assert conditions["Available"] == "False/Removed"
    assert conditions["Degraded"] == "False/AsExpected"
    assert (await installing.advance(600)).writes == 0
    await installing.change(managementState="Managed")
    await installing.until_available()


async def test_challenges_that_run_get_time_to_finish(installing: Installing) -> None:
    await installing.installed()
    installing.cluster.client.discovery.invalidate()
    head = {"apiVersion": CHALLENGE.api_version, "kind": "Challenge"}
    spec = {"issuerRef": {"name": "own"}}
    await installing.cluster.create({**head, "metadata": {"name": "one"}, "spec": spec})
    await installing.cluster.patch(
        CHALLENGE, "one", {"status": {"processing": True}}, subresource="status"
    )
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(30)
    assert await installing.find(Deployment, "cert-manager/cert-manager") is not None
    assert "Challenge default/one" in await installing.message("Progressing")
    await installing.advance(120)
    assert await installing.find(CMD, "cluster") is None


async def test_a_removal_that_is_held_up_costs_little(installing: Installing) -> None:
    await installing.installed()
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    await installing.cluster.patch(ClusterRole, "cert-manager-controller-issuers", held)
    await installing.cluster.delete(CMD, "cluster")
    await installing.advance(60)
    calls = await installing.advance(3600)
    assert calls.writes - calls.of("Event").writes <= 3600 / 120
    assert len(calls.of("Challenge")) <= 3600 / 120
    free = {"metadata": {"finalizers": None}}
    await installing.cluster.patch(ClusterRole, "cert-manager-controller-issuers", free)
    await installing.advance(5)
    assert await installing.find(CMD, "cluster") is None

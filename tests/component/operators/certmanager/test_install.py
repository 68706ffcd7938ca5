"""A cert-manager that was not there before: the objects, the status, the calls."""

from dataclasses import replace

import pytest
from tests.component.operators.certmanager.conftest import (
    CMD,
    V120,
    V121,
    Installing,
    named,
    packed,
)

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.apply import ObjectRef
from certwright.kube import Invalid, JsonObject, crd_manifest
from certwright.kube.kinds import CustomResourceDefinition, Deployment, Lease
from certwright.testkit.actors.certmanager import small_release
from certwright.testkit.actors.podplay import NEVER, PodPlay

IMAGES = "*cert-manager-%s:*"


@pytest.mark.scenario("CMD-1")
async def test_the_default_version_is_installed(installing: Installing) -> None:
    await installing.declare()
    installing.played.play = replace(
        installing.played.play, pods={IMAGES % "webhook": PodPlay(ready=20)}
    )
    await installing.settle()
    assert (await installing.status())["phase"] == "Pending"
    await installing.until_available()
    status = await installing.status()
    assert (status["phase"], status["version"]) == ("Running", V121)
    wanted = {ObjectRef.of(one) for one in small_release(V121)}
    assert set(status["inventory"]) == {ref.id for ref in wanted}
    for ref in wanted:
        assert await installing.exists(ref), ref
    assert await installing.obstacles() == []


@pytest.mark.scenario("CMD-2")
async def test_the_version_that_is_asked_for_is_installed(installing: Installing) -> None:
    def describe(objects: list[JsonObject]) -> None:
        schema = named(objects, "certificates.cert-manager.io")["spec"]["versions"][0]["schema"]
        schema["openAPIV3Schema"]["description"] = "as in 1.1"

    installing.bundles["v1.1.0"] = packed("v1.1.0", describe)
    await installing.declare(version="v1.1.0")
    await installing.settle()
    images = [one["image"].rpartition(":")[2] for one in (await installing.status())["components"]]
    assert images == ["v1.1.0"] * 3
    definition = await installing.find(CustomResourceDefinition, "certificates.cert-manager.io")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["description"] == "as in 1.1"


@pytest.mark.scenario("CMD-3")
async def test_another_name_is_refused_by_the_server(installing: Installing) -> None:
    await installing.declare()
    with pytest.raises(Invalid, match="is called cluster"):
        await installing.cluster.create(installing.resource("other"))


async def without_rule(installing: Installing) -> None:
    """Install the definition as it is where the server does not know rules."""
    definition = crd_manifest(CertManagerDeployment)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["x-kubernetes-validations"]
    await installing.cluster.install(definition)


@pytest.mark.scenario("CMD-3")
async def test_another_name_that_slips_in_is_rejected(installing: Installing) -> None:
    await without_rule(installing)
    await installing.cluster.create(installing.resource("other"))
    calls = await installing.settle()
    assert await installing.conditions("other") == {"Rejected": "True/WrongName"}
    assert await installing.events("Rejected")
    assert calls.writes == calls.of("Event").writes + 1
    assert await installing.find(Deployment, "cert-manager/cert-manager") is None


@pytest.mark.scenario("CMD-4")
async def test_only_the_object_called_cluster_owns_objects(installing: Installing) -> None:
    await without_rule(installing)
    await installing.cluster.create(installing.resource("x"))
    await installing.cluster.create(installing.resource())
    await installing.until_available()
    for one in small_release(V121):
        found = await installing.object(ObjectRef.of(one))
        assert found["metadata"]["annotations"]["operators.redhat.io/owner"] == "cluster"
    assert (await installing.get("x"))["status"]["inventory"] == []


@pytest.mark.scenario("CMD-5")
async def test_nothing_is_written_while_nothing_changes(installing: Installing) -> None:
    await installing.installed()
    writes = 0
    for number in range(100):
        await installing.cluster.patch(
            CMD, "cluster", {"metadata": {"annotations": {"touched": str(number)}}}
        )
        writes += (await installing.settle()).writes
    assert writes == 0


async def test_nothing_is_written_after_a_restart(installing: Installing) -> None:
    await installing.installed()
    calls = await installing.restart()
    assert calls.writes == 0
    assert calls.of("Deployment").watches == 1


async def test_an_installation_takes_few_writes(installing: Installing) -> None:
    await installing.declare()
    calls = await installing.until_available()
    objects = len(small_release(V121))
    assert calls.writes - calls.of("Event").writes <= objects + 8


@pytest.mark.scenario("CMD-6")
async def test_definitions_that_are_not_established_are_told(installing: Installing) -> None:
    rival = named(small_release(V121), "certificates.cert-manager.io")
    rival["metadata"]["name"] = "rivals.cert-manager.io"
    rival["spec"]["names"] |= {"plural": "rivals", "singular": "rival"}
    await installing.cluster.install(rival)
    await installing.declare()
    await installing.advance(60)
    assert (await installing.conditions())["CRDsAreReady"] == "False/AllCRDsHealthy"
    assert (await installing.status())["phase"] == "Pending"
    told = {one["name"]: one["conditions"] for one in (await installing.status())["crdConditions"]}
    assert len(told) == 6
    await installing.cluster.delete(CustomResourceDefinition, "rivals.cert-manager.io")
    await installing.until_available()
    assert (await installing.conditions())["CRDsAreReady"] == "True/AllCRDsHealthy"
    assert (await installing.status())["phase"] == "Running"


@pytest.mark.scenario("CMD-7")
async def test_a_missing_deployment_is_told(installing: Installing) -> None:
    await installing.declare(dangerZone={"imageOverrides": {"webhook": "not an image"}})
    await installing.advance(15)
    status = await installing.status()
    assert (await installing.conditions())["DeploymentsAreReady"] == "Unknown/AllDeploymentsHealthy"
    listed = [one["namespacedName"] for one in status["deploymentConditions"]]
    assert listed == ["cert-manager/cert-manager", "cert-manager/cert-manager-cainjector"]
    assert all(one["conditions"] for one in status["deploymentConditions"])


@pytest.mark.scenario("CMD-8")
async def test_without_a_ca_it_is_not_available(installing: Installing) -> None:
    installing.played.play = replace(installing.played.play, injection=60)
    await installing.declare()
    await installing.advance(40)
    conditions = await installing.conditions()
    assert conditions["DeploymentsAreReady"] == "True/AllDeploymentsHealthy"
    assert conditions["Available"] == "False/WebhookCANotInjected"
    assert "cainjector" in await installing.message("Available")
    await installing.until_available()


async def test_without_a_leader_it_is_not_available(installing: Installing) -> None:
    lease = {
        "apiVersion": Lease.api_version,
        "kind": "Lease",
        "metadata": {"name": "cert-manager-controller", "namespace": "kube-system"},
        "spec": {
            "holderIdentity": "another",
            "leaseDurationSeconds": 60,
            "renewTime": "2100-01-01T00:00:00.000000Z",
        },
    }
    await installing.cluster.create(lease)
    await installing.declare()
    await installing.advance(30)
    assert (await installing.conditions())["Available"] == "False/ControllerNotLeading"
    assert "another" in await installing.message("Available")


@pytest.mark.scenario("CMD-9")
async def test_events_tell_what_is_created(installing: Installing) -> None:
    await installing.declare()
    await installing.until_available()
    await installing.advance(60)
    assert sorted(await installing.events("CreatingServiceAccount")) == [
        f"Creating ServiceAccount: cert-manager/cert-manager{suffix}"
        for suffix in ("", "-cainjector", "-webhook")
    ]
    assert await installing.events("CreatingNamespace") == ["Creating Namespace: cert-manager"]


async def test_a_status_says_what_runs(installing: Installing) -> None:
    await installing.installed(V120)
    status = await installing.status()
    assert status["installedVersion"] == V120
    assert status["observedGeneration"] == 1
    assert [one["name"] for one in status["components"]] == ["controller", "cainjector", "webhook"]
    for one in status["components"]:
        assert one["version"] == V120
        assert one["image"].endswith(f"cert-manager-{one['name']}:{V120}")
        assert (one["desiredReplicas"], one["availableReplicas"]) == (1, 1)
    assert await installing.conditions() == {
        "DeploymentsAreReady": "True/AllDeploymentsHealthy",
        "CRDsAreReady": "True/AllCRDsHealthy",
        "Available": "True/AsExpected",
        "Progressing": "False/AsExpected",
        "Degraded": "False/AsExpected",
        "Upgradeable": "True/AsExpected",
    }


async def test_pods_that_do_not_start_are_a_timeout(installing: Installing) -> None:
    installing.played.play = replace(
        installing.played.play, pods={IMAGES % "webhook": PodPlay(ready=NEVER)}
    )
    await installing.declare(upgrade={"stepTimeout": "2m"})
    await installing.advance(60)
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"
    await installing.advance(90)
    conditions = await installing.conditions()
    assert conditions["Degraded"] == "True/StepTimedOut"
    assert conditions["Available"] == "False/DeploymentNotRolledOut"

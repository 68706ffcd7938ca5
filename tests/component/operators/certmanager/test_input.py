"""Requests that cannot be followed: what runs stays as it is, and the status says what to do."""

from typing import Any

import pytest
from tests.component.operators.certmanager.conftest import (
    V120,
    V121,
    Installing,
    as_released,
)
from tests.component.operators.certmanager.test_install import without_rule

from certwright.bundles.errors import BundleCorrupt
from certwright.bundles.sources import PackedBundle
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment, Role, RoleBinding

CONTROLLER, WEBHOOK = "cert-manager/cert-manager", "cert-manager/cert-manager-webhook"


def flags(**components: JsonObject) -> JsonObject:
    return {"containerArgOverrides": components}


async def arguments(installing: Installing, name: str = CONTROLLER) -> list[str]:
    deployment = await installing.find(Deployment, name)
    found: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


@pytest.mark.scenario("CMD-43")
async def test_a_version_that_slips_in_is_told_and_nothing_is_written(
    installing: Installing,
) -> None:
    await without_rule(installing)
    await installing.cluster.create(installing.resource(version="v1.99.9"))
    calls = await installing.settle()
    assert (await installing.conditions())["Degraded"] == "True/UnsupportedVersion"
    assert "v1.99.9" in await installing.message("Degraded")
    assert await installing.events("UnsupportedVersion")
    kinds = {call.resource.kind for call in calls if call.resource and call.verb != "watch"}
    assert kinds <= {"CertManagerDeployment", "Event", "Lease"}
    assert (await installing.advance(300)).writes == 0


@pytest.mark.scenario("CMD-44")
async def test_an_unknown_flag_leaves_the_deployment_alone(installing: Installing) -> None:
    await installing.installed()
    before = await installing.find(Deployment, CONTROLLER)
    await installing.change(dangerZone=flags(controller={"kube-api-qpss": 5}))
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/UnknownFlag"
    told = await installing.message("Degraded")
    assert "kube-api-qpss" in told
    assert "kube-api-qps" in told.replace("kube-api-qpss", "")
    assert await installing.find(Deployment, CONTROLLER) == before
    assert (await installing.conditions())["Available"] == "True/AsExpected"
    assert await installing.events("InvalidOverride")


@pytest.mark.scenario("CMD-45")
async def test_a_bad_value_leaves_the_others_to_go_on(installing: Installing) -> None:
    await installing.installed()
    before = await arguments(installing)
    wrong = flags(controller={"leader-elect": "yes"}, webhook={"v": 5})
    await installing.change(dangerZone=wrong)
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/InvalidFlagValue"
    assert await arguments(installing) == before
    assert "--v=5" in await arguments(installing, WEBHOOK)
    await installing.cluster.patch(Deployment, WEBHOOK, {"metadata": {"labels": {"app": "x"}}})
    await installing.advance(5)
    assert (await installing.find(Deployment, WEBHOOK))["metadata"]["labels"]["app"] == "webhook"


@pytest.mark.scenario("CMD-49")
async def test_an_image_that_is_none_is_told(installing: Installing) -> None:
    await installing.installed()
    before = await installing.find(Deployment, WEBHOOK)
    await installing.change(dangerZone={"imageOverrides": {"webhook": "UPPER case"}})
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/InvalidImage"
    assert await installing.find(Deployment, WEBHOOK) == before


def spoilt(version: str) -> PackedBundle:
    good = as_released(version)
    return PackedBundle(good.source, version, good.digest, good.data[:-20])


@pytest.mark.scenario("CMD-51")
@pytest.mark.parametrize("upgrade", [True, False])
async def test_a_damaged_bundle_is_told_and_nothing_is_pruned(
    installing: Installing, *, upgrade: bool
) -> None:
    await installing.installed(V120)
    before = await installing.status()
    installing.bundles[V121 if upgrade else V120] = spoilt(V121 if upgrade else V120)
    if upgrade:
        await installing.change(version=V121)
        await installing.advance(60)
    else:
        await installing.restart()
    assert (await installing.conditions())["Degraded"] == "True/CatalogCorrupt"
    assert "certwright bundle build" in await installing.message("Degraded")
    after = await installing.status()
    assert after["inventory"] == before["inventory"]
    assert after["installedVersion"] == V120
    assert await installing.obstacles() == []
    installing.bundles[V121 if upgrade else V120] = as_released(V121 if upgrade else V120)
    await installing.advance(120)
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"


async def test_a_bundle_that_is_missing_is_told(installing: Installing) -> None:
    del installing.bundles[V121]
    installing.errors = (BundleCorrupt("a file", "it is empty", "v1.2.3"),)
    await installing.declare(version=V121)
    await installing.settle()
    assert (await installing.conditions())["Degraded"] == "True/BundleMissing"
    assert f"certwright bundle build {V121}" in await installing.message("Degraded")


@pytest.mark.scenario("CMD-52")
async def test_another_namespace_for_leases_moves_the_roles(installing: Installing) -> None:
    await installing.installed()
    name = "cert-manager:leaderelection"
    assert await installing.find(Role, f"kube-system/{name}") is not None
    await installing.change(leaderElectionNamespace="cert-manager")
    await installing.advance(180)
    assert await installing.is_available()
    for kind in (Role, RoleBinding):
        assert await installing.find(kind, f"cert-manager/{name}") is not None
        assert await installing.find(kind, f"kube-system/{name}") is None
    assert "--leader-election-namespace=cert-manager" in await arguments(installing)


@pytest.mark.parametrize(
    ("spec", "reason", "told"),
    [
        ({"namespace": "kube-system"}, "ForbiddenNamespace", "kube-system"),
        ({"namespace": "openshift-monitoring"}, "ForbiddenNamespace", "spec.namespace"),
    ],
)
async def test_obstacles_stop_an_installation(
    installing: Installing, spec: dict[str, Any], reason: str, told: str
) -> None:
    await installing.declare(**spec)
    await installing.settle()
    assert (await installing.conditions())["Degraded"] == f"True/{reason}"
    assert told in await installing.message("Degraded")
    assert await installing.find(Deployment, f"{spec['namespace']}/cert-manager") is None


async def test_an_installation_does_not_move(installing: Installing) -> None:
    await installing.installed()
    await installing.change(namespace="elsewhere")
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/NamespaceChanged"
    assert await installing.find(Deployment, CONTROLLER) is not None
    assert await installing.find(Deployment, "elsewhere/cert-manager") is None


async def test_a_config_file_is_kept_in_a_config_map(installing: Installing) -> None:
    config = {"apiVersion": "controller.config.cert-manager.io/v1alpha1", "logging": {}}
    await installing.installed(controller={"config": config})
    assert await installing.find(ConfigMap, CONTROLLER) is not None
    await installing.change(controller={"config": None})
    await installing.advance(60)
    assert await installing.find(ConfigMap, CONTROLLER) is None

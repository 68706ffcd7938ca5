"""CertManagerDeployment as the API server serves it: what it accepts, refuses, and leaves alone."""

from typing import Any

import pytest

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.kube import Invalid, JsonObject
from certwright.testkit import Cluster

KIND = CertManagerDeployment.resource


def resource(name: str = "cluster", **spec: Any) -> JsonObject:
    head = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"version": "v1.2.0"},
        {"dangerZone": {"imageOverrides": {"webhook": "example.com/webhook:1"}}},
        {"dangerZone": {"containerArgOverrides": {"controller": {"v": 4, "any": ["a", "b"]}}}},
        {"webhook": {"replicas": 3, "affinity": {"podAntiAffinity": {}}, "timeoutSeconds": 5}},
        {"upgrade": {"stepTimeout": "10m", "onFailure": "Rollback"}},
    ],
)
async def test_the_server_takes_a_spec_and_adds_nothing(cluster: Cluster, spec: JsonObject) -> None:
    await cluster.serve(CertManagerDeployment)
    stored = await cluster.create(resource(**spec))
    try:
        assert stored.get("spec", {}) == spec
    finally:
        await cluster.delete(KIND, "cluster")


@pytest.mark.scenario("CMD-43")
@pytest.mark.parametrize("version", ["v0.0.0", "1.21.2", "v1.21", "v01.2.3", "v1.2.3_alpha", ""])
async def test_versions_that_cannot_be_are_refused(cluster: Cluster, version: str) -> None:
    await cluster.serve(CertManagerDeployment)
    with pytest.raises(Invalid, match="version"):
        await cluster.create(resource(version=version))


@pytest.mark.scenario("CMD-48")
async def test_images_of_other_components_are_refused(cluster: Cluster) -> None:
    await cluster.serve(CertManagerDeployment)
    with pytest.raises(Invalid, match="controller, webhook and cainjector"):
        await cluster.create(resource(dangerZone={"imageOverrides": {"foo": "x"}}))


@pytest.mark.parametrize(
    "spec",
    [
        {"namespace": "Not_A_Namespace"},
        {"managementState": "Paused"},
        {"webhook": {"replicas": -1}},
        {"webhook": {"timeoutSeconds": 31}},
        {"upgrade": {"stepTimeout": "5 minutes"}},
        {"logLevel": 99},
    ],
)
async def test_values_that_cannot_be_are_refused(cluster: Cluster, spec: JsonObject) -> None:
    await cluster.serve(CertManagerDeployment)
    with pytest.raises(Invalid):
        await cluster.create(resource(**spec))


async def test_another_name_is_refused(cluster: Cluster) -> None:
    await cluster.serve(CertManagerDeployment)
    with pytest.raises(Invalid, match="is called cluster"):
        await cluster.create(resource("other"))

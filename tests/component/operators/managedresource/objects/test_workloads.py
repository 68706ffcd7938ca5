"""Deployments: their health, their pods, and others who scale them."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment, HorizontalPodAutoscaler, Pod
from certwright.testkit.builders import deployment


def autoscaler(name: str, api_version: str = "apps/v1") -> JsonObject:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": api_version, "kind": "Deployment", "name": name},
        },
    }


def rolled_out(generation: int) -> JsonObject:
    now = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
    ]
    return {
        "status": {
            "observedGeneration": generation,
            "replicas": 1,
            "conditions": [
                {**c, "message": "", "lastTransitionTime": now, "lastUpdateTime": now}
                for c in conditions
            ],
        }
    }


async def roll_out(keeping: Keeping, name: str) -> None:
    generation = (await keeping.find(Deployment, name))["metadata"]["generation"]
    await keeping.cluster.patch(Deployment, name, rolled_out(generation), subresource="status")


def pod_of(keeping: Keeping, name: str, phase: str = "Running") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "web", "resources.gardener.cloud/managed-by": keeping.namespace},
        },
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }


async def test_health_follows_the_deployment(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", deployment("web"))
    await keeping.settle()
    assert await keeping.conditions("web") == {
        "Applied": "True/ApplySucceeded",
        "Healthy": "False/DeploymentUnhealthy",
        "Progressing": "True/DeploymentProgressing",
        "Ready": "False/DeploymentUnhealthy",
    }
    await keeping.cluster.create(pod_of(keeping, "web-1"))
    await roll_out(keeping, "web")
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert (calls.writes, calls.reads) == (2, 0), "the status and an event"


@pytest.mark.scenario("MR-77")
async def test_an_old_pod_counts_as_progress(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", deployment("web"))
    await keeping.settle()
    await keeping.cluster.create(pod_of(keeping, "web-1"))
    await keeping.cluster.create(pod_of(keeping, "web-old"))
    await roll_out(keeping, "web")
    await keeping.settle()
    assert (await keeping.conditions("web"))["Progressing"] == "True/DeploymentProgressing"
    assert "non-terminated old pods" in await keeping.message("web", "Progressing")
    await keeping.cluster.delete(Pod, "web-old")
    await keeping.settle()
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-32")
@pytest.mark.parametrize("named_as", ["apps/v1", "extensions/v1beta1"])
async def test_what_an_autoscaler_scales_is_left_to_it(keeping: Keeping, named_as: str) -> None:
    await keeping.declare("web", deployment("web", replicas=2))
    await keeping.settle()
    await keeping.cluster.create(autoscaler("web", named_as))
    await keeping.settle()
    await keeping.cluster.patch(Deployment, "web", {"spec": {"replicas": 5}})
    await keeping.settle()
    assert (await keeping.find(Deployment, "web"))["spec"]["replicas"] == 5
    await keeping.cluster.delete(HorizontalPodAutoscaler, "web")
    await keeping.settle()
    assert (await keeping.find(Deployment, "web"))["spec"]["replicas"] == 2

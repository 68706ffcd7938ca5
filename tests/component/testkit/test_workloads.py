"""Workloads on a server without nodes: their controllers, and pods that are played."""

from typing import Any

import pytest

from certwright.kube import Key
from certwright.kube.kinds import Deployment, Pod, ReplicaSet
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.actors import ANNOTATION, workload_controllers
from certwright.testkit.builders import deployment


def conditions(obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in obj["status"].get("conditions", ())}


COMPLETE = {
    "Available": ("True", "MinimumReplicasAvailable"),
    "Progressing": ("True", "NewReplicaSetAvailable"),
}


async def test_a_deployment_rolls_out_and_its_pods_follow(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("web", replicas=3))
    controllers = workload_controllers(cluster.namespace)
    await cluster.settle(*controllers)
    web = await cluster.get(Deployment, "web")
    assert (web["status"]["readyReplicas"], web["status"]["observedGeneration"]) == (3, 1)
    assert conditions(web) == COMPLETE
    assert web["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert web["metadata"]["generation"] == 1, "the revision is no change of the Deployment"
    first = await cluster.list(Pod)
    assert [pod["status"]["phase"] for pod in first] == ["Running"] * 3
    assert {pod["spec"]["nodeName"] for pod in first} == {"played"}
    assert (await cluster.settle()).writes == 0
    await cluster.patch(Deployment, "web", {"spec": {"replicas": 1}})
    await cluster.settle()
    [left] = await cluster.names(Pod)
    assert left in {pod["metadata"]["name"] for pod in first}
    label = {"metadata": {"labels": {"app": "web", "version": "2"}}}
    await cluster.patch(Deployment, "web", {"spec": {"template": label}})
    await cluster.settle()
    [replaced] = await cluster.list(Pod)
    assert replaced["metadata"]["labels"]["version"] == "2"
    assert len(await cluster.list(ReplicaSet)) == 2, "the old one is kept for a rollback"
    await cluster.delete(Pod, replaced["metadata"]["name"])
    await cluster.settle()
    [other] = await cluster.names(Pod)
    assert other != replaced["metadata"]["name"]
    assert conditions(await cluster.get(Deployment, "web")) == COMPLETE
    await cluster.delete(Deployment, "web")
    await cluster.settle()
    assert await cluster.names(Pod) == await cluster.names(ReplicaSet) == set()


async def test_workloads_fail_or_hang_when_told_to_and_recover(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("bad", annotations={ANNOTATION: "fail"}))
    await cluster.create(deployment("slow", annotations={ANNOTATION: "hang"}))
    await cluster.settle(*workload_controllers(cluster.namespace))
    slow = conditions(await cluster.get(Deployment, "slow"))
    assert slow["Progressing"] == ("True", "ReplicaSetUpdated")
    assert {pod["status"]["phase"] for pod in await cluster.list(Pod, labels="app=slow")} == {
        "Pending"
    }
    await cluster.advance(minutes=11)
    bad = conditions(await cluster.get(Deployment, "bad"))
    assert bad == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }
    [crashing] = await cluster.list(Pod, labels="app=bad")
    assert crashing["status"]["containerStatuses"][0]["restartCount"] > 3
    for name in ("slow", "bad"):
        await cluster.patch(Deployment, name, {"metadata": {"annotations": {ANNOTATION: "ready"}}})
    await cluster.settle()
    await cluster.advance(minutes=6)  # a crashing container is restarted when its back-off is over
    assert conditions(await cluster.get(Deployment, "slow")) == COMPLETE
    assert conditions(await cluster.get(Deployment, "bad")) == COMPLETE


async def test_a_broken_rollout_keeps_the_old_pods(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("web", replicas=4))
    await cluster.settle(*workload_controllers(cluster.namespace))
    broken = {"metadata": {"annotations": {ANNOTATION: "pull=error"}}}
    await cluster.patch(Deployment, "web", {"spec": {"template": broken}})
    await cluster.settle()
    web = await cluster.get(Deployment, "web")
    numbers = ("replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas")
    assert [web["status"].get(name) for name in numbers] == [5, 2, 3, 2]
    assert conditions(web)["Available"][0] == "True"
    states = {
        pod["status"]["containerStatuses"][0]["state"].get("waiting", {}).get("reason")
        for pod in await cluster.list(Pod)
    }
    assert states == {None, "ErrImagePull"}
    await cluster.patch(
        Deployment, "web", {"spec": {"template": {"metadata": {"annotations": None}}}}
    )
    await cluster.settle()
    web = await cluster.get(Deployment, "web")
    assert conditions(web) == COMPLETE
    assert web["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


async def test_pods_change_hands_by_their_labels(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("web", replicas=2))
    await cluster.settle(*workload_controllers(cluster.namespace))
    released, _ = sorted(await cluster.names(Pod))
    await cluster.patch(Pod, released, {"metadata": {"labels": {"app": "debug"}}})
    await cluster.settle()
    pods = await cluster.list(Pod)
    assert len(pods) == 3
    [alone] = [pod for pod in pods if pod["metadata"]["name"] == released]
    assert not alone["metadata"].get("ownerReferences")
    await cluster.patch(Pod, released, {"metadata": {"labels": {"app": "web"}}})
    await cluster.settle()
    assert len(await cluster.list(Pod)) == 2, "one too many was deleted"


async def test_available_needs_min_ready_seconds(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    web = deployment("web", replicas=2)
    web["spec"]["minReadySeconds"] = 30
    await cluster.create(web)
    await cluster.settle(*workload_controllers(cluster.namespace))
    status = (await cluster.get(Deployment, "web"))["status"]
    assert (status["readyReplicas"], status.get("availableReplicas")) == (2, None)
    await cluster.advance(seconds=31)
    assert conditions(await cluster.get(Deployment, "web")) == COMPLETE


async def test_a_taken_name_counts_as_collision(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("web"))
    controllers = workload_controllers(cluster.namespace)
    await cluster.settle(*controllers)
    [name] = await cluster.names(ReplicaSet)
    taken = await cluster.get(ReplicaSet, name)
    await cluster.delete(Deployment, "web")
    await cluster.settle()
    stranger = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "stranger"}},
            "template": {**taken["spec"]["template"], "metadata": {"labels": {"app": "stranger"}}},
        },
    }
    await cluster.create(stranger)
    await cluster.create(deployment("web"))
    await cluster.settle()
    web = await cluster.get(Deployment, "web")
    assert web["status"]["collisionCount"] == 1
    assert conditions(web) == COMPLETE
    assert len(await cluster.names(ReplicaSet)) == 2


async def test_workloads_of_other_namespaces_are_left_alone(cluster: Cluster) -> None:
    await cluster.create(deployment("web"))
    await cluster.settle(*workload_controllers("kube-public"))
    assert "readyReplicas" not in (await cluster.get(Deployment, "web"))["status"]
    assert await cluster.names(Pod) == set()


@pytest.mark.parametrize("replicas", [0, 2])
async def test_the_same_on_both_servers(cluster: Cluster, replicas: int) -> None:
    await cluster.create(deployment("web", replicas=replicas))
    await cluster.settle(*workload_controllers(cluster.namespace))
    web = await cluster.client.get(Deployment, Key(cluster.namespace, "web"))
    assert web["status"].get("availableReplicas", 0) == replicas
    assert conditions(web) == COMPLETE

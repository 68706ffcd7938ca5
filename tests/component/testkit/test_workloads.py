"""Simulated workloads on a server without nodes."""

from typing import Any

from certwright.kube.kinds import DaemonSet, Deployment, Job, Pod, StatefulSet
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.actors import ANNOTATION, workload_controllers
from certwright.testkit.actors.pods import pod_controller
from certwright.testkit.builders import daemon_set, deployment, job, stateful_set


def conditions(obj: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: c["status"] for c in obj["status"]["conditions"]}


async def test_workloads_become_ready(cluster: Cluster) -> None:
    await cluster.create(deployment("web", replicas=3))
    await cluster.create(stateful_set("db", replicas=2))
    await cluster.create(daemon_set("agent"))
    await cluster.create(job("once"))
    calls = await cluster.settle(*workload_controllers(cluster.namespace))
    assert calls.writes == 4
    web = await cluster.get(Deployment, "web")
    assert web["status"]["readyReplicas"] == 3
    assert web["status"]["observedGeneration"] == web["metadata"]["generation"]
    assert conditions(web) == {"Available": "True", "Progressing": "True"}
    assert (await cluster.get(StatefulSet, "db"))["status"]["readyReplicas"] == 2
    assert (await cluster.get(DaemonSet, "agent"))["status"]["numberReady"] == 1
    assert conditions(await cluster.get(Job, "once"))["Complete"] == "True"


async def test_workloads_fail_or_hang_when_told_to_and_recover(cluster: Cluster) -> None:
    await cluster.create(deployment("bad", annotations={ANNOTATION: "fail"}))
    await cluster.create(deployment("slow", annotations={ANNOTATION: "hang"}))
    await cluster.create(job("bad", annotations={ANNOTATION: "fail"}))
    controllers = workload_controllers(cluster.namespace)
    await cluster.settle(*controllers)
    bad = conditions(await cluster.get(Deployment, "bad"))
    assert bad == {"Available": "False", "Progressing": "False"}
    slow = conditions(await cluster.get(Deployment, "slow"))
    assert slow == {"Available": "False", "Progressing": "True"}
    assert conditions(await cluster.get(Job, "bad"))["Failed"] == "True"
    await cluster.patch(Deployment, "slow", {"metadata": {"annotations": {ANNOTATION: None}}})
    await cluster.settle(*controllers)
    slow = conditions(await cluster.get(Deployment, "slow"))
    assert slow == {"Available": "True", "Progressing": "True"}


async def test_a_change_rolls_out(cluster: Cluster) -> None:
    await cluster.create(deployment("web"))
    controllers = workload_controllers(cluster.namespace)
    await cluster.settle(*controllers)
    await cluster.patch(Deployment, "web", {"spec": {"replicas": 5}})
    calls = await cluster.settle(*controllers)
    assert calls.writes == 1
    web = await cluster.get(Deployment, "web")
    assert (web["status"]["readyReplicas"], web["status"]["observedGeneration"]) == (5, 2)


async def test_workloads_of_other_namespaces_are_left_alone(cluster: Cluster) -> None:
    await cluster.create(deployment("web"))
    calls = await cluster.settle(*workload_controllers("kube-public"))
    assert calls.writes == 0
    assert "readyReplicas" not in (await cluster.get(Deployment, "web"))["status"]


async def pod_names(cluster: EmbeddedCluster) -> set[str]:
    return await cluster.names(Pod)


async def test_pods_follow_their_deployment(embedded_cluster: EmbeddedCluster) -> None:
    """Embedded: a real control plane makes pods itself."""
    cluster = embedded_cluster
    await cluster.create(deployment("web", replicas=3))
    controllers = [*workload_controllers(cluster.namespace), pod_controller(cluster.namespace)]
    await cluster.settle(*controllers)
    first = await cluster.list(Pod)
    assert [pod["status"]["phase"] for pod in first] == ["Running"] * 3
    assert (await cluster.settle(*controllers)).writes == 0
    await cluster.patch(Deployment, "web", {"spec": {"replicas": 1}})
    await cluster.settle(*controllers)
    [left] = await pod_names(cluster)
    assert left in {pod["metadata"]["name"] for pod in first}
    label = {"metadata": {"labels": {"app": "web", "version": "2"}}}
    await cluster.patch(Deployment, "web", {"spec": {"template": label}})
    await cluster.settle(*controllers)
    [replaced] = await cluster.list(Pod)
    assert replaced["metadata"]["name"] != left
    assert replaced["metadata"]["labels"]["version"] == "2"
    await cluster.delete(Pod, replaced["metadata"]["name"])
    await cluster.settle(*controllers)
    assert await pod_names(cluster) == {replaced["metadata"]["name"]}, "it comes back"
    await cluster.delete(Deployment, "web")
    await cluster.settle(*controllers)
    assert await pod_names(cluster) == set()


async def test_pods_wait_when_told_to(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(deployment("slow", annotations={ANNOTATION: "hang"}))
    controllers = [*workload_controllers(cluster.namespace), pod_controller(cluster.namespace)]
    await cluster.settle(*controllers)
    [pod] = await cluster.list(Pod)
    assert pod["status"]["phase"] == "Pending"
    await cluster.patch(Deployment, "slow", {"metadata": {"annotations": {ANNOTATION: None}}})
    await cluster.settle(*controllers)
    [pod] = await cluster.list(Pod)
    assert pod["status"]["phase"] == "Running"

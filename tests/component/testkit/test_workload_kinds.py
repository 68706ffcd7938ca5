"""StatefulSets, DaemonSets, Jobs and Services on a server without nodes."""

from typing import Any

from certwright.client import Propagation
from certwright.kube.kinds import (
    ControllerRevision,
    DaemonSet,
    Endpoints,
    EndpointSlice,
    Job,
    Node,
    PersistentVolumeClaim,
    Pod,
    Service,
    StatefulSet,
)
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.actors import ANNOTATION, workload_controllers
from certwright.testkit.actors.claims import claim_controller
from certwright.testkit.builders import daemon_set, deployment, job, stateful_set


def true_conditions(obj: dict[str, Any]) -> set[str]:
    return {c["type"] for c in obj["status"].get("conditions", ()) if c["status"] == "True"}


async def test_workloads_of_every_kind_become_ready(cluster: Cluster) -> None:
    await cluster.create(stateful_set("db", replicas=2))
    await cluster.create(daemon_set("agent"))
    await cluster.create(job("once"))
    await cluster.settle(*workload_controllers(cluster.namespace))
    db = await cluster.get(StatefulSet, "db")
    assert (db["status"]["readyReplicas"], db["status"]["currentReplicas"]) == (2, 2)
    assert (await cluster.get(DaemonSet, "agent"))["status"]["numberReady"] == 1
    once = await cluster.get(Job, "once")
    assert (true_conditions(once), once["status"]["succeeded"]) == (
        {"SuccessCriteriaMet", "Complete"},
        1,
    )
    assert (await cluster.settle()).writes == 0


async def test_a_stateful_set_updates_its_pods_and_keeps_their_claims(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    db = stateful_set("db", replicas=3)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    db["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    await cluster.create(db)
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert await cluster.names(Pod) == {"db-0", "db-1", "db-2"}
    claims = {"data-db-0", "data-db-1", "data-db-2"}
    assert await cluster.names(PersistentVolumeClaim) == claims
    before = (await cluster.get(StatefulSet, "db"))["status"]["currentRevision"]
    image = {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}
    await cluster.patch(StatefulSet, "db", {"spec": {"template": image}})
    await cluster.settle()
    status = (await cluster.get(StatefulSet, "db"))["status"]
    assert status["currentRevision"] == status["updateRevision"] != before
    assert {p["spec"]["containers"][0]["image"] for p in await cluster.list(Pod)} == {"app:2"}
    await cluster.patch(StatefulSet, "db", {"spec": {"replicas": 1}})
    await cluster.settle()
    assert await cluster.names(Pod) == {"db-0"}
    assert await cluster.names(PersistentVolumeClaim) == claims, "data outlives its pod"
    old = {"spec": {"containers": [{"name": "main", "image": "app"}]}}
    await cluster.patch(StatefulSet, "db", {"spec": {"template": old}})
    await cluster.settle()
    status = (await cluster.get(StatefulSet, "db"))["status"]
    assert status["currentRevision"] == before, "a rollback takes the old revision"
    assert len(await cluster.names(ControllerRevision)) == 2


async def test_a_pod_that_is_not_ready_stops_a_stateful_set(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    await cluster.create(stateful_set("db", replicas=3, annotations={ANNOTATION: "ready=30"}))
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert await cluster.names(Pod) == {"db-0"}
    await cluster.advance(seconds=31)
    assert await cluster.names(Pod) == {"db-0", "db-1"}
    await cluster.advance(seconds=62)
    assert (await cluster.get(StatefulSet, "db"))["status"]["readyReplicas"] == 3


async def test_daemon_sets_follow_the_nodes(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(daemon_set("agent"))
    await cluster.settle(*workload_controllers(cluster.namespace))
    for name in ("one", "two"):
        await cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await cluster.patch(Node, name, {"spec": {"taints": None}})
    await cluster.settle()
    placed = {pod["spec"]["nodeName"] for pod in await cluster.list(Pod)}
    assert placed == {"played", "one", "two"}
    status = (await cluster.get(DaemonSet, "agent"))["status"]
    assert (status["desiredNumberScheduled"], status["numberAvailable"]) == (3, 3)
    taint = {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}
    await cluster.patch(Node, "two", taint)
    await cluster.settle()
    assert len(await cluster.list(Pod)) == 2
    label = {"metadata": {"labels": {"app": "agent", "version": "2"}}}
    await cluster.patch(DaemonSet, "agent", {"spec": {"template": label}})
    await cluster.settle()
    assert {p["metadata"]["labels"].get("version") for p in await cluster.list(Pod)} == {"2"}
    status = (await cluster.get(DaemonSet, "agent"))["status"]
    assert (status["updatedNumberScheduled"], status["numberAvailable"]) == (2, 2)


async def test_a_job_that_fails_tries_again_later_and_gives_up(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    bad = job("bad", annotations={ANNOTATION: "fail"})
    bad["spec"]["backoffLimit"] = 2
    await cluster.create(bad)
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert len(await cluster.list(Pod)) == 1
    await cluster.advance(seconds=11)
    assert len(await cluster.list(Pod)) == 2
    await cluster.advance(seconds=21)
    status = (await cluster.get(Job, "bad"))["status"]
    assert (status["failed"], status["uncountedTerminatedPods"]) == (3, {})
    assert true_conditions(await cluster.get(Job, "bad")) == {"FailureTarget", "Failed"}
    assert not any(pod["metadata"].get("finalizers") for pod in await cluster.list(Pod))


async def test_jobs_are_suspended_and_expire(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    once = job("once", completions=2, annotations={ANNOTATION: "run=60"})
    once["spec"]["ttlSecondsAfterFinished"] = 100
    await cluster.create(once)
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert (await cluster.get(Job, "once"))["status"]["active"] == 2
    await cluster.patch(Job, "once", {"spec": {"suspend": True}})
    await cluster.settle()
    assert await cluster.names(Pod) == set()
    assert true_conditions(await cluster.get(Job, "once")) == {"Suspended"}
    await cluster.patch(Job, "once", {"spec": {"suspend": False}})
    await cluster.settle()
    await cluster.advance(seconds=61)
    assert "Complete" in true_conditions(await cluster.get(Job, "once"))
    await cluster.advance(seconds=102)
    assert await cluster.names(Job) == await cluster.names(Pod) == set()


async def test_the_pods_of_a_deleted_job_go(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    await cluster.create(job("long", annotations={ANNOTATION: "run=never"}))
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert len(await cluster.names(Pod)) == 1
    await cluster.client.delete(Job, cluster.key(Job, "long"), propagation=Propagation.BACKGROUND)
    await cluster.settle()
    assert await cluster.names(Pod) == set()


async def test_a_service_has_the_addresses_of_its_pods(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    ports = [{"port": 80, "targetPort": 8080}]
    spec = {"selector": {"app": "web"}, "ports": ports}
    await cluster.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    )
    await cluster.create(deployment("web", replicas=2))
    await cluster.settle(*workload_controllers(cluster.namespace))
    addresses = {pod["status"]["podIP"] for pod in await cluster.list(Pod)}
    [found] = await cluster.list(EndpointSlice)
    assert {each["addresses"][0] for each in found["endpoints"]} == addresses
    [subset] = (await cluster.get(Endpoints, "web"))["subsets"]
    assert {each["ip"] for each in subset["addresses"]} == addresses
    assert (await cluster.settle()).writes == 0
    [name, _] = sorted(await cluster.names(Pod))
    await cluster.patch(Pod, name, {"metadata": {"labels": {"app": "debug"}}})
    await cluster.settle()
    [found] = await cluster.list(EndpointSlice)
    assert name not in {each["targetRef"]["name"] for each in found["endpoints"]}


async def test_the_endpoints_of_a_deleted_service_go(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    for name, selector in (("web", {"app": "web"}), ("by-hand", None)):
        spec = {"ports": [{"port": 80}], **({"selector": selector} if selector else {})}
        await cluster.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        )
    await cluster.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "by-hand"}})
    await cluster.settle(*workload_controllers(cluster.namespace))
    assert await cluster.names(Endpoints) == {"web", "by-hand"}
    for name in ("web", "by-hand"):
        await cluster.delete(Service, name)
    await cluster.settle()
    assert await cluster.names(Endpoints) == set()
    assert await cluster.names(EndpointSlice) == set()


async def test_a_pod_waits_until_the_claim_of_the_one_before_is_gone(
    embedded_cluster: EmbeddedCluster,
) -> None:
    cluster = embedded_cluster
    db = stateful_set("db", replicas=2)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    db["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    db["spec"]["podManagementPolicy"] = "Parallel"
    db["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenScaled": "Delete"}
    await cluster.create(db)
    await cluster.settle(*workload_controllers(cluster.namespace))
    await cluster.patch(StatefulSet, "db", {"spec": {"replicas": 1}})
    await cluster.settle()
    await cluster.patch(StatefulSet, "db", {"spec": {"replicas": 3}})
    await cluster.settle()
    assert await cluster.names(Pod) == {"db-0", "db-2"}, "data-db-1 is held by its finalizer"
    await cluster.settle(claim_controller(cluster.namespace))
    await cluster.advance(seconds=5)
    assert await cluster.names(Pod) == {"db-0", "db-1", "db-2"}

"""Claims go when they are deleted, as soon as no pod uses them."""

from typing import Any

from certwright.kube import JsonObject
from certwright.kube.kinds import PersistentVolumeClaim, Pod
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.claims import claim_controller


def claim(name: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def pod_with(name: str) -> JsonObject:
    volume: Any = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    spec = {"containers": [{"name": "main", "image": "app"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"with-{name}"}, "spec": spec}


async def test_a_claim_goes_when_no_pod_uses_it(embedded_cluster: EmbeddedCluster) -> None:
    cluster = embedded_cluster
    for name in ("used", "unused", "kept"):
        await cluster.create(claim(name))
    await cluster.create(pod_with("used"))
    for name in ("used", "unused"):
        await cluster.delete(PersistentVolumeClaim, name)
    await cluster.settle(claim_controller(cluster.namespace))
    assert await cluster.names(PersistentVolumeClaim) == {"used", "kept"}
    await cluster.delete(Pod, "with-used")
    await cluster.settle(claim_controller(cluster.namespace))
    assert await cluster.names(PersistentVolumeClaim) == {"kept"}

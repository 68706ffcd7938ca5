"""The collector beside the operator: who deletes what, and when; declared with the library."""

from datetime import timedelta

import pytest

from certwright.api.managedresources import ManagedResource
from certwright.kube import JsonObject, Key, ObjectMeta, Resource
from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.managed import (
    Declaration,
    annotate,
    delete,
    deploy,
    make_unique,
    wait_until_healthy,
)
from certwright.managed.unique import COLLECTABLE
from certwright.operators.garbagecollector import CollectorSettings, GarbageVerdict, collect, survey
from certwright.operators.managedresource.configuration import (
    ClientConnection,
    Configuration,
    Controllers,
    GarbageCollectorSettings,
    ManagedResourceSettings,
)
from certwright.operators.managedresource.operator import resource_operator
from certwright.runtime import Operator
from certwright.testkit import Cluster
from certwright.testkit.builders import config_map, deployment


def operator(cluster: Cluster) -> Operator:
    """An operator that keeps what is in the test's namespace, and knows of a collector."""
    label = ManagedResourceSettings(managed_by_label_value=cluster.namespace)
    controllers = Controllers(
        managed_resource=label, garbage_collector=GarbageCollectorSettings(enabled=True)
    )
    where = ClientConnection(namespaces=(cluster.namespace,))
    configuration = Configuration(
        controllers=controllers, source_client_connection=where, target_client_connection=where
    )
    return resource_operator(configuration)


def web(cluster: Cluster, color: str) -> Declaration:
    """A Deployment without replicas and the settings it uses."""
    settings = make_unique(placed(cluster, config_map("settings", {"color": color})))
    workload = placed(cluster, deployment("web", replicas=0))
    volume = {"name": "v", "configMap": {"name": settings["metadata"]["name"]}}
    workload["spec"]["template"]["spec"]["volumes"] = [volume]
    return Declaration(key=Key(cluster.namespace, "web"), objects=[settings, annotate(workload)])


def placed(cluster: Cluster, obj: JsonObject) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": cluster.namespace}}


def quick(cluster: Cluster) -> CollectorSettings:
    return CollectorSettings(
        enabled=True, minimum_lifetime=timedelta(), namespaces=(cluster.namespace,)
    )


async def names(cluster: Cluster, kind: Resource) -> set[str]:
    return await cluster.names(kind, labels=f"{COLLECTABLE}=true")


@pytest.mark.scenario("MR-89")
async def test_what_leaves_its_managed_resource_is_collected_once_it_is_unused(
    cluster: Cluster,
) -> None:
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="empty")))
    await deploy(cluster.client, web(cluster, "blue"))
    keeping = operator(cluster)
    await cluster.settle(keeping)
    [blue], [first] = await names(cluster, ConfigMap), await names(cluster, Secret)
    await deploy(cluster.client, web(cluster, "red"))
    # Something still uses the old settings, outside of the ManagedResource.
    user = placed(cluster, deployment("user", replicas=0))
    user["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "configMap": {"name": blue}}]
    await cluster.create(user)
    await cluster.settle()
    state = await cluster.get(ManagedResource, "web")
    applied = {condition.type: condition.status for condition in state.status.conditions}
    assert applied["ResourcesApplied"] == "True"
    assert {entry.name for entry in state.status.resources if entry.kind == "ConfigMap"} == (
        await names(cluster, ConfigMap) - {blue}
    )
    done = await collect(cluster.client, quick(cluster), cluster.clock)
    assert [candidate.key.name for candidate in done.deleted] == [first]
    await cluster.delete(Deployment, "user")
    done = await collect(cluster.client, quick(cluster), cluster.clock)
    assert [candidate.key.name for candidate in done.deleted] == [blue]
    await cluster.settle()
    assert len(await names(cluster, ConfigMap)) == 1, "the operator does not bring it back"


async def test_what_is_kept_is_not_collected_though_nothing_refers_to_it(cluster: Cluster) -> None:
    await cluster.create(ManagedResource(metadata=ObjectMeta(name="empty")))
    alone = make_unique(placed(cluster, config_map("alone", {"k": "v"})))
    declaration = Declaration(key=Key(cluster.namespace, "web"), objects=[alone])
    await deploy(cluster.client, declaration)
    await cluster.settle(operator(cluster))
    await wait_until_healthy(cluster.client, declaration.key, rolled_out=True)
    report = await survey(cluster.client, quick(cluster), cluster.clock)
    assert report.counts()[GarbageVerdict.IN_USE] == 2  # and the Secret
    await delete(cluster.client, declaration.key)
    await cluster.settle()
    report = await survey(cluster.client, quick(cluster), cluster.clock)
    assert [assessment.verdict for assessment in report.assessments] == [GarbageVerdict.COLLECTABLE]

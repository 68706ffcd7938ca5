"""How soon it is seen that an account lost a right, and what asking for its rights costs."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.component.operators.managedresource.conftest import GARDENER, Keeping
from tests.component.operators.managedresource.objects.test_permissions import (
    KEEPING,
    USER,
    grant,
    rule,
)
from tests.component.operators.managedresource.tenancy.test_service_accounts import (
    ALL,
    Tenants,
    acted_as,
    service,
    target_writes,
)

from certwright.client import Client
from certwright.kube import Key
from certwright.kube.kinds import (
    ConfigMap,
    Deployment,
    Namespace,
    PersistentVolumeClaim,
    Role,
    RoleBinding,
    StatefulSet,
)
from certwright.runtime import Manager
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map, deployment


@pytest.fixture
async def tenants(embedded_keeping: Keeping) -> AsyncIterator[Tenants]:
    assert embedded_keeping is not None  # for its virtual time
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        yield Tenants(cluster)


def reviews(calls: Calls) -> int:
    return len(calls.of("SelfSubjectAccessReview"))


async def test_one_review_per_kind_and_namespace_and_none_without_an_account(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL, services=ALL)
    objects = [config_map(f"c{n}") for n in range(20)]
    await tenants.declare("plain", *objects)
    assert reviews(await tenants.settle()) == 0
    ours = [config_map(f"d{n}", {"k": "v"}) for n in range(20)]
    await tenants.declare("web", *ours, service("front"), serviceAccountName="tenant")
    calls = await tenants.settle()
    assert reviews(calls) == 2
    assert calls.reads == 0
    assert calls.writes == 21 + 2
    assert await tenants.conditions("web") == healthy
    await tenants.cluster.patch(ConfigMap, "d0", {"data": {"k": "edited"}})
    assert reviews(await tenants.settle()) == 0
    await tenants.cluster.advance(minutes=2)
    await tenants.cluster.patch(ConfigMap, "d0", {"data": {"k": "again"}})
    calls = await tenants.settle()
    assert reviews(calls) == 2
    assert calls.of("ConfigMap").writes == 1
    calls = await tenants.restart()
    assert (calls.writes, calls.reads, reviews(calls)) == (0, 0, 2)


async def test_roles_that_name_objects_count_and_reviews_have_a_bound(tenants: Tenants) -> None:
    await tenants.allow(configmaps=ALL)
    role = await tenants.find(Role, f"{tenants.namespace}-tenant")
    named = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["c1"]}
    created = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    rules = [{**named, "verbs": ALL.split()}, created]
    await tenants.cluster.apply(
        {**role, "metadata": {"name": role["metadata"]["name"]}, "rules": rules}
    )
    objects = [config_map(f"c{n}") for n in range(300)]
    await tenants.declare("web", *objects, serviceAccountName="tenant")
    calls = await tenants.settle()
    assert await tenants.cluster.names(ConfigMap) == {"c1"}
    assert "299 errors occurred" in await tenants.message("web")
    assert reviews(calls) <= 103


async def test_a_set_at_rest_notices_within_ten_minutes_that_it_may_not_be_read(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL)
    await tenants.declare("web", config_map("a"), serviceAccountName="tenant")
    await tenants.settle()
    calls = await tenants.cluster.advance(minutes=30)
    assert calls.writes == 0
    assert 2 <= reviews(calls) <= 3
    await tenants.cluster.delete(Role, f"{tenants.namespace}-tenant")
    await tenants.cluster.advance(minutes=12)
    assert (await tenants.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f'User "{tenants.user()}" cannot get resource "configmaps"' in (
        await tenants.message("web")
    )
    assert await tenants.exists(ConfigMap, "a") == {"a"}
    await tenants.allow(configmaps=ALL)
    await tenants.cluster.advance(minutes=12)
    assert await tenants.conditions("web") == healthy


async def test_health_tells_nothing_about_what_the_account_may_no_longer_read(
    tenants: Tenants,
) -> None:
    read = "get list watch"
    await tenants.allow(deployments=ALL, pods=read, horizontalpodautoscalers=read)
    await tenants.declare("web", deployment("x"), serviceAccountName="tenant")
    await tenants.settle()
    assert "DeploymentUnhealthy" in (await tenants.conditions("web"))["Healthy"]
    await tenants.cluster.delete(Role, f"{tenants.namespace}-tenant")
    await tenants.cluster.advance(minutes=2)
    said = {"type": "Available", "status": "False", "reason": "Canary", "message": "canary"}
    condition = {**said, "lastTransitionTime": None, "lastUpdateTime": None}
    status = {"status": {"observedGeneration": 1, "conditions": [condition]}}
    await tenants.cluster.client.patch(
        Deployment, Key(tenants.namespace, "x"), status, subresource="status"
    )
    await tenants.settle()
    assert "canary" not in str(await tenants.status("web"))
    assert f'User "{tenants.user()}" cannot get resource "deployments"' in (
        await tenants.message("web", "Healthy")
    )


async def test_workloads_need_the_right_to_list_autoscalers(tenants: Tenants) -> None:
    """Whether one scales a Deployment decides what is written, so it must be known."""
    await tenants.allow(deployments=ALL, configmaps=ALL)
    await tenants.declare("web", deployment("x"), config_map("a"), serviceAccountName="tenant")
    await tenants.settle()
    assert 'cannot list resource "horizontalpodautoscalers" in API group "autoscaling"' in (
        await tenants.message("web")
    )
    assert await tenants.exists(ConfigMap, "a") == {"a"}
    assert await tenants.exists(Deployment, "x") == set()


async def test_volume_claims_are_deleted_as_the_account(tenants: Tenants) -> None:
    read = "get list watch"
    rights = {"statefulsets": ALL, "horizontalpodautoscalers": read}
    await tenants.allow(**rights)
    labels = {"app": "db"}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    container = {"name": "db", "image": "db"}
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [claim],
        },
    }
    await tenants.declare(
        "web", stateful_set, serviceAccountName="tenant", deletePersistentVolumeClaims=True
    )
    await tenants.settle()
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-0", "labels": labels},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    await tenants.cluster.create(volume)
    await tenants.cluster.delete(tenants.kind, "web")
    await tenants.settle()
    assert f'User "{tenants.user()}" cannot list resource "persistentvolumeclaims"' in (
        await tenants.message("web")
    )
    assert await tenants.exists(StatefulSet, "db") == {"db"}
    await tenants.allow(**rights, persistentvolumeclaims=ALL)
    calls = await tenants.cluster.advance(minutes=10)
    assert acted_as(target_writes(calls)) == {tenants.user()}
    assert await tenants.exists(StatefulSet, "db") == set()
    left = await tenants.find(PersistentVolumeClaim, "data-db-0")
    assert "deletionTimestamp" in left["metadata"]  # a controller releases it


async def test_the_default_account_counts_where_none_is_named(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL, account="everyone")
    await tenants.declare("web", config_map("a"))
    await tenants.declare("own", config_map("b"), serviceAccountName="other")
    calls = await tenants.settle(tenants.operator(service_account_name="everyone"))
    assert acted_as(target_writes(calls)) == {tenants.user("everyone")}
    assert await tenants.conditions("web") == healthy
    assert f'User "{tenants.user("other")}" cannot get' in await tenants.message("own")


async def test_the_default_account_counts_under_gardeners_definition(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    """It has no field to name another one."""
    theirs = Tenants(tenants.cluster, GARDENER)
    await theirs.allow(configmaps=ALL, account="everyone")
    await theirs.declare("web", config_map("a"))
    calls = await theirs.settle(theirs.operator(service_account_name="everyone"))
    assert acted_as(target_writes(calls)) == {theirs.user("everyone")}
    assert (await theirs.conditions("web"))["Applied"] == healthy["Applied"]


async def test_what_cannot_be_an_account_writes_nothing(tenants: Tenants) -> None:
    await tenants.declare("web", config_map("a"), serviceAccountName="system:masters")
    calls = await tenants.settle()
    assert "spec.serviceAccountName is 'system:masters'" in await tenants.message("web")
    assert target_writes(calls) == []
    assert await tenants.exists(ConfigMap, "a") == set()


async def test_what_the_installation_does_not_allow_is_named_and_the_rest_goes_on(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    other = await tenants.other_namespace()
    elsewhere = config_map("far")
    elsewhere["metadata"]["namespace"] = other
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    await tenants.declare("web", config_map("a"), elsewhere, service("front"), namespace)
    kinds = ("ConfigMap", "*.apps")
    confined = tenants.operator(allowed_namespaces=("<own>",), allowed_kinds=kinds)
    calls = await tenants.settle(confined)
    message = await tenants.message("web")
    assert "3 errors occurred" in message
    for object_, setting in (
        (f"ConfigMap {other}/far", "allowedNamespaces"),
        (f"Service {tenants.namespace}/front", "allowedKinds"),
        ("Namespace new", "allowedKinds"),
    ):
        assert f"{object_} must not be touched" in message
        assert f"controllers.managedResource.{setting}" in message
    assert await tenants.exists(ConfigMap, "a") == {"a"}
    assert reviews(calls) == 0
    await tenants.rewrite("web", config_map("a"))
    await tenants.settle()
    assert await tenants.conditions("web") == healthy


async def test_a_process_that_may_not_act_as_the_account_writes_nothing(
    tenants: Tenants,
) -> None:
    """It may write ConfigMaps itself, which must not count."""
    cluster = tenants.cluster
    await grant(cluster, *KEEPING, rule("", "configmaps", ALL))
    await tenants.allow(configmaps=ALL)
    await tenants.declare("web", config_map("a"), serviceAccountName="tenant")
    transport = cluster.server.transport(USER, ["system:authenticated"])
    place = [tenants.namespace]
    operator = tenants.operator(target_namespaces=place)
    manager = Manager(Client(transport, clock=cluster.clock), [operator], clock=cluster.clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await asyncio.sleep(60)
        manager.stop()
    message = await tenants.message("web")
    assert f'User "{USER}" cannot impersonate resource "serviceaccounts"' in message
    assert await tenants.exists(ConfigMap, "a") == set()


async def test_a_namespace_goes_though_its_bindings_go_before_its_managed_resources(
    tenants: Tenants,
) -> None:
    other = await tenants.other_namespace()
    cluster = tenants.cluster
    cluster.namespace = tenants.namespace = "team"
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    )
    await tenants.allow(configmaps=ALL)
    await tenants.allow(other, configmaps=ALL)
    elsewhere = config_map("far")
    elsewhere["metadata"]["namespace"] = other
    await tenants.declare("web", config_map("a"), elsewhere, serviceAccountName="tenant")
    await tenants.settle()
    assert await cluster.find(ConfigMap, f"{other}/far") is not None
    await cluster.client.delete(RoleBinding, Key("team", "team-tenant"))
    await cluster.client.delete(RoleBinding, Key(other, "team-tenant"))
    await cluster.client.delete(Namespace, Key("", "team"))
    await cluster.advance(minutes=10)
    assert await cluster.find(Namespace, "team") is None
    assert await cluster.find(ConfigMap, f"{other}/far") is not None


async def test_a_namespace_that_goes_leaves_nothing_that_the_account_may_delete(
    tenants: Tenants,
) -> None:
    other = await tenants.other_namespace()
    cluster = tenants.cluster
    cluster.namespace = tenants.namespace = "team"
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    )
    await tenants.allow(configmaps=ALL)
    await tenants.allow(other, configmaps=ALL)
    elsewhere = config_map("far")
    elsewhere["metadata"]["namespace"] = other
    await tenants.declare("web", config_map("a"), elsewhere, serviceAccountName="tenant")
    await tenants.settle()
    await cluster.client.delete(Namespace, Key("", "team"))
    await cluster.advance(minutes=10)
    assert await cluster.find(Namespace, "team") is None
    assert await cluster.find(ConfigMap, f"{other}/far") is None

"""ManagedResources that act as a ServiceAccount: its roles decide, on both servers."""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping
from tests.support.waits import until

from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import (
    ClusterRoleBinding,
    ConfigMap,
    Event,
    RoleBinding,
    Secret,
    Service,
)
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.builders import config_map

RBAC = "rbac.authorization.k8s.io"
ALL = "get list watch create update patch delete"
READ = "get list watch"


class Tenants(Keeping):
    """ManagedResources of a namespace whose accounts have roles."""

    def user(self, account: str = "tenant") -> str:
        return f"system:serviceaccount:{self.namespace}:{account}"

    async def allow(self, namespace: str = "", account: str = "tenant", **verbs: str) -> None:
        """Let an account do this in a namespace, and nothing else: ``configmaps="get list"``."""
        where = namespace or self.namespace
        metadata = {"name": f"{self.namespace}-{account}", "namespace": where}
        api = f"{RBAC}/v1"
        groups = {"deployments": "apps", "rolebindings": RBAC, "statefulsets": "apps"}
        groups |= {"horizontalpodautoscalers": "autoscaling"}
        rules = [
            {"apiGroups": [groups.get(name, "")], "resources": [name], "verbs": granted.split()}
            for name, granted in verbs.items()
        ]
        role = {"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules}
        await self.cluster.client.apply(role)
        reference = {"apiGroup": RBAC, "kind": "Role", "name": metadata["name"]}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        binding = {
            "apiVersion": api,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        }
        await self.cluster.client.apply(binding)
        await self.until_known(where, account, verbs)

    async def until_known(self, namespace: str, account: str, verbs: dict[str, str]) -> None:
        """Wait until the server's authorizer has seen the roles, which takes a real one a moment."""
        if isinstance(self.cluster, EmbeddedCluster):
            return
        acting = self.cluster.client.acting_as(self.user(account))
        body: JsonObject = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        wanted = {name: sorted(granted.split()) for name, granted in verbs.items()}

        async def known() -> bool:
            rules = (await acting.create(body))["status"]["resourceRules"]
            found = {name: sorted(rule["verbs"]) for rule in rules for name in rule["resources"]}
            others = set(found) & {"configmaps", "services", "secrets"}
            return {name: found.get(name) for name in wanted} == wanted and others <= set(wanted)

        await until(f"{account} may {verbs} in {namespace}", known)

    async def other_namespace(self) -> str:
        name = f"{self.namespace}-other"
        obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.cluster.create(obj)
        return name


@pytest.fixture
async def tenants(keeping: Keeping) -> AsyncIterator[Tenants]:
    """On the real server roles count anyhow; the embedded one has to be told."""
    if not isinstance(keeping.cluster, EmbeddedCluster):
        yield Tenants(keeping.cluster)
        return
    async with EmbeddedCluster(seed=7, rbac=True) as cluster:
        yield Tenants(cluster)


def acted_as(calls: Iterable[Any]) -> set[str]:
    """Return as whom requests were made; "" for ourselves."""
    return {dict(call.headers).get("impersonate-user", "") for call in calls}


def target_writes(calls: Calls) -> list[Any]:
    kinds = {"ManagedResource", "Event", "SelfSubjectAccessReview"}
    writes = {"create", "update", "patch", "delete"}
    return [c for c in calls if c.verb in writes and c.resource and c.resource.kind not in kinds]


def service(name: str) -> JsonObject:
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}}
    return {**head, "spec": {"ports": [{"port": 80}]}}


async def test_every_write_is_made_as_the_account(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL)
    a = config_map("a", {"k": "v"})
    await tenants.declare("web", a, config_map("b"), serviceAccountName="tenant")
    calls = await tenants.settle()
    assert await tenants.conditions("web") == healthy
    assert await tenants.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert acted_as(target_writes(calls)) == {tenants.user()}

    await tenants.cluster.patch(ConfigMap, "a", {"data": {"k": "edited"}})
    drift = await tenants.settle()
    assert acted_as(target_writes(drift)) == {tenants.user()}

    await tenants.rewrite("web", a)
    pruned = await tenants.settle()
    assert await tenants.exists(ConfigMap, "a", "b") == {"a"}
    assert acted_as(target_writes(pruned)) == {tenants.user()}

    await tenants.cluster.delete(tenants.kind, "web")
    gone = await tenants.settle()
    assert await tenants.exists(ConfigMap, "a") == set()
    assert await tenants.find(tenants.kind, "web") is None
    assert acted_as(target_writes(gone)) == {tenants.user()}


async def test_a_write_that_is_forbidden_names_account_kind_and_verb(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL, services=READ)
    await tenants.declare("web", config_map("a"), service("front"), serviceAccountName="tenant")
    await tenants.settle()
    message = await tenants.message("web")
    assert (await tenants.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f'error during apply of object "v1/Service/{tenants.namespace}/front": ' in message
    assert f'User "{tenants.user()}" cannot ' in message
    assert 'resource "services"' in message
    assert await tenants.exists(ConfigMap, "a") == {"a"}
    assert await tenants.exists(Service, "front") == set()

    await tenants.allow(configmaps=ALL, services=ALL)
    await tenants.until_healthy("web")
    assert await tenants.exists(Service, "front") == {"front"}


async def test_what_the_account_may_not_read_is_neither_looked_at_nor_told(
    tenants: Tenants,
) -> None:
    """The process sees the Secret; the account may write Secrets there but not read them."""
    other = await tenants.other_namespace()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "canary",
            "namespace": other,
            "labels": {
                "resources.gardener.cloud/managed-by": tenants.namespace,
                "canary-label": "canary-value",
            },
            "annotations": {"resources.gardener.cloud/origin": "canary/origin"},
        },
        "data": {"k": "Y2FuYXJ5"},
    }
    await tenants.cluster.client.create(secret)
    await tenants.allow(configmaps=ALL)
    await tenants.allow(other, secrets="create update patch delete")
    wanted = {**secret, "metadata": {"name": "canary", "namespace": other}, "data": {}}
    await tenants.declare("web", config_map("a"), wanted, serviceAccountName="tenant")
    await tenants.settle()
    message = await tenants.message("web")
    assert (
        f'secrets "canary" is forbidden: User "{tenants.user()}" cannot get resource "secrets" in'
        f' API group "" in the namespace "{other}"'
    ) in message
    told = str(await tenants.status("web")) + str(await tenants.cluster.list(Event))
    for canary in ("canary-label", "canary-value", "canary/origin", "Y2FuYXJ5"):
        assert canary not in told
    live = await tenants.cluster.client.get(Secret, Key(other, "canary"))
    assert live["data"] == {"k": "Y2FuYXJ5"}
    assert await tenants.exists(ConfigMap, "a") == {"a"}


async def test_escalations_are_refused_by_the_server(tenants: Tenants) -> None:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": tenants.namespace}
    body = {"apiVersion": f"{RBAC}/v1", "roleRef": reference, "subjects": [subject]}
    name = f"{tenants.namespace}-everything"
    everywhere = {**body, "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    here = {**body, "kind": "RoleBinding", "metadata": {"name": name}}
    await tenants.allow(rolebindings=ALL)
    await tenants.declare("web", everywhere, here, serviceAccountName="tenant")
    await tenants.settle()
    message = await tenants.message("web")
    assert message.startswith("Could not apply all new resources: 2 errors occurred: [")
    assert f'User "{tenants.user()}" cannot get resource "clusterrolebindings"' in message
    assert "is attempting to grant RBAC permissions not currently held" in message
    for kind in (ClusterRoleBinding, RoleBinding):
        assert await tenants.find(kind, name) is None


async def test_a_deletion_that_is_forbidden_waits_and_names_the_account(
    tenants: Tenants,
) -> None:
    await tenants.allow(configmaps="get list watch create update patch")
    await tenants.declare("web", config_map("a"), serviceAccountName="tenant")
    await tenants.settle()
    await tenants.cluster.delete(tenants.kind, "web")
    calls = await tenants.settle()
    assert (await tenants.conditions("web"))["Applied"] == "False/DeletionFailed"
    assert f'User "{tenants.user()}" cannot delete resource "configmaps"' in (
        await tenants.message("web")
    )
    assert acted_as(target_writes(calls)) == {tenants.user()}
    assert await tenants.exists(ConfigMap, "a") == {"a"}
    await tenants.allow(configmaps=ALL)
    with suppress(NotFound):  # gone by a retry
        await tenants.change("web", suspend=False)
    await tenants.cluster.gone(tenants.kind, "web")
    await tenants.settle()
    assert await tenants.exists(ConfigMap, "a") == set()


async def test_a_right_to_write_that_is_revoked_counts_at_once(tenants: Tenants) -> None:
    await tenants.allow(configmaps=ALL)
    await tenants.declare("web", config_map("a", {"k": "v"}), serviceAccountName="tenant")
    await tenants.settle()
    await tenants.allow(configmaps=READ)
    await tenants.cluster.patch(ConfigMap, "a", {"data": {"k": "edited"}})
    await tenants.settle()
    assert (await tenants.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f'User "{tenants.user()}" cannot ' in await tenants.message("web")
    assert (await tenants.find(ConfigMap, "a"))["data"] == {"k": "edited"}


async def test_objects_of_other_namespaces_are_taken_over_only_if_their_owner_agrees(
    tenants: Tenants, healthy: dict[str, str]
) -> None:
    await tenants.allow(configmaps=ALL)
    origin = {"resources.gardener.cloud/origin": "elsewhere/owner"}
    await tenants.cluster.create(config_map("shared", {"by": "owner"}, annotations=origin))
    take_over = {"resources.certwright.dev/take-over": "true"}
    mine = config_map("shared", {"by": "tenant"})
    await tenants.declare("web", mine, annotations=take_over, serviceAccountName="tenant")
    await tenants.settle()
    consent = f"resources.certwright.dev/hand-over-to={tenants.namespace}/web"
    message = await tenants.message("web")
    assert (
        f"it belongs to elsewhere/owner; its owner has to agree: annotate it there with {consent}"
        in message
    )
    assert (await tenants.find(ConfigMap, "shared"))["data"] == {"by": "owner"}
    agreed = {"resources.certwright.dev/hand-over-to": f"{tenants.namespace}/web"}
    await tenants.cluster.patch(ConfigMap, "shared", {"metadata": {"annotations": agreed}})
    await tenants.annotate("web", "gardener.cloud/operation", "reconcile")
    await tenants.until_healthy("web")
    assert (await tenants.find(ConfigMap, "shared"))["data"] == {"by": "tenant"}

"""The manifest that the documentation installs: its roles suffice, and its process starts."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.waits import until

from certwright.api.managedresources import ManagedResource
from certwright.cli.resourcemanager.flags import parse
from certwright.cli.resourcemanager.process import addresses_of, load
from certwright.client import Client, Request, Response, Transport
from certwright.kube import JsonObject, crd_manifest
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.operators.garbagecollector import CollectorSettings, garbage_collector
from certwright.operators.managedresource import Configuration, load_with_flags, resource_operator
from certwright.runtime import LeaderElection, Manager
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.builders import deployment

ACCOUNT = "system:serviceaccount:certwright:resource-manager"
GARBAGE = {"resources.gardener.cloud/garbage-collectable-reference": "true"}
TARGET = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "target"},
    "rules": [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments"],
            "verbs": ["get", "create", "update", "patch", "delete"],
        },
        {
            "apiGroups": ["autoscaling"],
            "resources": ["horizontalpodautoscalers"],
            "verbs": ["list"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ],
}


@pytest.fixture
def manifests(pytestconfig: pytest.Config) -> list[JsonObject]:
    text = (pytestconfig.rootpath / "examples/resource-manager.yaml").read_text("utf-8")
    return list(yaml.safe_load_all(text))


class Acting:
    """A transport that says it is the ServiceAccount of the manifest."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def _as(self, request: Request) -> Request:
        return replace(request, headers=(*request.headers, ("impersonate-user", ACCOUNT)))

    async def send(self, request: Request) -> Response:
        return await self._inner.send(self._as(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(self._as(request))

    async def close(self) -> None:
        """Do nothing: the connection belongs to the cluster."""


async def install(cluster: EmbeddedCluster, manifests: list[JsonObject]) -> None:
    """Apply it, and let ManagedResources of one namespace write Deployments."""
    await cluster.install(crd_manifest(ManagedResource))
    await cluster.apply(TARGET)
    for manifest in manifests:
        await cluster.apply(manifest)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "target"}
    account = {"kind": "ServiceAccount", "name": "managed-resources", "namespace": "default"}
    await cluster.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "managed-resources", "namespace": "default"},
            "roleRef": reference,
            "subjects": [account],
        }
    )


async def declare(cluster: EmbeddedCluster) -> None:
    """A ManagedResource that keeps a Deployment, and a ConfigMap that nothing uses."""
    text = yaml.safe_dump(deployment("web", namespace=cluster.namespace))
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}}
    await cluster.create({**head, "stringData": {"objects.yaml": text}})
    spec = {"secretRefs": [{"name": "web"}]}
    kind = {"apiVersion": "resources.gardener.cloud/v1alpha1", "kind": "ManagedResource"}
    await cluster.create({**kind, "metadata": {"name": "web"}, "spec": spec})
    loose = {"apiVersion": "v1", "kind": "ConfigMap"}
    await cluster.create({**loose, "metadata": {"name": "loose", "labels": GARBAGE}})


async def test_its_roles_are_enough_and_no_watch_is_refused(
    embedded_cluster: EmbeddedCluster, manifests: list[JsonObject]
) -> None:
    assert embedded_cluster is not None  # for its virtual time
    async with EmbeddedCluster(rbac=True) as cluster:
        await install(cluster, manifests)
        await declare(cluster)
        async with Client(Acting(cluster._transport()), clock=cluster.clock) as client:
            at_once = CollectorSettings(enabled=True, minimum_lifetime=timedelta())
            manager = Manager(
                client,
                [resource_operator(configured(manifests)), garbage_collector(at_once)],
                leader_election=LeaderElection(name="resource-manager", namespace="certwright"),
                clock=cluster.clock,
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(manager.run())
                await asyncio.sleep(90)
                refused = [check for check in manager.readiness() if check.problem]
                manager.stop()
        conditions = (await cluster.get(ManagedResource, "web")).status.conditions
        said = {one.type: (one.status, one.reason) for one in conditions}
        assert said["ResourcesApplied"] == ("True", "ApplySucceeded")
        assert said["ResourcesHealthy"][1] == "DeploymentUnhealthy"  # nobody runs its pods
        assert await cluster.names(Deployment) == {"web"}
        assert "loose" not in await cluster.names(ConfigMap)
        assert refused == []
        for verb in ("create", "update", "patch", "delete"):
            assert not await may(cluster, verb, "apps", "deployments")
        assert await may(cluster, "impersonate", "", "serviceaccounts", "managed-resources")
        assert not await may(cluster, "impersonate", "", "serviceaccounts", "default")


async def may(cluster: Cluster, verb: str, group: str, resource: str, name: str = "") -> bool:
    """Return whether the process may do something by its own rights."""
    attributes = {"namespace": "default", "verb": verb, "group": group, "resource": resource}
    review: JsonObject = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": ACCOUNT, "resourceAttributes": {**attributes, "name": name}},
    }
    answer: JsonObject = await cluster.client.create(review)
    return answer["status"]["allowed"] is True


def test_it_binds_nothing_that_may_do_everything(manifests: list[JsonObject]) -> None:
    bound = {m["roleRef"]["name"] for m in manifests if "roleRef" in m}
    defined = {m["metadata"]["name"] for m in manifests if m["kind"].endswith("Role")}
    assert bound <= defined
    rules = [rule for m in manifests for rule in m.get("rules") or ()]
    assert rules
    assert not [rule for rule in rules if "*" in str(rule)]
    assert not [rule for rule in rules if {"escalate", "bind"} & set(rule["verbs"])]


def configured(manifests: list[JsonObject]) -> Configuration:
    """Return the configuration in the ConfigMap."""
    found = [m["data"] for m in manifests if m["kind"] == "ConfigMap"]
    document = yaml.safe_load(found[0]["config.yaml"])
    return load_with_flags(document, {}, {}).configuration


def test_its_arguments_and_ports_are_those_of_the_process(
    manifests: list[JsonObject], tmp_path: Path
) -> None:
    [pod] = [m["spec"]["template"]["spec"] for m in manifests if m["kind"] == "Deployment"]
    [container], [volume] = pod["containers"], pod["volumes"]
    command, *words = container["args"]
    assert command == "resource-manager"
    assert [volume["name"]] == [mount["name"] for mount in container["volumeMounts"]]
    [data] = [m["data"] for m in manifests if m["kind"] == "ConfigMap"]
    path = tmp_path / "config.yaml"
    path.write_text(data["config.yaml"], "utf-8")
    given = parse([word.replace("/etc/certwright", str(tmp_path)) for word in words])
    loaded = load(given, {})
    assert not loaded.warnings
    ports = {port["containerPort"] for port in container["ports"]}
    assert ports == {address.port for address in addresses_of(loaded.configuration)}


@pytest.mark.real
async def test_its_roles_read_what_is_kept_and_write_none_of_it(
    real_cluster: Cluster, manifests: list[JsonObject]
) -> None:
    """On the real server, whose controller adds up the roles."""
    for manifest in manifests:
        if manifest["kind"] in {"ClusterRole", "ClusterRoleBinding"}:
            await real_cluster.client.create(manifest)
    rbac = "rbac.authorization.k8s.io"
    read = (("apps", "deployments"), (rbac, "clusterrolebindings"))
    for group, resource in read:  # the controller adds up one role after the other
        allowed = partial(may, real_cluster, "watch", group, resource)
        await until(f"the process may watch {resource}", allowed)
    acts = partial(may, real_cluster, "impersonate", "", "serviceaccounts", "managed-resources")
    await until("the process may act as managed-resources", acts)
    for verb in ("create", "update", "patch", "delete"):
        assert not await may(real_cluster, verb, "apps", "deployments")
        assert not await may(real_cluster, verb, rbac, "clusterrolebindings")
    assert not await may(real_cluster, "impersonate", "", "serviceaccounts", "default")
    assert not await may(real_cluster, "impersonate", "", "users", "kubernetes-admin")

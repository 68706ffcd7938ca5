"""What only one object can have: its successor cannot have it before the old one is gone."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping
from tests.support.waits import until

from certwright.client import Client, Request
from certwright.client.transport import Response
from certwright.kube import Forbidden, JsonObject, Resource
from certwright.kube.kinds import ConfigMap, ResourceQuota, Service
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.builders import config_map

PORT = 31877


def service(name: str) -> JsonObject:
    port = {"name": "web", "port": 80, "nodePort": PORT}
    spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [port]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_a_port_moves_from_one_service_to_another(keeping: Keeping) -> None:
    await keeping.declare("web", service("old"))
    await keeping.settle()
    await keeping.rewrite("web", service("new"))
    await keeping.settle()
    await keeping.until_healthy("web")
    assert await keeping.exists(Service, "old", "new") == {"new"}


class OneOnly:
    """A server that refuses to create ``new`` while ``old`` is there."""

    def __init__(self, target: EmbeddedCluster, status: int) -> None:
        self._inner = target.server.transport()
        self._target = target
        self._status = status

    async def send(self, request: Request) -> Response:
        written = request.method in {"PATCH", "POST", "PUT"} and "/configmaps" in request.path
        new = written and b'"name":"new"' in (request.body or b"").replace(b" ", b"")
        if new and await self._target.find(ConfigMap, "old") is not None:
            return Response(self._status, {}, b'{"kind": "Status"}')
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


REFUSED, FAILED = (400, 403, 405, 409, 413, 422), (401, 408, 429, 500, 503)


@pytest.mark.parametrize(
    ("status", "left"),
    [*((status, {"new"}) for status in REFUSED), *((status, {"old"}) for status in FAILED)],
)
async def test_what_is_refused_may_need_what_goes_and_what_fails_does_not(
    embedded_keeping: Keeping, status: int, left: set[str]
) -> None:
    keeping = embedded_keeping
    async with EmbeddedCluster(seed=7) as target:
        client = Client(OneOnly(target, status), clock=target.clock)
        keeping.running = keeping.operator(target=client)
        await keeping.declare("web", config_map("old"))
        await keeping.settle()
        await keeping.rewrite("web", config_map("new"))
        await keeping.settle()
        await keeping.cluster.advance(minutes=1)
        found = {name for name in ("old", "new") if await target.find(ConfigMap, name)}
        assert found == left
        await keeping.cluster.stop()


GROUP = "admissionregistration.k8s.io"
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
UNIQUE = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "ValidatingAdmissionPolicy",
    "spec": {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["configmaps"],
                }
            ]
        },
        "validations": [
            {
                "expression": "object.metadata.name != 'new'",
                "message": "the host is taken",
                "reason": "Forbidden",
            }
        ],
    },
}
"""Refuses ``new``; the binding below makes it do so only while ``old`` is there."""


def bound(namespace: str) -> tuple[JsonObject, JsonObject]:
    """Return a policy for one namespace and its binding."""
    where = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    name = {"name": f"{namespace}.certwright.dev"}
    return {**UNIQUE, "metadata": name}, {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": name,
        "spec": {
            "policyName": name["name"],
            "validationActions": ["Deny"],
            "paramRef": {
                "name": "old",
                "namespace": namespace,
                "parameterNotFoundAction": "Allow",
            },
            "matchResources": {"namespaceSelector": where},
        },
    }


async def is_refused(keeping: Keeping, obj: JsonObject) -> bool:
    try:
        await keeping.cluster.client.create(keeping.placed(obj), dry_run=True)
    except Forbidden:
        return True
    return False


@pytest.mark.real
async def test_a_name_changes_although_admission_refuses_it_while_the_old_one_is_there(
    real_cluster: Cluster, keeping_on: type[Keeping]
) -> None:
    keeping = keeping_on(real_cluster)
    await keeping.declare("web", config_map("old"))
    await keeping.settle()
    policies = bound(keeping.namespace)
    await keeping.cluster.install(*policies)
    try:
        await until("the policy is heeded", partial(is_refused, keeping, config_map("new")))
        await keeping.rewrite("web", config_map("new"))
        await keeping.settle()
        await keeping.until_healthy("web")
        assert await keeping.exists(ConfigMap, "old", "new") == {"new"}
    finally:
        for policy in policies:
            kind = Resource(GROUP, "v1", policy["kind"], PLURALS[policy["kind"]], namespaced=False)
            await keeping.cluster.delete(kind, policy["metadata"]["name"])


async def count(keeping: Keeping, used: str) -> None:
    """Do what the quota controller does, which is not among those that run."""
    status = {"hard": {"count/configmaps": "1"}, "used": {"count/configmaps": used}}
    await keeping.cluster.patch(ResourceQuota, "one", {"status": status}, subresource="status")


@pytest.mark.real
async def test_a_name_changes_under_a_quota_that_is_used_up(
    real_cluster: Cluster, keeping_on: type[Keeping]
) -> None:
    keeping = keeping_on(real_cluster)
    await keeping.declare("web", config_map("old"))
    await keeping.settle()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}}
    hard = {"count/configmaps": "1"}
    await keeping.cluster.create({**quota, "spec": {"hard": hard}})
    await count(keeping, "1")
    await until("the quota is heeded", partial(is_refused, keeping, config_map("new")))
    await keeping.rewrite("web", config_map("new"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "old", "new") == set()
    assert "exceeded quota" in await keeping.message("web")
    await count(keeping, "0")
    await keeping.until_healthy("web")
    assert await keeping.exists(ConfigMap, "old", "new") == {"new"}

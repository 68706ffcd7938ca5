"""What the operator may do is enough, and nothing in it escalates."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from tests.component.operators.certmanager.conftest import (
    CMD,
    V120,
    V121,
    Installing,
    as_released,
)

from certwright.cli.controllers import built_controllers
from certwright.client import Client, Request, Response, Transport
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import CustomResourceDefinition, Namespace, Service
from certwright.operators.certmanager.grants import operand_rules
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.runtime import Manager, policy_rules

ACCOUNT = "system:serviceaccount:default:installer"
WEBHOOK = "cert-manager/cert-manager-webhook"


MONITOR = Resource("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors")


def monitor_definition() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": MONITOR.version, "served": True, "storage": True}
    return {
        "apiVersion": CustomResourceDefinition.api_version,
        "kind": CustomResourceDefinition.kind,
        "metadata": {"name": f"{MONITOR.plural}.{MONITOR.group}"},
        "spec": {
            "group": MONITOR.group,
            "scope": "Namespaced",
            "names": {"kind": MONITOR.kind, "plural": MONITOR.plural, "singular": "servicemonitor"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


class Acting:
    """A transport that says it is the operator's account, and notes what is refused."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.refused: list[str] = []

    def _as(self, request: Request) -> Request:
        return replace(request, headers=(*request.headers, ("impersonate-user", ACCOUNT)))

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(self._as(request))
        if response.status == 403 and ("dryRun", "All") not in request.query:
            self.refused.append(f"{request.verb} {request.path}")
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(self._as(request))

    async def close(self) -> None:
        await self._inner.close()


async def test_its_rules_are_enough_for_a_whole_life(installing: Installing) -> None:
    cluster = installing.cluster
    bundles = [as_released(version).unpack() for version in (V120, V121)]
    settings = CertManagerSettings(installing.source(), {}, operand_rules(bundles))
    operator = certmanager_operator(settings)
    rules = policy_rules(built_controllers([operator]))
    verbs = {verb for rule in rules for verb in rule["verbs"]}
    assert not verbs & {"*", "escalate", "bind", "impersonate"}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "installer"}}
    await cluster.create({**head, "kind": "ClusterRole", "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    subject = {"kind": "ServiceAccount", "name": "installer", "namespace": "default"}
    binding = {"roleRef": {**reference, "name": "installer"}, "subjects": [subject]}
    await cluster.create({**head, "kind": "ClusterRoleBinding", **binding})
    await cluster.install(monitor_definition())
    await installing.declare(version=V120, serviceMonitor={})
    acting = Acting(cluster.server.transport())
    manager = Manager(Client(acting, clock=cluster.clock), [operator], clock=cluster.clock)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(manager.run())
        await asyncio.sleep(60)
        assert (await installing.status())["installedVersion"] == V120
        assert await installing.find(MONITOR, "cert-manager/cert-manager") is not None
        await cluster.delete(Service, WEBHOOK)
        await installing.change(version=V121)
        await asyncio.sleep(120)
        assert (await installing.status())["installedVersion"] == V121
        assert await installing.find(Service, WEBHOOK) is not None
        await cluster.delete(CMD, "cluster")
        await asyncio.sleep(60)
        assert await installing.find(CMD, "cluster") is None
        assert await installing.find(Namespace, "cert-manager") is None
        running.cancel()
    assert acting.refused == []

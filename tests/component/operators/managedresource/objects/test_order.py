"""In which order the objects of a ManagedResource are written, and who else scales them."""

from typing import Any

import orjson
import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment
from certwright.testkit.builders import config_map, deployment, namespace, secret

RBAC = "rbac.authorization.k8s.io/v1"


def bare(api_version: str, kind: str, name: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


@pytest.mark.scenario("MR-49")
async def test_kinds_come_in_their_order(
    keeping: Keeping, toys: Toys, healthy: dict[str, str]
) -> None:
    """Objects of one kind are sent at once on several connections: either may arrive first."""
    own = f"order-{keeping.namespace}"
    webhooks = "admissionregistration.k8s.io/v1"
    wanted = [
        namespace(own),
        bare("v1", "ServiceAccount", "sa"),
        secret("s"),
        config_map("a"),
        config_map("b"),
        toys.definition(),
        bare(RBAC, "ClusterRole", own, rules=[]),
        bare(RBAC, "Role", "r", rules=[]),
        bare("v1", "Service", "s", spec={"ports": [{"port": 80}]}),
        deployment(
            "d", replicas=0, annotations={"resources.gardener.cloud/skip-health-check": "true"}
        ),
        bare(webhooks, "ValidatingWebhookConfiguration", own, webhooks=[]),
        toys.toy("bear"),
    ]
    await keeping.declare("web", *reversed(wanted))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    written = [
        (sent["kind"], sent["metadata"]["name"])
        for request in calls
        if request.verb == "create" and request.resource != keeping.kind
        for sent in [orjson.loads(request.body or b"")]
    ]
    assert [kind for kind, _ in written] == [obj["kind"] for obj in wanted]
    assert sorted(written) == sorted((obj["kind"], obj["metadata"]["name"]) for obj in wanted)


def autoscaler(name: str, **target: str) -> JsonObject:
    metadata = {"name": name}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, **target}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": {"maxReplicas": 9, "scaleTargetRef": reference},
    }


@pytest.mark.scenario("MR-33")
async def test_an_autoscaler_that_names_nothing_affects_nobody_else(
    embedded_keeping: Keeping,
) -> None:
    """Embedded: servers of today refuse such an autoscaler, and may hold one from before."""
    keeping = embedded_keeping
    await keeping.cluster.create(autoscaler("bad", apiVersion="not/a/version"))
    await keeping.cluster.create(autoscaler("scaled"))
    await keeping.declare(
        "web", deployment("bad", replicas=2), deployment("scaled", replicas=2), config_map("a")
    )
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "True/ApplySucceeded"
    [note] = await keeping.events("QuestionableInput")
    assert f"HorizontalPodAutoscaler {keeping.namespace}/bad names a target that is none" in note
    names = ("bad", "scaled")
    for name in names:
        await keeping.cluster.patch(Deployment, name, {"spec": {"replicas": 5}})
    await keeping.settle()
    replicas = [(await keeping.find(Deployment, name))["spec"]["replicas"] for name in names]
    assert replicas == [2, 5]

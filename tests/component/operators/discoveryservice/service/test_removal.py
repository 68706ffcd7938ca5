"""A DiscoveryService that is deleted leaves nothing behind, and nothing waits for it."""

from typing import Any

import pytest
from tests.component.operators.discoveryservice.service.conftest import DS, Serving
from tests.component.operators.discoveryservice.service.test_install import OBJECTS

from certwright.kube.kinds import ConfigMap, Namespace


async def remains(serving: Serving) -> list[str]:
    """Return what is left of the DiscoveryService and its objects."""
    left = [name for kind, name in OBJECTS if await serving.find(kind, name) is not None]
    return [*left, "x"] if await serving.find(DS, "x") is not None else left


@pytest.mark.scenario("DS-48")
async def test_everything_goes_in_order_and_the_finalizer_last(serving: Serving) -> None:
    await serving.served("a")
    assert (await serving.get())["metadata"]["finalizers"] == [
        "finalizer.operator.marin3r.3scale.net"
    ]
    await serving.settle()
    await serving.cluster.delete(DS, "x")
    calls = await serving.advance(60)
    assert await remains(serving) == []
    assert await serving.labels("a") == {}
    order: list[str] = []
    for call in calls:
        kind = call.resource.kind if call.resource else ""
        if call.verb == "delete" or (call.verb == "patch" and kind == "Namespace"):
            order.append(kind)
        elif kind == "DiscoveryService" and call.verb == "patch" and "status" not in call.path:
            order.append("finalizer")
    first = {kind: order.index(kind) for kind in order}
    wanted = [
        "MutatingWebhookConfiguration",
        "Deployment",
        "DiscoveryServiceCertificate",
        "Namespace",
        "finalizer",
    ]
    assert sorted(wanted, key=first.__getitem__) == wanted
    assert order[-1] == "finalizer"
    certificates = [one for one in calls.of("DiscoveryServiceCertificate") if one.verb == "delete"]
    assert certificates[-1].path.endswith("marin3r-ca-cert-x"), "what it signed goes before it"


@pytest.mark.scenario("DS-49")
async def test_a_terminating_namespace_does_not_hold_it_up(serving: Serving) -> None:
    await serving.served("a", "b")
    held: Any = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": "b", "finalizers": ["example.com/hold"]},
    }
    await serving.cluster.create(held)
    await serving.cluster.delete(Namespace, "b")
    await serving.cluster.delete(DS, "x")
    await serving.advance(120)
    assert await remains(serving) == []
    assert await serving.find(Namespace, "b") is not None, "it is still held"
    release: Any = {"metadata": {"finalizers": None}}
    await serving.cluster.patch(ConfigMap, "b/held", release)


@pytest.mark.scenario("DS-51")
async def test_a_deletion_waits_for_the_operator(serving: Serving) -> None:
    await serving.served("a")
    await serving.cluster.stop()
    await serving.cluster.delete(DS, "x")
    await serving.cluster.advance(seconds=600)
    assert (await serving.get())["metadata"]["deletionTimestamp"]
    assert len(await remains(serving)) == len(OBJECTS) + 1
    await serving.advance(60)
    assert await remains(serving) == []
    assert await serving.labels("a") == {}


async def test_one_that_was_never_served_can_go(serving: Serving) -> None:
    await serving.declare("a")
    await serving.settle()
    await serving.cluster.delete(DS, "x")
    await serving.advance(10)
    assert await serving.find(DS, "x") is None

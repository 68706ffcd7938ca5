"""Namespaces that are enabled, missing, owned by others, and given up."""

import pytest
from tests.component.operators.discoveryservice.service.conftest import Serving

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube.kinds import (
    ConfigMap,
    MutatingWebhookConfiguration,
    Namespace,
    Pod,
    Role,
    Secret,
)

DSC = DiscoveryServiceCertificate.resource
IN_NAMESPACE = [
    (DSC, "envoy-sidecar-client-cert"),
    (Secret, "envoy-sidecar-client-cert"),
    (ConfigMap, "envoy-sidecar-bootstrap"),
    (Role, "marin3r-x"),
]


@pytest.mark.scenario("DS-38")
async def test_a_missing_namespace_is_listed_and_picked_up(serving: Serving) -> None:
    await serving.namespace("infra", "a")
    await serving.declare("a", "later")
    await serving.advance(30)
    assert await serving.is_injected("a")
    assert await serving.find(MutatingWebhookConfiguration, "marin3r-x") is not None
    assert (await serving.conditions())["Ready"] == "False/NamespacesNotServed"
    [missing] = (await serving.status())["namespaces"]
    assert (missing["name"], missing["reason"]) == ("later", "NamespaceNotFound")
    await serving.namespace("later")
    await serving.until_ready(seconds=15)
    assert await serving.is_injected("later")
    assert not (await serving.status()).get("namespaces")


@pytest.mark.scenario("DS-39")
async def test_all_bad_namespaces_are_visible(serving: Serving) -> None:
    await serving.namespace("infra", "a")
    await serving.declare("first", "a", "second", "infra", "kube-system")
    await serving.advance(30)
    found = {one["name"]: one["reason"] for one in (await serving.status())["namespaces"]}
    assert found == {
        "first": "NamespaceNotFound",
        "second": "NamespaceNotFound",
        "infra": "NotEligible",
        "kube-system": "NotEligible",
    }
    assert "4 of 5 namespaces are not served" in await serving.message("Ready")
    assert await serving.is_injected("a")


@pytest.mark.scenario("DS-40")
async def test_a_namespace_of_another_discovery_service_is_not_touched(serving: Serving) -> None:
    await serving.namespace("infra", "a")
    await serving.namespace("theirs", discovery_service="y", status="enabled")
    await serving.declare("a", "theirs")
    await serving.declare(name="y")
    await serving.advance(30)
    [owned] = (await serving.status())["namespaces"]
    assert (owned["name"], owned["reason"]) == ("theirs", "OwnedByOther")
    assert "already owned by DiscoveryService y" in owned["message"]
    assert await serving.labels("theirs") == {"discovery-service": "y", "status": "enabled"}
    assert [await serving.find(kind, f"theirs/{name}") for kind, name in IN_NAMESPACE] == [None] * 4


async def test_a_label_that_names_no_one_any_more_does_not_count(serving: Serving) -> None:
    await serving.namespace("infra")
    await serving.namespace("a", discovery_service="long-gone", status="enabled")
    await serving.declare("a")
    await serving.until_ready()
    assert (await serving.labels("a"))["discovery-service"] == "x"


@pytest.mark.scenario("DS-47")
async def test_a_namespace_that_leaves_the_list_is_cleaned_up(serving: Serving) -> None:
    await serving.served("a", "b")
    await serving.pod("a", node_id="gateway")
    await serving.change(enabledNamespaces=["b"])
    await serving.advance(30)
    for kind, name in IN_NAMESPACE:
        assert await serving.find(kind, f"a/{name}") is None, name
        assert await serving.find(kind, f"b/{name}") is not None, name
    assert await serving.labels("a") == {}
    assert await serving.find(Pod, "a/app") is not None
    assert (await serving.conditions())["Ready"] == "True/Serving"


@pytest.mark.scenario("DS-66")
async def test_the_last_spec_counts(serving: Serving) -> None:
    await serving.served("a")
    for number in range(20):
        await serving.change(enabledNamespaces=["a"] if number % 2 else [])
        if number % 3 == 0:
            await serving.cluster.advance(seconds=0.02)
    await serving.advance(30)
    assert await serving.labels("a") == {"status": "enabled", "discovery-service": "x"}
    for kind, name in IN_NAMESPACE:
        assert await serving.find(kind, f"a/{name}") is not None, name
    await serving.change(enabledNamespaces=[])
    await serving.advance(30)
    assert await serving.labels("a") == {}
    assert [await serving.find(kind, f"a/{name}") for kind, name in IN_NAMESPACE] == [None] * 4


async def test_a_namespace_that_is_deleted_and_made_anew_is_served_again(serving: Serving) -> None:
    await serving.served("a", "b")
    await serving.cluster.delete(Namespace, "a")
    await serving.advance(30)
    assert (await serving.conditions())["Ready"] == "False/NamespacesNotServed"
    assert await serving.is_injected("b")
    await serving.namespace("a")
    await serving.until_ready()
    assert await serving.is_injected("a")


async def test_pods_that_came_too_early_are_counted_and_named(serving: Serving) -> None:
    await serving.namespace("infra", "a")
    await serving.pod("a", node_id="gateway")
    await serving.declare("a")
    await serving.until_ready()
    await serving.advance(30)
    assert (await serving.status())["podsWithoutSidecar"] == 1
    number = 'certwright_discoveryservice_pods_without_sidecar{name="x"}'
    assert f"{number} 1.0" in await serving.cluster.scrape()
    assert (await serving.conditions())["Degraded"] == "True/PodsWithoutSidecar"
    assert "a/app" in await serving.message("Degraded")
    await serving.cluster.delete(Pod, "a/app")
    await serving.pod("a", node_id="gateway")
    await serving.advance(30)
    assert (await serving.status())["podsWithoutSidecar"] == 0
    assert f"{number} 0.0" in await serving.cluster.scrape()
    assert (await serving.conditions())["Degraded"] == "False/AsExpected"

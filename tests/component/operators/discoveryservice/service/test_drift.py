"""What others change or delete is restored; what is theirs is left alone."""

from typing import Any

import pytest
from tests.component.operators.discoveryservice.service.conftest import Serving
from tests.component.operators.discoveryservice.service.test_install import OBJECTS

from certwright.kube.kinds import (
    ConfigMap,
    Deployment,
    MutatingWebhookConfiguration,
    Namespace,
)

SERVICE_HASH = "marin3r.3scale.net/discovery-service"


@pytest.mark.scenario("DS-29")
async def test_every_object_that_is_deleted_returns(serving: Serving) -> None:
    await serving.served("a")
    for kind, name in OBJECTS:
        await serving.cluster.delete(kind, name)
        await serving.advance(2)
        assert await serving.find(kind, name) is not None, name
    for kind, name in OBJECTS:
        await serving.cluster.delete(kind, name)
    await serving.advance(10)
    missing = [name for kind, name in OBJECTS if await serving.find(kind, name) is None]
    assert not missing
    await serving.until_ready()


@pytest.mark.scenario("DS-30")
async def test_labels_of_namespaces_return(serving: Serving) -> None:
    await serving.served("a")
    gone = {"marin3r.3scale.net/status": None, SERVICE_HASH: None}
    await serving.cluster.patch(Namespace, "a", {"metadata": {"labels": gone}})
    calls = await serving.advance(5)
    assert await serving.labels("a") == {"status": "enabled", "discovery-service": "x"}
    assert calls.writes == 1


@pytest.mark.scenario("DS-33")
async def test_an_edited_bootstrap_and_authority_are_restored(serving: Serving) -> None:
    await serving.served("a")
    bootstrap = await serving.find(ConfigMap, "a/envoy-sidecar-bootstrap")
    edited: Any = {"data": {"config.json": "{}", "more": "x"}}
    await serving.cluster.patch(ConfigMap, "a/envoy-sidecar-bootstrap", edited)
    registered = await serving.find(MutatingWebhookConfiguration, "marin3r-x")
    other = [
        {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "eA=="},
        {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
    ]
    await serving.cluster.patch(
        MutatingWebhookConfiguration, "marin3r-x", other, type="application/json-patch+json"
    )
    await serving.advance(10)
    restored = await serving.find(ConfigMap, "a/envoy-sidecar-bootstrap")
    assert restored["data"] == bootstrap["data"]
    again = await serving.find(MutatingWebhookConfiguration, "marin3r-x")
    assert again["webhooks"] == registered["webhooks"]


@pytest.mark.scenario("DS-35")
async def test_annotations_and_labels_of_others_stay_without_a_fight(serving: Serving) -> None:
    await serving.served("a")
    mark = {"metadata": {"annotations": {"example.com/team": "a"}, "labels": {"team": "a"}}}
    for kind, name in OBJECTS:
        await serving.cluster.patch(kind, name, mark)
    await serving.cluster.patch(Namespace, "a", mark)
    calls = await serving.advance(600)
    # Annotations of a Deployment count as another generation, which its status tells.
    assert calls.writes == calls.of("DiscoveryService").writes == 1, calls
    for kind, name in [*OBJECTS, (Namespace, "a")]:
        metadata = (await serving.find(kind, name))["metadata"]
        assert metadata["annotations"]["example.com/team"] == "a", name
        assert metadata["labels"]["team"] == "a", name


@pytest.mark.scenario("DS-36")
async def test_defaults_of_the_server_cause_no_update(serving: Serving) -> None:
    await serving.served("a")
    deployment = await serving.find(Deployment, "infra/marin3r-x")
    template = deployment["spec"]["template"]["spec"]
    assert (template["restartPolicy"], template["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert deployment["metadata"]["generation"] == 1
    await serving.cluster.patch(Deployment, "infra/marin3r-x", {"spec": {"minReadySeconds": 0}})
    assert (await serving.advance(600)).of("Deployment").writes == 0
    again = await serving.find(Deployment, "infra/marin3r-x")
    assert again["metadata"]["generation"] == 1

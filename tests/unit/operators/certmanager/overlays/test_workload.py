"""Replicas, resources, security, probes, high availability."""

import pytest
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.request import Component

RESOURCES = {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}}


@pytest.mark.scenario("CMD-14")
def test_each_component_is_as_its_part_of_the_request_says() -> None:
    strategy = {"type": "Recreate"}
    view = rendered(
        controller={"replicas": 2, "resources": RESOURCES},
        webhook={"replicas": 3, "strategy": strategy, "pod_disruption_budget": {}},
    )
    replicas = {one: view.deployment(one)["spec"]["replicas"] for one in Component}
    assert replicas == {CONTROLLER: 2, CAINJECTOR: 1, WEBHOOK: 3}
    assert view.container(CONTROLLER)["resources"] == RESOURCES
    assert "resources" not in view.container(WEBHOOK)
    assert view.deployment(WEBHOOK)["spec"]["strategy"] == strategy
    assert "strategy" not in view.deployment(CONTROLLER)["spec"]
    (budget,) = view.find("PodDisruptionBudget")
    assert budget["metadata"]["name"] == "cert-manager-webhook"


def test_security_contexts_are_merged_as_helm_does() -> None:
    wanted = {
        "pod_security_context": {"fsGroup": 1001, "seccompProfile": None},
        "container_security_context": {"readOnlyRootFilesystem": True},
    }
    view = rendered(cainjector=wanted)
    assert view.pod(CAINJECTOR)["securityContext"] == {"runAsNonRoot": True, "fsGroup": 1001}
    assert view.container(CAINJECTOR)["securityContext"] == {"readOnlyRootFilesystem": True}
    assert "fsGroup" not in view.pod(WEBHOOK)["securityContext"]


def test_the_host_network_needs_the_names_of_the_cluster() -> None:
    pod = rendered(webhook={"host_network": True}).pod(WEBHOOK)
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert "hostNetwork" not in rendered(webhook={"host_network": False}).pod(WEBHOOK)


def test_what_pods_may_have_besides() -> None:
    wanted = {
        "dns_policy": "None",
        "dns_config": {"nameservers": ["1.1.1.1"]},
        "host_aliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
        "extra_containers": [{"name": "side"}],
        "enable_service_links": True,
    }
    view = rendered(controller=wanted, host_users=False, revision_history_limit=0)
    pod = view.pod()
    assert pod["dnsPolicy"] == "None"
    assert pod["dnsConfig"] == {"nameservers": ["1.1.1.1"]}
    assert pod["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["a"]}]
    assert [container["name"] for container in pod["containers"]][1:] == ["side"]
    assert pod["enableServiceLinks"] is True
    assert pod["hostUsers"] is False
    assert view.deployment()["spec"]["revisionHistoryLimit"] == 0


def test_probes_are_changed_or_left_out() -> None:
    wanted = {"liveness_probe": {"periodSeconds": 3}, "readiness_probe": {"enabled": False}}
    container = rendered(webhook=wanted).container(WEBHOOK)
    assert container["livenessProbe"]["periodSeconds"] == 3
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert "enabled" not in container["livenessProbe"]
    assert "readinessProbe" not in container
    assert "livenessProbe" not in rendered(cainjector=wanted).container(CAINJECTOR)


def test_high_availability_is_several_replicas_and_a_budget() -> None:
    view = rendered(high_availability=True, controller={"replicas": 1})
    replicas = {one: view.deployment(one)["spec"]["replicas"] for one in Component}
    assert replicas == {CONTROLLER: 1, CAINJECTOR: 2, WEBHOOK: 3}
    budgets = {obj["metadata"]["name"] for obj in view.find("PodDisruptionBudget")}
    assert budgets == {"cert-manager-cainjector", "cert-manager-webhook"}


def test_autoscaled_replicas_are_left_to_others() -> None:
    view = rendered(webhook={"autoscaled": True})
    rules = {
        declared.ref.name: declared.rules.preserve_replicas
        for declared in view.rendered.objects()
        if declared.ref.kind == "Deployment"
    }
    assert rules == {
        "cert-manager": False,
        "cert-manager-cainjector": False,
        "cert-manager-webhook": True,
    }

"""PodDisruptionBudgets and NetworkPolicies."""

from typing import Any

import pytest
from tests.support.certmanager.samplebundle import OLD
from tests.unit.operators.certmanager.view import WEBHOOK, rendered

from certwright.operators.certmanager.request import Reason


@pytest.mark.scenario("CMD-14")
@pytest.mark.parametrize(
    ("wanted", "limits"),
    [
        ({}, {"minAvailable": 1}),
        ({"minAvailable": 2}, {"minAvailable": 2}),
        ({"maxUnavailable": "50%"}, {"maxUnavailable": "50%"}),
        ({"maxUnavailable": 0}, {"maxUnavailable": 0}),
        (
            {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
            {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        ),
    ],
)
def test_budgets(wanted: dict[str, Any], limits: dict[str, Any]) -> None:
    view = rendered(webhook={"pod_disruption_budget": wanted})
    (budget,) = view.find("PodDisruptionBudget")
    selector = view.deployment(WEBHOOK)["spec"]["selector"]
    assert budget["apiVersion"] == "policy/v1"
    assert budget["spec"] == {"selector": selector, **limits}


def test_a_budget_has_one_limit() -> None:
    wanted = {"minAvailable": 1, "maxUnavailable": 1}
    view = rendered(webhook={"pod_disruption_budget": wanted})
    (problem,) = view.rendered.problems
    assert problem.reason is Reason.INVALID_OVERRIDE
    assert {ref.kind for ref in view.rendered.held} == {"Deployment", "PodDisruptionBudget"}


def test_network_policies_let_pods_do_their_work() -> None:
    view = rendered(webhook={"network_policy": {}})
    ingress = view.get("NetworkPolicy", "cert-manager-webhook-allow-ingress")["spec"]
    assert ingress["policyTypes"] == ["Ingress"]
    assert ingress["podSelector"] == view.deployment(WEBHOOK)["spec"]["selector"]
    ports = [port["port"] for port in ingress["ingress"][0]["ports"]]
    assert ports == ["https", "healthcheck", "http-metrics"]
    egress = view.get("NetworkPolicy", "cert-manager-webhook-allow-egress")["spec"]
    assert {port["port"] for port in egress["egress"][0]["ports"]} == {80, 443, 53, 6443}


def test_ports_without_names_are_opened_by_number() -> None:
    view = rendered(OLD, controller={"network_policy": {}}, cainjector={"network_policy": {}})
    ingress = view.get("NetworkPolicy", "cert-manager-allow-ingress")["spec"]["ingress"]
    assert ingress == [{"ports": [{"port": 9402, "protocol": "TCP"}]}]
    closed = view.get("NetworkPolicy", "cert-manager-cainjector-allow-ingress")["spec"]
    assert closed["ingress"] == []


def test_rules_of_the_request_replace_the_defaults() -> None:
    wanted = {"ingress": [], "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}
    view = rendered(controller={"network_policy": wanted})
    for direction in ("ingress", "egress"):
        policy = view.get("NetworkPolicy", f"cert-manager-allow-{direction}")
        assert policy["spec"][direction] == wanted[direction]

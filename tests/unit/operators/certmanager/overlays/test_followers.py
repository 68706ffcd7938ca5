"""Objects that follow the values of flags."""

import pytest
from tests.support.certmanager.samplebundle import CA, NEW, OLD
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, View, rendered

from certwright.bundles.bundle import Bundle
from certwright.operators.certmanager.request import WebhookRequest


def election(view: View) -> dict[str, str]:
    return {
        f"{obj['kind']} {obj['metadata']['name']}": obj["metadata"]["namespace"]
        for obj in view.objects
        if obj["metadata"]["name"].endswith(":leaderelection")
    }


@pytest.mark.scenario("CMD-52")
@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_roles_move_to_the_namespace_of_leader_election(bundle: Bundle) -> None:
    before = election(rendered(bundle))
    assert set(before.values()) == {"kube-system"}
    assert len(before) == 4
    view = rendered(bundle, leader_election_namespace="leases")
    assert election(view) == dict.fromkeys(before, "leases")
    assert "--leader-election-namespace=leases" in view.args(CONTROLLER)
    assert "--leader-election-namespace=leases" in view.args(CAINJECTOR)
    assert not [arg for arg in view.args(WEBHOOK) if "leader" in arg]


@pytest.mark.scenario("CMD-52")
def test_roles_of_a_component_follow_its_own_flag() -> None:
    flags = {"leader-election-namespace": "$(POD_NAMESPACE)"}
    found = election(rendered(namespace="pki", cainjector={"flags": flags}))
    assert found == {
        "Role cert-manager:leaderelection": "kube-system",
        "RoleBinding cert-manager:leaderelection": "kube-system",
        "Role cert-manager-cainjector:leaderelection": "pki",
        "RoleBinding cert-manager-cainjector:leaderelection": "pki",
    }


def test_ports_by_name_follow_the_secure_port() -> None:
    view = rendered(webhook={"flags": {"secure-port": 8443, "healthz-port": 6081}})
    ports = {port["name"]: port["containerPort"] for port in view.container(WEBHOOK)["ports"]}
    assert ports == {"https": 8443, "healthcheck": 6081, "http-metrics": 9402}
    service = view.get("Service", "cert-manager-webhook")
    assert service["spec"]["ports"][0]["targetPort"] == "https"
    assert view.container(WEBHOOK)["livenessProbe"]["httpGet"]["port"] == "healthcheck"
    assert {found.flag for found in view.rendered.structural} == {"secure-port", "healthz-port"}


def test_ports_by_number_follow_the_secure_port() -> None:
    view = rendered(OLD, webhook={"flags": {"secure-port": 8443, "healthz-port": 6081}})
    assert view.container(WEBHOOK)["ports"] == [{"containerPort": 8443, "name": "https"}]
    service = view.get("Service", "cert-manager-webhook")
    assert service["spec"]["ports"][0]["targetPort"] == 8443
    for probe in ("livenessProbe", "readinessProbe"):
        assert view.container(WEBHOOK)[probe]["httpGet"]["port"] == 6081


def test_the_field_for_the_secure_port_is_the_flag() -> None:
    by_field = rendered(OLD, webhook=WebhookRequest(secure_port=8443))
    by_flag = rendered(OLD, webhook={"flags": {"secure-port": 8443}})
    assert by_field.objects == by_flag.objects


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_the_authority_follows_its_flags(bundle: Bundle) -> None:
    flags = {
        "dynamic-serving-ca-secret-name": "my-ca",
        "dynamic-serving-ca-secret-namespace": "vault",
    }
    view = rendered(bundle, webhook={"flags": flags})
    noted = [
        obj["metadata"]["annotations"][CA]
        for obj in view.objects
        if CA in obj["metadata"].get("annotations", {})
    ]
    assert set(noted) == {"vault/my-ca"}
    assert len(noted) == (2 if bundle is NEW else 3)
    role = view.get("Role", "cert-manager-webhook:dynamic-serving")
    assert role["metadata"]["namespace"] == "vault"
    assert role["rules"][0]["resourceNames"] == ["my-ca"]
    binding = view.get("RoleBinding", "cert-manager-webhook:dynamic-serving")
    assert binding["metadata"]["namespace"] == "vault"
    assert binding["subjects"][0]["namespace"] == "cert-manager"


def test_metrics_follow_their_address() -> None:
    view = rendered(cainjector={"flags": {"metrics-listen-address": "0.0.0.0:9999"}})
    assert view.container(CAINJECTOR)["ports"][0]["containerPort"] == 9999
    annotations = view.template(CAINJECTOR)["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == "9999"
    service = view.get("Service", "cert-manager-cainjector")
    assert service["spec"]["ports"][0] == {
        "name": "http-metrics",
        "port": 9402,
        "protocol": "TCP",
        "targetPort": 9999,
    }


def test_without_metrics_no_port_is_left() -> None:
    view = rendered(webhook={"flags": {"metrics-listen-address": "0"}})
    names = [port["name"] for port in view.container(WEBHOOK)["ports"]]
    assert names == ["https", "healthcheck"]
    service = view.get("Service", "cert-manager-webhook")
    assert [port["name"] for port in service["spec"]["ports"]] == ["https"]
    assert "annotations" not in view.template(WEBHOOK)["metadata"]

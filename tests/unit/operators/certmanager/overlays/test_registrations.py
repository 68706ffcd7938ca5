"""The webhook's Service and registrations."""

import pytest
from tests.support.certmanager.samplebundle import NEW, OLD
from tests.unit.operators.certmanager.view import WEBHOOK, View, rendered

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.request import WebhookRequest

NAME = "cert-manager-webhook"
SELECTOR = {"matchLabels": {"a": "b"}}


def webhook(view: View, kind: str) -> JsonObject:
    (found,) = view.get(f"{kind}WebhookConfiguration", NAME)["webhooks"]
    assert isinstance(found, dict)
    return found


def test_time_out_and_selectors() -> None:
    wanted = WebhookRequest(timeout_seconds=5, mutating_namespace_selector=SELECTOR)
    view = rendered(webhook=wanted)
    assert webhook(view, "Mutating")["timeoutSeconds"] == 5
    assert webhook(view, "Validating")["timeoutSeconds"] == 5
    assert webhook(view, "Mutating")["namespaceSelector"] == SELECTOR
    assert "matchExpressions" in webhook(view, "Validating")["namespaceSelector"]
    view = rendered(webhook=WebhookRequest(validating_namespace_selector={}))
    assert webhook(view, "Validating")["namespaceSelector"] == {}


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_the_webhook_is_called_at_another_host(bundle: Bundle) -> None:
    view = rendered(bundle, webhook=WebhookRequest(url_host="hooks.example.com"))
    for kind, path in (("Mutating", "mutate"), ("Validating", "validate")):
        config = webhook(view, kind)["clientConfig"]
        assert config == {"url": f"https://hooks.example.com/{path}"}
    names = [arg for arg in view.args(WEBHOOK) if "dns-names" in arg]
    assert names[-1].endswith("hooks.example.com")
    assert len(names) == (4 if bundle is NEW else 1)
    if bundle is OLD:
        (definition,) = view.find("CustomResourceDefinition")
        config = definition["spec"]["conversion"]["webhook"]["clientConfig"]
        assert config == {"url": "https://hooks.example.com/convert"}


def test_the_service() -> None:
    wanted = WebhookRequest(
        service_type="LoadBalancer",
        load_balancer_ip="10.0.0.1",
        ip_family_policy="PreferDualStack",
        ip_families=["IPv6", "IPv4"],
    )
    spec = rendered(webhook=wanted).get("Service", NAME)["spec"]
    assert spec["type"] == "LoadBalancer"
    assert spec["loadBalancerIP"] == "10.0.0.1"
    assert spec["ipFamilyPolicy"] == "PreferDualStack"
    assert spec["ipFamilies"] == ["IPv6", "IPv4"]
    assert rendered(webhook=wanted).get("Service", "cert-manager")["spec"]["type"] == "ClusterIP"

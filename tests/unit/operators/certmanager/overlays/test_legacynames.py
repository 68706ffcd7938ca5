"""The naming profile Legacy."""

import pytest
from tests.support.certmanager.samplebundle import APP, NEW, OLD
from tests.unit.operators.certmanager.view import View, rendered

from certwright.bundles.bundle import Bundle
from certwright.operators.certmanager.request import Component, Naming

AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


def legacy(bundle: Bundle) -> View:
    return rendered(bundle, naming=Naming.LEGACY)


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_names_and_selectors(bundle: Bundle) -> None:
    view = legacy(bundle)
    names = [f"cert-manager-{component}" for component in Component]
    assert sorted(obj["metadata"]["name"] for obj in view.find("Deployment")) == sorted(names)
    for component in Component:
        selector = {
            f"{APP}component": component.value,
            f"{APP}name": component.value,
            f"{APP}instance": "cluster",
        }
        deployment = view.get("Deployment", f"cert-manager-{component}")
        assert deployment["spec"]["selector"] == {"matchLabels": selector}
        assert deployment["spec"]["template"]["metadata"]["labels"] == selector
        assert deployment["spec"]["template"]["spec"]["containers"][0]["name"] == "cert-manager"
        for service in view.find("Service", f"cert-manager-{component}"):
            assert service["spec"]["selector"] == selector
    assert view.find("Service", "cert-manager-controller")
    assert not view.find("Service", "cert-manager")
    assert view.find("ServiceAccount", "cert-manager")


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_labels_are_those_of_the_component(bundle: Bundle) -> None:
    view = legacy(bundle)
    own = {
        "ServiceAccount cert-manager-webhook": "webhook",
        "ClusterRole cert-manager-cainjector": "cainjector",
        "ClusterRole cert-manager-controller-issuers": "controller",
        "Deployment cert-manager-webhook": "webhook",
    }
    for what, component in own.items():
        obj = view.get(*what.split())
        assert obj["metadata"]["labels"] == {
            "app": "cert-manager",
            f"{APP}managed-by": "operator",
            f"{APP}component": component,
            f"{APP}name": component,
        }
    (definition,) = view.find("CustomResourceDefinition")
    assert definition["metadata"]["labels"] == {
        "app": "cert-manager",
        f"{APP}instance": "cert-manager",
        f"{APP}name": "cert-manager",
        f"{APP}managed-by": "operator",
    }
    (namespace,) = view.find("Namespace")
    assert "labels" not in namespace["metadata"]


def test_only_roles_for_users_are_added_to_others() -> None:
    open_roles = [
        obj["metadata"]["name"]
        for obj in legacy(OLD).find("ClusterRole")
        if any(name.startswith(AGGREGATE) for name in obj["metadata"]["labels"])
    ]
    assert open_roles == ["cert-manager-view"]


def test_leaders_are_elected_in_the_own_namespace() -> None:
    view = legacy(OLD)
    binding = view.get("RoleBinding", "cert-manager-controller:leaderelection")
    assert binding["metadata"]["namespace"] == "cert-manager"
    assert binding["roleRef"]["name"] == "cert-manager-controller:leaderelection"
    assert view.find("Role", "cert-manager-controller:leaderelection")
    args = view.get("Deployment", "cert-manager-controller")["spec"]["template"]["spec"]
    assert "--leader-election-namespace=$(POD_NAMESPACE)" in args["containers"][0]["args"]


def test_the_profile_goes_with_another_namespace_and_overlays() -> None:
    view = rendered(
        NEW,
        naming=Naming.LEGACY,
        namespace="pki",
        controller={"pod_disruption_budget": {}, "config": {}},
    )
    assert not view.rendered.problems
    budget = view.get("PodDisruptionBudget", "cert-manager-controller")
    assert budget["spec"]["selector"]["matchLabels"][f"{APP}instance"] == "cluster"
    assert view.get("ConfigMap", "cert-manager-controller")["metadata"]["namespace"] == "pki"

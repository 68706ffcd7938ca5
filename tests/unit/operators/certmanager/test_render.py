"""From a request and a bundle to the objects wanted."""

import json
from typing import Any

import pytest
from tests.support.certmanager.samplebundle import NEW, OLD
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.apply.engine.declared import CLIENT_SIDE_APPLY, HELM
from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import (
    Component,
    Images,
    Naming,
    Reason,
    TlsProfile,
    WebhookRequest,
)


def canonical(objects: Any) -> list[str]:
    return sorted(json.dumps(obj, sort_keys=True) for obj in objects)


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_a_request_without_wishes_is_the_bundle(bundle: Bundle) -> None:
    view = rendered(bundle)
    assert canonical(view.objects) == canonical(bundle.objects)
    assert not view.rendered.problems
    assert not view.rendered.held


def test_steps_hold_what_is_applied_together() -> None:
    steps = rendered().rendered.steps
    kinds = {step: {declared.ref.kind for declared in found} for step, found in steps.items()}
    assert kinds == {
        InstallStep.NAMESPACE: {"Namespace"},
        InstallStep.DEFINITIONS: {"CustomResourceDefinition"},
        InstallStep.ROLES: {
            "ServiceAccount",
            "Role",
            "RoleBinding",
            "ClusterRole",
            "ClusterRoleBinding",
        },
        InstallStep.CAINJECTOR: {"Deployment", "Service"},
        InstallStep.WEBHOOK: {"Deployment", "Service"},
        InstallStep.REGISTRATIONS: {
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        },
        InstallStep.CONTROLLER: {"Deployment", "Service"},
        InstallStep.MONITORS: set(),
    }


def test_what_belongs_to_a_component_is_in_its_step() -> None:
    wanted: dict[str, JsonObject] = {
        "pod_disruption_budget": {},
        "network_policy": {},
        "config": {},
    }
    steps = rendered(webhook=wanted).rendered.steps
    assert {declared.ref.kind for declared in steps[InstallStep.WEBHOOK]} == {
        "Deployment",
        "Service",
        "ConfigMap",
        "PodDisruptionBudget",
        "NetworkPolicy",
    }


def test_the_same_request_is_always_rendered_alike() -> None:
    wanted: dict[str, Any] = {
        "controller": {"flags": {"leader-elect": True, "kube-api-burst": 100}},
        "common_labels": {"b": "1", "a": "2"},
    }
    texts = {json.dumps(rendered(**wanted).objects) for _ in range(3)}
    assert len(texts) == 1


@pytest.mark.scenario("CMD-44", "CMD-45")
def test_a_component_with_a_problem_is_held_and_the_rest_is_rendered() -> None:
    view = rendered(
        common_labels={"a": "b"},
        controller={"flags": {"nonsense": 1, "leader-elect": "yes"}, "config": {}},
        webhook={"replicas": 2},
    )
    assert {problem.reason for problem in view.rendered.problems} == {
        Reason.UNKNOWN_FLAG,
        Reason.INVALID_FLAG_VALUE,
    }
    held = {(ref.kind, ref.name) for ref in view.rendered.held}
    assert held == {("Deployment", "cert-manager"), ("ConfigMap", "cert-manager")}
    assert not view.find("Deployment", "cert-manager")
    assert view.deployment(CAINJECTOR)["metadata"]["labels"]["a"] == "b"
    assert view.deployment(WEBHOOK)["spec"]["replicas"] == 2
    assert view.find("Service", "cert-manager")
    assert view.find("Role", "cert-manager:leaderelection")


def test_no_half_of_a_change_is_made() -> None:
    flags: dict[str, Any] = {"secure-port": 8443, "nonsense": 1}
    view = rendered(OLD, webhook={"flags": flags})
    assert {ref.kind for ref in view.rendered.held} == {
        "Deployment",
        "Service",
        "Role",
        "RoleBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
    assert all(ref.name.startswith("cert-manager-webhook") for ref in view.rendered.held)
    flags = {"leader-election-namespace": "leases", "nonsense": "1"}
    view = rendered(controller={"flags": flags})
    assert not view.find("Role", "cert-manager:leaderelection")
    assert view.find("Role", "cert-manager-cainjector:leaderelection")


def test_what_others_may_own() -> None:
    rules = {declared.ref: declared.rules for declared in rendered().rendered.objects()}
    for ref, rule in rules.items():
        sidecars = ("spec", "template", "spec", "containers", "istio-proxy") in rule.ignored
        assert sidecars == (ref.kind == "Deployment")
        assert rule.recreate == (ref.kind in {"RoleBinding", "ClusterRoleBinding"})
        assert bool(rule.drop_labels) == (ref.kind == "ClusterRole")
        assert not rule.take_over_from


def test_adopting_takes_the_fields_of_helm_and_kubectl() -> None:
    taken = {declared.rules.take_over_from for declared in rendered(adopt=True).rendered.objects()}
    assert taken == {(HELM, CLIENT_SIDE_APPLY)}


def test_a_component_that_is_not_wanted_leaves_nothing() -> None:
    view = rendered(cainjector={"enabled": False})
    names = {obj["metadata"]["name"] for obj in view.objects}
    assert not [name for name in names if "cainjector" in name]
    assert len(view.find("Deployment")) == 2
    view = rendered(webhook={"enabled": False})
    assert not view.find("ValidatingWebhookConfiguration")


def test_log_level_and_tls_are_flags() -> None:
    view = rendered(
        log_level=4, tls=TlsProfile(min_version="VersionTLS13", cipher_suites=["A", "B"])
    )
    for component in Component:
        assert view.args(component)[0] == "--v=4"
    assert "--tls-min-version=VersionTLS13" in view.args(WEBHOOK)
    assert "--tls-cipher-suites=A,B" in view.args(WEBHOOK)
    assert "--metrics-tls-min-version=VersionTLS13" in view.args(CONTROLLER)
    assert not [arg for arg in view.args(CAINJECTOR) if "tls" in arg]


def test_feature_gates_of_field_and_flag_are_one() -> None:
    for given in ({"ServerSideApply": False}, ["ServerSideApply=false"], "ServerSideApply=false"):
        wanted = {
            "feature_gates": {"StableCertificateRequestName": True, "ServerSideApply": True},
            "flags": {"feature-gates": given},
        }
        view = rendered(controller=wanted)
        gates = "--feature-gates=ServerSideApply=false,StableCertificateRequestName=true"
        assert view.args()[-1] == gates


@pytest.mark.parametrize("naming", [Naming.RELEASE, Naming.LEGACY])
def test_everything_at_once(naming: Naming) -> None:
    every: dict[str, Any] = {
        "replicas": 2,
        "flags": {"v": 5},
        "config": {},
        "env": [{"name": "A", "value": "1"}],
        "pod_disruption_budget": {},
        "network_policy": {},
        "service_account": {"name": "x"},
        "resources": {"limits": {"cpu": "1"}},
    }
    view = rendered(
        naming=naming,
        namespace="pki",
        leader_election_namespace="leases",
        images=Images(registry="m.example.com"),
        service_monitor={},
        alerts={},
        proxy={"NO_PROXY": "*"},
        controller=every,
        webhook=WebhookRequest(url_host="a.example.com", secure_port=8443),
    )
    assert not view.rendered.problems
    names = [(declared.ref.kind, declared.ref.key) for declared in view.rendered.objects()]
    assert len(names) == len(set(names))


def test_a_bundle_without_a_component_is_rendered() -> None:
    objects = tuple(obj for obj in NEW.objects if obj["metadata"]["name"] != "cert-manager")
    view = rendered(Bundle("v1.21.2", objects, ""), trusted_ca_config_map="x", service_monitor={})
    assert not view.rendered.problems
    assert CONTROLLER not in {one for one in Component if view.find("Deployment", one)}

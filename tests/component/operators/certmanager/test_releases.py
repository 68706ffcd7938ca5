"""Requests rendered with the bundles of real releases."""

import json
from collections import defaultdict
from typing import Any

import pytest
from tests.support.bundles.released import released

from certwright.bundles.catalogue import load
from certwright.kube import JsonObject
from certwright.operators.certmanager.render import RenderedObjects, render
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    Images,
    InstallRequest,
    Naming,
    WebhookRequest,
)

FEW = ["v1.1.0", "v1.12.10", load().default]
OTHERS = [version for version in load().versions if version not in FEW]
RELEASES = [*FEW, *(pytest.param(version, marks=pytest.mark.real) for version in OTHERS)]
EARLY = ["v1.1.0", pytest.param("v1.2.0", marks=pytest.mark.real)]


def rendered(version: str, **wanted: Any) -> RenderedObjects:
    return render(InstallRequest(version=version, **wanted), released(version), load())


def objects(found: RenderedObjects) -> list[JsonObject]:
    return [declared.obj for declared in found.objects()]


@pytest.mark.parametrize("version", RELEASES)
def test_a_request_without_wishes_is_the_release(version: str) -> None:
    found = rendered(version)
    assert not found.problems
    ours, theirs = (
        sorted(json.dumps(obj, sort_keys=True) for obj in side)
        for side in (objects(found), released(version).objects)
    )
    assert ours == theirs


def _without_schemas(obj: JsonObject) -> JsonObject:
    if obj["kind"] != "CustomResourceDefinition":
        return obj
    return {**obj, "spec": {**obj["spec"], "versions": []}}


@pytest.mark.parametrize("version", RELEASES)
def test_everything_that_every_release_can_do(version: str) -> None:
    every = ComponentRequest(
        replicas=2,
        flags={"v": 4},
        env=[{"name": "A", "value": "1"}],
        resources={"limits": {"cpu": "1"}},
        pod_labels={"a": "b"},
        pod_disruption_budget={},
        network_policy={},
        service_account={"name": "robot"},
    )
    found = rendered(
        version,
        namespace="pki",
        leader_election_namespace="leases",
        components=dict.fromkeys(Component, every),
        webhook=WebhookRequest(secure_port=8443, url_host="hooks.example.com", timeout_seconds=5),
        images=Images(registry="mirror.example.com", pull_secrets=["pull"]),
        common_labels={"team": "pki"},
        proxy={"HTTPS_PROXY": "http://proxy"},
        trusted_ca_config_map="ca",
        service_monitor={},
        alerts={},
    )
    assert not found.problems
    refs = [declared.ref for declared in found.objects()]
    assert len(refs) == len(set(refs))
    text = json.dumps([_without_schemas(obj) for obj in objects(found)])
    for old in (
        '"namespace": "cert-manager"',
        "quay.io",
        "kube-system",
        "cert-manager/cert",
        "10250",
    ):
        assert old not in text, old
    assert text.count("mirror.example.com/cert-manager-") == 4


@pytest.mark.parametrize("version", EARLY)
def test_the_profile_legacy_has_the_objects_of_the_first_operator(version: str) -> None:
    found = defaultdict(set)
    for declared in rendered(version, naming=Naming.LEGACY).objects():
        found[declared.ref.kind].add(declared.ref.name)
        assert declared.ref.namespace in {"", "cert-manager"}
    base = "cert-manager"
    components = {f"{base}-{component}" for component in Component}
    accounts = {base, f"{base}-cainjector", f"{base}-webhook"}
    roles = {
        f"{base}-controller:leaderelection",
        f"{base}-cainjector:leaderelection",
        f"{base}-webhook:dynamic-serving",
    }
    parts = ("clusterissuers", "issuers", "challenges", "ingress-shim", "orders", "certificates")
    bound = {f"{base}-cainjector", *(f"{base}-controller-{part}" for part in parts)}
    assert found.pop("CustomResourceDefinition") >= {"issuers.cert-manager.io"}
    assert found == {
        "Namespace": {base},
        "ServiceAccount": accounts,
        "Role": roles,
        "RoleBinding": roles,
        "ClusterRole": {*bound, f"{base}-edit", f"{base}-view"},
        "ClusterRoleBinding": bound,
        "Deployment": components,
        "Service": {f"{base}-controller", f"{base}-webhook"},
        "MutatingWebhookConfiguration": {f"{base}-webhook"},
        "ValidatingWebhookConfiguration": {f"{base}-webhook"},
    }


@pytest.mark.parametrize("version", EARLY)
def test_the_profile_legacy_has_the_arguments_of_the_first_operator(version: str) -> None:
    args = {
        declared.ref.name: declared.obj["spec"]["template"]["spec"]["containers"][0]["args"]
        for declared in rendered(version, naming=Naming.LEGACY).objects()
        if declared.ref.kind == "Deployment"
    }
    own = "=$(POD_NAMESPACE)"
    name = "cert-manager-webhook"
    names = f"{name},{name}.cert-manager,{name}.cert-manager.svc"
    assert args == {
        "cert-manager-controller": [
            "--v=2",
            f"--cluster-resource-namespace{own}",
            f"--leader-election-namespace{own}",
        ],
        "cert-manager-cainjector": ["--v=2", f"--leader-election-namespace{own}"],
        "cert-manager-webhook": [
            "--v=2",
            "--secure-port=10250",
            f"--dynamic-serving-ca-secret-namespace{own}",
            "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
            f"--dynamic-serving-dns-names={names}",
        ],
    }

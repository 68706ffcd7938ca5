"""The 0.10 layout: which objects there are, and that each is what users of 0.10 know."""

from dataclasses import replace
from typing import Any

import pytest

from certwright.api.certmanagers import CertManagerInstallation, CertManagerSpec
from certwright.apply import Declared
from certwright.kube import JsonObject, ObjectMeta
from certwright.operators.certmanager.ibm.adapter import install_request
from certwright.operators.certmanager.request import Images, InstallRequest
from certwright.operators.certmanager.v010.layout import layout

W = "cert-manager-webhook"
CONTROLLER_LABELS = {
    "app": "ibm-cert-manager-controller",
    "app.kubernetes.io/name": "ibm-cert-manager-controller",
    "app.kubernetes.io/component": "cert-manager",
    "app.kubernetes.io/managed-by": "operator",
    "app.kubernetes.io/instance": "cert-manager",
    "release": "cert-manager",
}
WATCHER_LABELS = {
    "app.kubernetes.io/name": "configmap-watcher",
    "app.kubernetes.io/instance": "configmap-watcher",
    "app.kubernetes.io/component": "cert-manager",
    "app.kubernetes.io/managed-by": "operator",
    "release": "cert-manager",
}
SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 10000,
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
RESOURCES = {
    "limits": {"cpu": "500m", "memory": "500Mi"},
    "requests": {"cpu": "100m", "memory": "300Mi"},
}
POD_NAMESPACE = {
    "name": "POD_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
}
ARGS = [
    "--cluster-resource-namespace=kube-system",
    "--leader-election-namespace=cert-manager",
    "--acme-http01-solver-image=quay.io/icp-cert-manager-acmesolver:0.10.0",
    "--webhook-namespace=cert-manager",
    "--webhook-ca-secret=cert-manager-webhook-ca",
    "--webhook-serving-secret=cert-manager-webhook-tls",
    f"--webhook-dns-names={W},{W}.cert-manager,{W}.cert-manager.svc",
]


def probe(command: str, delay: int, timeout: int) -> JsonObject:
    return {
        "exec": {"command": ["sh", "-c", command]},
        "initialDelaySeconds": delay,
        "timeoutSeconds": timeout,
    }


def requested(**spec: Any) -> InstallRequest:
    resource = CertManagerInstallation(
        metadata=ObjectMeta(name="default"), spec=CertManagerSpec(**spec)
    )
    return install_request(resource)


def objects(**spec: Any) -> dict[tuple[str, str], Any]:
    return {(one.ref.kind, one.ref.name): one.obj for one in layout(requested(**spec)).objects()}


@pytest.mark.scenario("CM-28")
def test_the_controller_is_as_users_know_it() -> None:
    assert objects()["Deployment", "cert-manager-controller"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "cert-manager-controller",
            "namespace": "cert-manager",
            "labels": CONTROLLER_LABELS,
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": CONTROLLER_LABELS},
            "template": {
                "metadata": {
                    "labels": CONTROLLER_LABELS,
                    "annotations": {"seccomp.security.alpha.kubernetes.io/pod": "docker/default"},
                },
                "spec": {
                    "serviceAccountName": "cert-manager",
                    "securityContext": {"runAsNonRoot": True, "runAsUser": 10000, "fsGroup": 1001},
                    "containers": [
                        {
                            "name": "cert-manager-controller",
                            "image": "quay.io/icp-cert-manager-controller:0.10.0",
                            "imagePullPolicy": "IfNotPresent",
                            "args": ARGS,
                            "env": [POD_NAMESPACE, {"name": "POD_RESTART", "value": "true"}],
                            "livenessProbe": probe("pgrep cert-manager -l", 30, 5),
                            "readinessProbe": probe("exec echo start cert-manager", 10, 2),
                            "resources": RESOURCES,
                            "securityContext": SECURITY,
                        }
                    ],
                },
            },
        },
    }


@pytest.mark.scenario("CM-28")
def test_the_watcher_of_config_maps_is_as_users_know_it() -> None:
    found = objects()["Deployment", "configmap-watcher"]
    assert found["metadata"]["labels"] == WATCHER_LABELS
    assert found["spec"]["selector"] == {"matchLabels": WATCHER_LABELS}
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container == {
        "name": "configmap-watcher",
        "image": "quay.io/icp-configmap-watcher:3.3.0",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--v=0"],
        "livenessProbe": probe("pgrep watcher -l", 30, 5),
        "readinessProbe": probe("exec echo start configmap-watcher", 10, 2),
        "resources": RESOURCES,
        "securityContext": SECURITY,
    }


def test_the_webhook_is_as_users_know_it() -> None:
    found = objects(enable_webhook=True)["Deployment", "cert-manager-webhook"]
    assert found["metadata"]["annotations"] == {
        "watcher.ibm.com/configmap-resource": "kube-system/extension-apiserver-authentication"
    }
    assert found["metadata"]["labels"]["watcher.ibm.com/opt-in"] == "true"
    assert found["spec"]["selector"] == {"matchLabels": {"app": "ibm-cert-manager-webhook"}}
    pod = found["spec"]["template"]["spec"]
    assert pod["volumes"] == [
        {"name": "certs", "secret": {"secretName": "cert-manager-webhook-tls"}}
    ]
    (container,) = pod["containers"]
    assert container["args"] == [
        "--v=0",
        "--secure-port=1443",
        "--tls-cert-file=/certs/tls.crt",
        "--tls-private-key-file=/certs/tls.key",
    ]
    assert container["env"] == [POD_NAMESPACE, {"name": "TMPDIR", "value": "/home/webhook/tmp"}]
    assert container["volumeMounts"] == [{"name": "certs", "mountPath": "/certs"}]
    assert container["securityContext"]["readOnlyRootFilesystem"] is False


def test_cainjector_has_no_arguments() -> None:
    found = objects(enable_webhook=True)["Deployment", "cert-manager-cainjector"]
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert "args" not in container
    assert container["env"] == [POD_NAMESPACE]
    assert container["image"] == "quay.io/icp-cert-manager-cainjector:0.10.0"


def test_the_webhook_and_what_belongs_to_it_come_only_if_wanted() -> None:
    off, on = set(objects()), set(objects(enable_webhook=True))
    assert off < on
    assert on - off == {
        ("RoleBinding", "cert-manager-webhook"),
        ("Service", "cert-manager-webhook"),
        ("Deployment", "cert-manager-cainjector"),
        ("Deployment", "cert-manager-webhook"),
        ("APIService", "v1beta1.webhook.certmanager.k8s.io"),
        ("MutatingWebhookConfiguration", "cert-manager-webhook"),
        ("ValidatingWebhookConfiguration", "cert-manager-webhook"),
    }


def test_definitions_have_the_right_scopes_and_keep_all_fields() -> None:
    found = {name: obj for (kind, name), obj in objects().items() if kind.startswith("Custom")}
    scopes = {name.partition(".")[0]: obj["spec"]["scope"] for name, obj in found.items()}
    assert scopes == {
        "certificates": "Namespaced",
        "issuers": "Namespaced",
        "clusterissuers": "Cluster",
        "orders": "Namespaced",
        "challenges": "Namespaced",
        "certificaterequests": "Namespaced",
    }
    for obj in found.values():
        (version,) = obj["spec"]["versions"]
        assert version["name"] == "v1alpha1"
        assert version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] is True


def test_a_definition_and_a_namespace_are_never_deleted_to_change_them() -> None:
    kinds = {"CustomResourceDefinition", "Namespace"}
    found = [one for one in layout(requested()).objects() if one.ref.kind in kinds]
    assert found
    assert not any(one.rules.recreate for one in found)


@pytest.mark.scenario("CM-33")
@pytest.mark.parametrize("registry", ["reg.example.com/x", "reg.example.com/x/"])
def test_all_images_come_from_the_registry(registry: str) -> None:
    found = objects(image_registry=registry, enable_webhook=True)
    (controller,) = containers(found, "cert-manager-controller")
    assert controller["image"] == "reg.example.com/x/icp-cert-manager-controller:0.10.0"
    solver = "reg.example.com/x/icp-cert-manager-acmesolver:0.10.0"
    assert f"--acme-http01-solver-image={solver}" in controller["args"]
    for name in ("cert-manager-webhook", "cert-manager-cainjector", "configmap-watcher"):
        (container,) = containers(found, name)
        assert container["image"].startswith("reg.example.com/x/icp-")


@pytest.mark.scenario("CM-36")
def test_the_namespace_for_cluster_issuers_is_named_once() -> None:
    (controller,) = containers(objects(resource_namespace="foo"), "cert-manager-controller")
    named = [one for one in controller["args"] if "cluster-resource-namespace" in one]
    assert named == ["--cluster-resource-namespace=foo"]


@pytest.mark.scenario("CM-38")
@pytest.mark.parametrize(("disabled", "host"), [(None, False), (True, False), (False, True)])
def test_only_the_webhook_may_use_the_network_of_its_node(disabled: Any, host: Any) -> None:
    found = objects(enable_webhook=True, disable_host_network=disabled)
    uses = {
        name: obj["spec"]["template"]["spec"].get("hostNetwork", False)
        for (kind, name), obj in found.items()
        if kind == "Deployment"
    }
    assert uses == {
        "cert-manager-controller": False,
        "configmap-watcher": False,
        "cert-manager-cainjector": False,
        "cert-manager-webhook": host,
    }


def test_pods_name_the_secret_with_which_images_are_pulled() -> None:
    request = requested()
    assert all("imagePullSecrets" not in pod(one) for one in deployments(request))
    named = replace(request, images=Images(pull_secrets=("mine",)))
    assert [pod(one)["imagePullSecrets"] for one in deployments(named)] == [[{"name": "mine"}]] * 2


def test_labels_of_the_user_do_not_replace_ours() -> None:
    found = objects(labels={"team": "a", "app": "mine"}, enable_webhook=True)
    controller = found["Deployment", "cert-manager-controller"]
    for place in (controller["metadata"], controller["spec"]["template"]["metadata"]):
        assert place["labels"] == {"team": "a", **CONTROLLER_LABELS}
    assert controller["spec"]["selector"]["matchLabels"] == CONTROLLER_LABELS
    registration = found["MutatingWebhookConfiguration", "cert-manager-webhook"]
    assert registration["metadata"]["labels"]["team"] == "a"


def test_registrations_lead_to_the_api_server_itself() -> None:
    found = objects(enable_webhook=True)
    (mutating,) = found["MutatingWebhookConfiguration", "cert-manager-webhook"]["webhooks"]
    (validating,) = found["ValidatingWebhookConfiguration", "cert-manager-webhook"]["webhooks"]
    root = "/apis/webhook.certmanager.k8s.io/v1beta1"
    assert mutating["clientConfig"]["service"] == {
        "name": "kubernetes",
        "namespace": "default",
        "path": f"{root}/mutations",
    }
    assert validating["clientConfig"]["service"]["path"] == f"{root}/validations"
    assert {mutating["failurePolicy"], validating["failurePolicy"]} == {"Fail"}
    assert validating["namespaceSelector"]["matchExpressions"] == [
        {"key": "certmanager.k8s.io/disable-validation", "operator": "NotIn", "values": ["true"]},
        {"key": "name", "operator": "NotIn", "values": ["cert-manager"]},
    ]
    assert found["APIService", "v1beta1.webhook.certmanager.k8s.io"]["spec"] == {
        "group": "webhook.certmanager.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 15,
        "service": {"name": "cert-manager-webhook", "namespace": "cert-manager"},
    }


def deployments(request: InstallRequest) -> list[Declared]:
    return [one for one in layout(request).objects() if one.ref.kind == "Deployment"]


def pod(one: Declared) -> JsonObject:
    found: JsonObject = one.obj["spec"]["template"]["spec"]
    return found


def containers(found: dict[tuple[str, str], Any], name: str) -> list[JsonObject]:
    template: JsonObject = found["Deployment", name]["spec"]["template"]
    listed: list[JsonObject] = template["spec"]["containers"]
    return listed

"""What the server refuses, and in which words."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from certwright.kube import JsonObject

SELECTOR = {"matchLabels": {"app": "web"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}
WORKLOAD = {"selector": SELECTOR, "template": TEMPLATE}
RBAC = "rbac.authorization.k8s.io"


def pod(**container: Any) -> JsonObject:
    return {"containers": [{"name": "c", "image": "x", **container}]}


CREATES = [
    ("configmaps", {"metadata": {"name": "A"}}, "metadata.name", 'Invalid value: "A": a lowercase RFC 1123 subdomain must consist of'),
    ("namespaces", {"metadata": {"name": "a.b"}}, "metadata.name", 'Invalid value: "a.b": must not contain dots'),
    ("configmaps", {"metadata": {"name": "", "generateName": "A-"}}, "metadata.generateName", 'Invalid value: "A-": a lowercase'),
    ("configmaps", {"data": {"a b": ""}}, "data[a b]", 'Invalid value: "a b": a valid config key must consist of'),
    ("configmaps", {"data": {"a": ""}, "binaryData": {"a": "AA=="}}, "data[a]", 'Invalid value: "a": duplicate of key present in binaryData'),
    ("configmaps", {"data": {"a": "x" * 1048577}}, "[]", "Too long: may not be more than 1048576 bytes"),
    ("secrets", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, "data[tls.key]", "Required value"),
    ("secrets", {"type": "kubernetes.io/service-account-token"}, "metadata.annotations[kubernetes.io/service-account.name]", "Required value"),
    ("pods", {"spec": {}}, "spec.containers", "Required value"),
    ("pods", {"spec": pod(name="C")}, "spec.containers[0].name", 'Invalid value: "C": a lowercase RFC 1123 label'),
    ("pods", {"spec": pod(image="")}, "spec.containers[0].image", "Required value"),
    ("pods", {"spec": {"containers": [*pod()["containers"]] * 2}}, "spec.containers[1].name", 'Duplicate value: "c"'),
    ("pods", {"spec": pod(ports=[{"containerPort": 70000}])}, "spec.containers[0].ports[0].containerPort", "Invalid value: 70000: must be between 1 and 65535, inclusive"),
    ("pods", {"spec": pod(volumeMounts=[{"name": "v", "mountPath": "/x"}])}, "spec.containers[0].volumeMounts[0].name", 'Not found: "v"'),
    ("pods", {"spec": pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})}, "spec.containers[0].resources.requests", 'Invalid value: "2": must be less than or equal to cpu limit of 1'),
    ("pods", {"spec": pod(livenessProbe={})}, "spec.containers[0].livenessProbe", "Required value: must specify a handler type"),
    ("pods", {"spec": pod(env=[{"name": "a=b"}])}, "spec.containers[0].env[0].name", 'Invalid value: "a=b": a valid environment variable name'),
    ("pods", {"spec": {**pod(), "restartPolicy": "X"}}, "spec.restartPolicy", 'Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'),
    ("pods", {"spec": {**pod(), "volumes": [{"name": "v", "secret": {}}]}}, "spec.volumes[0].secret.secretName", "Required value"),
    ("deployments.apps", {"spec": {"template": TEMPLATE}}, "spec.selector", "Required value"),
    ("deployments.apps", {"spec": {**WORKLOAD, "replicas": -1}}, "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
    ("deployments.apps", {"spec": {**WORKLOAD, "selector": {"matchLabels": {"app": "api"}}}}, "spec.template.metadata.labels", 'Invalid value: {"app":"web"}: `selector` does not match template `labels`'),
    ("deployments.apps", {"spec": {**WORKLOAD, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}}, "spec.strategy.rollingUpdate.maxUnavailable", "Invalid value: 0: may not be 0 when `maxSurge` is 0"),
    ("deployments.apps", {"spec": {**WORKLOAD, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}, "spec.selector.matchExpressions[0].values", "Required value: must be specified when `operator` is 'In' or 'NotIn'"),
    ("deployments.apps", {"spec": {**WORKLOAD, "minReadySeconds": 600}}, "spec.progressDeadlineSeconds", "Invalid value: 600: must be greater than minReadySeconds"),
    ("statefulsets.apps", {"spec": {**WORKLOAD, "podManagementPolicy": "X"}}, "spec.podManagementPolicy", "Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'"),
    ("daemonsets.apps", {"spec": {**WORKLOAD, "updateStrategy": {"type": "X"}}}, "spec.updateStrategy", 'Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"'),
    ("jobs.batch", {"spec": {"template": TEMPLATE}}, "spec.template.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'),
    ("cronjobs.batch", {"spec": {"schedule": "x"}}, "spec.schedule", 'Invalid value: "x": expected exactly 5 fields, found 1: [x]'),
    ("services", {"spec": {}}, "spec.ports", "Required value"),
    ("services", {"spec": {"ports": [{"port": 1}, {"port": 2, "name": "b"}]}}, "spec.ports[0].name", "Required value"),
    ("services", {"spec": {"ports": [{"port": 1, "nodePort": 30000}]}}, "spec.ports[0].nodePort", "Forbidden: may not be used when `type` is 'ClusterIP'"),
    ("services", {"spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 5}]}}, "spec.ports[0].nodePort", "Invalid value: 5: provided port is not in the valid range. The range of valid ports is 30000-32767"),
    (f"roles.{RBAC}", {"rules": [{"verbs": ["get"]}]}, "rules[0].resources", "Required value: resource rules must supply at least one resource"),
    (f"roles.{RBAC}", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}, "rules[0].nonResourceURLs", 'Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'),
    (f"rolebindings.{RBAC}", {"roleRef": {"kind": "X", "name": "r"}}, "roleRef.kind", 'Unsupported value: "X": supported values: "Role", "ClusterRole"'),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", {"webhooks": [{"name": "a.b.c"}]}, "webhooks[0].clientConfig", "Required value: exactly one of url or service is required"),
    ("ingresses.networking.k8s.io", {"spec": {}}, "spec", "Invalid value: null: either `defaultBackend` or `rules` must be specified"),
    ("poddisruptionbudgets.policy", {"spec": {"minAvailable": "x"}}, "spec.minAvailable", 'Invalid value: "x": a valid percent string must be'),
    ("leases.coordination.k8s.io", {"spec": {"leaseDurationSeconds": 0}}, "spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0"),
    ("persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce"]}}, "spec.resources[storage]", "Required value"),
    ("certificatesigningrequests.certificates.k8s.io", {"spec": {"signerName": "x", "usages": ["any"], "request": "eA=="}}, "spec.signerName", 'Invalid value: "x": must be a fully qualified domain'),
    ("events.events.k8s.io", {"type": "Normal"}, "eventTime", "Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "content", "field", "message"), CREATES)
def test_creating(
    admit: Callable[..., Any], resource: str, content: JsonObject, field: str, message: str
) -> None:
    _, causes = admit(resource, **content)

    told = [cause.message for cause in causes if cause.field == field]
    assert any(text.startswith(message) for text in told), causes


def put(obj: JsonObject, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for name in parents:
        obj = obj[name]
    obj[last] = value


OTHER = {"matchLabels": {"app": "api"}}
UPDATES = [
    ("deployments.apps", {"spec": WORKLOAD}, "spec.selector", OTHER, "spec.selector", 'Invalid value: {"matchLabels":{"app":"api"}}: field is immutable'),
    ("daemonsets.apps", {"spec": WORKLOAD}, "spec.selector", OTHER, "spec.selector", 'Invalid value: {"matchLabels":{"app":"api"}}: field is immutable'),
    ("statefulsets.apps", {"spec": WORKLOAD}, "spec.serviceName", "y", "spec", "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"),
    ("pods", {"spec": pod()}, "spec.hostname", "y", "spec", "Forbidden: pod updates may not change fields other than"),
    ("pods", {"spec": pod()}, "spec.nodeName", "y", "spec", "Forbidden: pod updates may not change fields other than"),
    ("secrets", {}, "type", "y", "type", 'Invalid value: "y": field is immutable'),
    ("secrets", {"immutable": True}, "data", {"a": "eA=="}, "data", "Forbidden: field is immutable when `immutable` is set"),
    ("configmaps", {"immutable": True}, "immutable", False, "immutable", "Forbidden: field is immutable when `immutable` is set"),
    (f"rolebindings.{RBAC}", {"roleRef": {"kind": "Role", "name": "r"}}, "roleRef.name", "s", "roleRef", 'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change roleRef'),
    ("storageclasses.storage.k8s.io", {"provisioner": "p"}, "provisioner", "q", "provisioner", 'Invalid value: "q": field is immutable'),
    ("priorityclasses.scheduling.k8s.io", {"value": 1}, "value", 2, "value", "Forbidden: may not be changed in an update."),
    ("endpointslices.discovery.k8s.io", {"addressType": "IPv4"}, "addressType", "IPv6", "addressType", 'Invalid value: "IPv6": field is immutable'),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "content", "path", "value", "field", "message"), UPDATES)
def test_updating(
    admit: Callable[..., Any],
    resource: str,
    content: JsonObject,
    path: str,
    value: Any,
    field: str,
    message: str,
) -> None:
    old, causes = admit(resource, **content)
    assert not causes
    changed = copy.deepcopy(old)
    put(changed, path, value)

    _, causes = admit(resource, old, **changed)

    told = [cause.message for cause in causes if cause.field == field]
    assert any(text.startswith(message) for text in told), causes


@pytest.mark.parametrize(
    ("resource", "content", "path", "value"),
    [
        ("deployments.apps", {"spec": WORKLOAD}, "spec.replicas", 3),
        ("statefulsets.apps", {"spec": WORKLOAD}, "spec.replicas", 3),
        ("secrets", {}, "data", {"a": "eA=="}),
        ("secrets", {"immutable": True}, "metadata.labels", {"a": "b"}),
        ("pods", {"spec": pod()}, "spec.containers", [{"name": "c", "image": "y"}]),
    ],
)
def test_what_may_change(
    admit: Callable[..., Any], resource: str, content: JsonObject, path: str, value: Any
) -> None:
    old, _ = admit(resource, **content)
    changed = copy.deepcopy(old)
    put(changed, path, value)
    if resource == "pods":
        for name, kept in old["spec"]["containers"][0].items():
            changed["spec"]["containers"][0].setdefault(name, kept)

    _, causes = admit(resource, old, **changed)

    assert not causes

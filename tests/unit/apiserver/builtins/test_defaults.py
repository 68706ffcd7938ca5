"""What the server adds to objects, kind by kind."""

from collections.abc import Callable
from typing import Any

import pytest

from certwright.kube import JsonObject

SELECTOR = {"matchLabels": {"app": "web"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


def test_a_deployment_rolls_a_quarter_at_a_time(admit: Callable[..., Any]) -> None:
    obj, causes = admit("deployments.apps", spec={"selector": SELECTOR, "template": TEMPLATE})

    template = obj["spec"].pop("template")
    assert not causes
    assert obj["spec"] == {
        "replicas": 1,
        "selector": SELECTOR,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert template["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "imagePullPolicy": "Always",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_recreating_needs_no_parameters(admit: Callable[..., Any]) -> None:
    spec = {"selector": SELECTOR, "template": TEMPLATE, "strategy": {"type": "Recreate"}}

    obj, causes = admit("deployments.apps", spec=spec)

    assert not causes
    assert obj["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_only_moving_tags_are_pulled_again(
    admit: Callable[..., Any], image: str, policy: str
) -> None:
    obj, _ = admit("pods", spec={"containers": [{"name": "c", "image": image}]})

    assert obj["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_pod_tolerates_lost_nodes_for_five_minutes(admit: Callable[..., Any]) -> None:
    obj, causes = admit("pods", spec={"containers": [{"name": "c", "image": "x"}]})

    assert not causes
    assert [(t["key"], t["tolerationSeconds"]) for t in obj["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert obj["spec"]["priority"] == 0
    assert obj["spec"]["enableServiceLinks"] is True
    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_the_quality_of_a_pod_follows_from_its_resources(
    admit: Callable[..., Any], resources: JsonObject, quality: str
) -> None:
    container = {"name": "c", "image": "x", "resources": resources}

    obj, _ = admit("pods", spec={"containers": [container]})

    assert obj["status"]["qosClass"] == quality


def test_limits_imply_requests_in_pods_but_not_in_templates(admit: Callable[..., Any]) -> None:
    container = {"name": "c", "image": "x", "resources": {"limits": {"cpu": "1"}}}
    pod, _ = admit("pods", spec={"containers": [container]})
    template = {**TEMPLATE, "spec": {"containers": [container]}}
    deployment, _ = admit("deployments.apps", spec={"selector": SELECTOR, "template": template})

    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    held = deployment["spec"]["template"]["spec"]["containers"][0]
    assert held["resources"] == {"limits": {"cpu": "1"}}


def test_a_job_runs_once_and_selects_by_its_uid(admit: Callable[..., Any]) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}

    obj, causes = admit("jobs.batch", spec={"template": template})

    assert not causes
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert {k: v for k, v in obj["spec"].items() if k not in {"template", "selector"}} == {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    }
    assert obj["metadata"]["labels"]["job-name"] == "x"


def test_a_secret_written_as_text_is_kept_as_data(admit: Callable[..., Any]) -> None:
    obj, _ = admit("secrets", data={"a": "eA=="}, stringData={"a": "y", "b": ""})

    assert obj["data"] == {"a": "eQ==", "b": ""}
    assert obj["type"] == "Opaque"
    assert "stringData" not in obj


def test_a_namespace_is_labelled_and_held(admit: Callable[..., Any]) -> None:
    obj, _ = admit("namespaces", metadata={"name": "team"})

    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["status"] == {"phase": "Active"}


def test_webhooks_fail_closed_within_ten_seconds(admit: Callable[..., Any]) -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [
            {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        ],
    }

    obj, causes = admit(
        "mutatingwebhookconfigurations.admissionregistration.k8s.io", webhooks=[hook]
    )

    assert not causes
    made = obj["webhooks"][0]
    assert made["clientConfig"]["service"]["port"] == 443
    assert made["rules"][0]["scope"] == "*"
    assert {k: v for k, v in made.items() if k not in hook} == {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "timeoutSeconds": 10,
    }


def test_subjects_of_bindings_belong_to_groups(admit: Callable[..., Any]) -> None:
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]

    obj, causes = admit(
        "rolebindings.rbac.authorization.k8s.io",
        roleRef={"kind": "Role", "name": "r"},
        subjects=subjects,
    )

    assert not causes
    assert obj["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert [s.get("apiGroup") for s in obj["subjects"]] == ["rbac.authorization.k8s.io", None]


def test_a_custom_kind_derives_its_names(admit: Callable[..., Any]) -> None:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "x.dev", "scope": "Cluster", "names": names, "versions": [version]}

    obj, causes = admit(
        "customresourcedefinitions.apiextensions.k8s.io",
        metadata={"name": "widgets.x.dev"},
        spec=spec,
    )

    assert not causes
    assert obj["spec"]["names"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert obj["spec"]["conversion"] == {"strategy": "None"}
    assert obj["status"]["storedVersions"] == ["v1"]


def test_template_generations_of_daemon_sets_are_counted(admit: Callable[..., Any]) -> None:
    key = "deprecated.daemonset.template.generation"
    first, _ = admit("daemonsets.apps", spec={"selector": SELECTOR, "template": TEMPLATE})
    changed = {
        **TEMPLATE,
        "spec": {"containers": [{"name": "c", "image": "other"}]},
    }
    second, _ = admit("daemonsets.apps", first, spec={"selector": SELECTOR, "template": changed})

    assert first["metadata"]["annotations"][key] == "1"
    assert second["metadata"]["annotations"][key] == "2"

"""Labels and annotations."""

from tests.unit.operators.certmanager.view import CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.request import Component, Reason

TEAM = {"team": "pki"}


def test_common_labels_are_on_all_objects_and_pods() -> None:
    view = rendered(common_labels=TEAM, webhook={"pod_disruption_budget": {}})
    bare = {
        obj["kind"]
        for obj in view.objects
        if obj["metadata"].get("labels", {}).get("team") != "pki"
    }
    assert bare == {"Namespace"}
    for component in Component:
        assert view.template(component)["metadata"]["labels"]["team"] == "pki"
        assert "team" not in view.deployment(component)["spec"]["selector"]["matchLabels"]
    assert "--acme-http01-solver-extra-labels=team=pki" in view.args()


def test_labels_and_annotations_of_one_component() -> None:
    wanted = {
        "pod_labels": {"azure.workload.identity/use": "true"},
        "pod_annotations": {"a": "1"},
        "deployment_annotations": {"b": "2"},
        "service_annotations": {"c": "3"},
        "service_labels": {"d": "4"},
    }
    view = rendered(webhook=wanted)
    metadata = view.template(WEBHOOK)["metadata"]
    assert metadata["labels"]["azure.workload.identity/use"] == "true"
    assert metadata["annotations"]["a"] == "1"
    assert metadata["annotations"]["prometheus.io/scrape"] == "true"
    assert view.deployment(WEBHOOK)["metadata"]["annotations"] == {"b": "2"}
    service = view.get("Service", "cert-manager-webhook")["metadata"]
    assert (service["annotations"], service["labels"]["d"]) == ({"c": "3"}, "4")
    assert "azure.workload.identity/use" not in view.template(CONTROLLER)["metadata"]["labels"]


def test_pods_are_not_hidden_from_their_deployment() -> None:
    view = rendered(webhook={"pod_labels": {"app.kubernetes.io/component": "mine"}})
    (problem,) = view.rendered.problems
    assert (problem.reason, problem.component) == (Reason.INVALID_OVERRIDE, WEBHOOK)
    assert "must stay webhook" in problem.message
    assert not view.find("Deployment", "cert-manager-webhook")


def test_the_same_label_again_is_no_problem() -> None:
    view = rendered(webhook={"pod_labels": {"app.kubernetes.io/component": "webhook"}})
    assert not view.rendered.problems

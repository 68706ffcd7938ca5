"""Injection as the API server asks for it."""

import pytest
from tests.support.webhook import admission_body
from tests.unit.operators.discoveryservice.injection.pods import DEFAULTS, pod

from certwright.kube.reviews.admission import read_admission_review
from certwright.operators.discoveryservice.injection.review import decide, injection_handler
from certwright.webhook.decisions import Deny, Patch


def test_a_pod_gets_its_sidecar_and_its_client_the_warnings() -> None:
    asked = pod(node_id="gateway", admin__port="x")
    decision = decide(read_admission_review(admission_body(asked)), DEFAULTS)
    assert isinstance(decision, Patch)
    assert [one["name"] for one in decision.obj["spec"]["containers"]] == ["app", "envoy-sidecar"]
    assert "admin.port" in decision.warnings[0]


@pytest.mark.scenario("DS-42", "DS-43")
@pytest.mark.parametrize("wrong", [{"node_id": ""}, {"node_id": "a", "ports": "http:80"}])
def test_a_denial_is_a_bad_request_that_names_the_field(wrong: dict[str, str]) -> None:
    decision = decide(read_admission_review(admission_body(pod(**wrong))), DEFAULTS)
    assert isinstance(decision, Deny)
    assert (decision.code, decision.reason) == (400, "BadRequest")
    key = "marin3r.3scale.net/" + ("ports" if "ports" in wrong else "node-id")
    assert [cause.field for cause in decision.causes] == [f"metadata.annotations[{key}]"]


def test_only_labelled_pods_of_enabled_namespaces_are_reviewed() -> None:
    handler = injection_handler(DEFAULTS, namespace="infra")
    assert handler.object_selector == {"matchLabels": {"marin3r.3scale.net/status": "enabled"}}
    selector = handler.namespace_selector
    assert selector["matchLabels"] == {"marin3r.3scale.net/discovery-service": "instance"}
    [spared] = selector["matchExpressions"]
    assert (spared["operator"], spared["values"]) == ("NotIn", ["infra", "kube-system"])

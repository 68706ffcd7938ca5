"""Another namespace to install to."""

import json

import pytest
from tests.support.certmanager.samplebundle import CA, NEW, OLD
from tests.unit.operators.certmanager.view import WEBHOOK, rendered

from certwright.bundles.bundle import Bundle


@pytest.mark.parametrize("bundle", [NEW, OLD], ids=["new", "old"])
def test_no_object_stays_behind(bundle: Bundle) -> None:
    view = rendered(bundle, namespace="pki")
    assert [obj["metadata"]["name"] for obj in view.find("Namespace")] == ["pki"]
    places = {obj["metadata"].get("namespace") for obj in view.objects}
    assert places == {"pki", "kube-system", None}
    subjects = [subject for obj in view.objects for subject in obj.get("subjects", ())]
    assert {subject["namespace"] for subject in subjects} == {"pki"}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        registration = view.get(kind, "cert-manager-webhook")
        assert registration["metadata"]["annotations"][CA] == "pki/cert-manager-webhook-ca"
        (webhook,) = registration["webhooks"]
        assert webhook["clientConfig"]["service"]["namespace"] == "pki"
    assert '"namespace": "cert-manager"' not in json.dumps(view.objects)


def test_conversion_and_certificate_follow() -> None:
    view = rendered(OLD, namespace="pki")
    (definition,) = view.find("CustomResourceDefinition")
    service = definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert service["namespace"] == "pki"
    assert definition["metadata"]["annotations"][CA] == "pki/cert-manager-webhook-ca"
    assert view.args(WEBHOOK)[-1] == (
        "--dynamic-serving-dns-names="
        "cert-manager-webhook,cert-manager-webhook.pki,cert-manager-webhook.pki.svc"
    )
    (webhook,) = view.get("ValidatingWebhookConfiguration", "cert-manager-webhook")["webhooks"]
    assert webhook["namespaceSelector"]["matchExpressions"][1]["values"] == ["pki"]


def test_the_bundle_itself_is_not_changed() -> None:
    before = json.dumps(OLD.objects)
    rendered(OLD, namespace="pki", common_labels={"a": "b"}, leader_election_namespace="x")
    assert json.dumps(OLD.objects) == before

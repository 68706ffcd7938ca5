"""ServiceAccounts, and the Secrets with which images are pulled."""

from tests.unit.operators.certmanager.view import CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.request import Component, Images, PullSecret


def test_annotations_and_labels_are_added() -> None:
    wanted = {
        "annotations": {"eks.amazonaws.com/role-arn": "arn"},
        "labels": {"team": "pki"},
        "automountServiceAccountToken": False,
    }
    account = rendered(controller={"service_account": wanted}).get("ServiceAccount", "cert-manager")
    assert account["metadata"]["annotations"] == {"eks.amazonaws.com/role-arn": "arn"}
    assert account["metadata"]["labels"]["team"] == "pki"
    assert account["metadata"]["labels"]["app"] == "cert-manager"
    assert account["automountServiceAccountToken"] is False


def test_bindings_and_pods_follow_a_name() -> None:
    view = rendered(controller={"service_account": {"name": "issuer-bot"}})
    assert view.pod(CONTROLLER)["serviceAccountName"] == "issuer-bot"
    assert view.get("ServiceAccount", "issuer-bot")
    assert not view.find("ServiceAccount", "cert-manager")
    bound = {
        obj["metadata"]["name"]: obj["subjects"][0]["name"]
        for obj in view.objects
        if obj["kind"] in {"RoleBinding", "ClusterRoleBinding"}
    }
    assert bound == {
        "cert-manager:leaderelection": "issuer-bot",
        "cert-manager-cainjector:leaderelection": "cert-manager-cainjector",
        "cert-manager-webhook:dynamic-serving": "cert-manager-webhook",
        "cert-manager-tokenrequest": "issuer-bot",
        "cert-manager-controller-issuers": "issuer-bot",
        "cert-manager-controller-approve:cert-manager-io": "issuer-bot",
        "cert-manager-cainjector": "cert-manager-cainjector",
    }
    tokens = view.get("Role", "cert-manager-tokenrequest")
    assert tokens["rules"][0]["resourceNames"] == ["issuer-bot"]


def test_an_account_of_others_is_used() -> None:
    view = rendered(webhook={"service_account": {"create": False, "name": "given"}})
    assert not view.find("ServiceAccount", "given")
    assert not view.find("ServiceAccount", "cert-manager-webhook")
    assert view.pod(WEBHOOK)["serviceAccountName"] == "given"
    view = rendered(webhook={"service_account": {"create": False}})
    assert view.pod(WEBHOOK)["serviceAccountName"] == "default"


def test_pods_pull_with_secrets() -> None:
    view = rendered(images=Images(pull_secrets=["a"]), pull_secret=PullSecret(name="b"))
    for component in Component:
        assert view.pod(component)["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert "imagePullSecrets" not in rendered().pod()

"""ServiceAccounts, roles, and the Secrets with which images are pulled."""

from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.request import Component, Images, PullSecret

APPROVE = "cert-manager-controller-approve:cert-manager-io"
VIEW = "rbac.authorization.k8s.io/aggregate-to-view"


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


def test_components_may_share_an_account() -> None:
    wanted = {"name": "robot", "annotations": {"a": "1"}}
    view = rendered(
        controller={"service_account": wanted},
        webhook={"service_account": {"name": "robot", "annotations": {"b": "2"}}},
    )
    account = view.get("ServiceAccount", "robot")
    assert account["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert len(view.find("ServiceAccount")) == 2


def test_pods_pull_with_secrets() -> None:
    view = rendered(
        images=Images(pull_secrets=["a"]), pull_secret=PullSecret(name="b", required=True)
    )
    for component in Component:
        assert view.pod(component)["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert "imagePullSecrets" not in rendered().pod()


def test_roles_are_not_added_to_others_on_request() -> None:
    assert VIEW in rendered().get("ClusterRole", "cert-manager-view")["metadata"]["labels"]
    role = rendered(aggregate_cluster_roles=False).get("ClusterRole", "cert-manager-view")
    assert VIEW not in role["metadata"]["labels"]
    assert role["metadata"]["labels"]["app"] == "cert-manager"


def test_without_approval_the_right_and_the_controller_are_gone() -> None:
    view = rendered(auto_approval=False)
    assert not view.find("ClusterRole", APPROVE)
    assert not view.find("ClusterRoleBinding", APPROVE)
    assert "--controllers=-certificaterequests-approver" in view.args()


def test_what_may_be_approved() -> None:
    view = rendered(approve_signer_names=["issuers.cert-manager.io/a.b"])
    role = view.get("ClusterRole", APPROVE)
    assert role["rules"][0]["resourceNames"] == ["issuers.cert-manager.io/a.b"]


METRICS = {"metricsTLSConfig": {"dynamic": {"secretNamespace": "pki", "secretName": "metrics-ca"}}}


def test_a_secret_for_the_authority_of_metrics_is_allowed() -> None:
    view = rendered(
        namespace="pki",
        webhook={"config": METRICS},
        cainjector={
            "service_account": {"name": "bot"},
            "unvalidated_args": [
                "--metrics-dynamic-serving-ca-secret-name=injector-ca",
                "--metrics-dynamic-serving-ca-secret-namespace=$(POD_NAMESPACE)",
            ],
        },
    )
    name = "cert-manager-webhook:dynamic-serving"
    assert view.get("Role", name)["rules"][0]["resourceNames"] == [
        "cert-manager-webhook-ca",
        "metrics-ca",
    ]
    name = "cert-manager-cainjector:dynamic-serving"
    role, binding = view.get("Role", name), view.get("RoleBinding", name)
    assert role["rules"][0]["resourceNames"] == ["injector-ca"]
    assert role["metadata"]["namespace"] == "pki"
    labels = view.deployment(CAINJECTOR)["metadata"]["labels"]
    assert role["metadata"]["labels"] == labels
    assert binding["roleRef"]["name"] == name
    subject = {"kind": "ServiceAccount", "name": "bot", "namespace": "pki"}
    assert binding["subjects"] == [subject]


def test_a_secret_elsewhere_is_not() -> None:
    view = rendered(webhook={"config": METRICS}, cainjector={"unvalidated_args": ["--x"]})
    role = view.get("Role", "cert-manager-webhook:dynamic-serving")
    assert role["rules"][0]["resourceNames"] == ["cert-manager-webhook-ca"]
    assert not view.find("Role", "cert-manager-cainjector:dynamic-serving")

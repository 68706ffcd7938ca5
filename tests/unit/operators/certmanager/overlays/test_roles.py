"""Roles for users, and the right to approve."""

from tests.unit.operators.certmanager.view import rendered

APPROVE = "cert-manager-controller-approve:cert-manager-io"
VIEW = "rbac.authorization.k8s.io/aggregate-to-view"


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

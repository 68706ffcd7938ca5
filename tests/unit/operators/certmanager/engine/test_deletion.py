"""In which order an installation goes."""

from certwright.apply import ObjectRef
from certwright.operators.certmanager.engine.deletion import deletion_groups


def ref(kind: str, name: str = "x") -> ObjectRef:
    return ObjectRef("v1", kind, "", name)


def test_registrations_go_first_and_what_pods_need_last() -> None:
    kinds = [
        "ServiceAccount",
        "ClusterRole",
        "Secret",
        "RoleBinding",
        "ClusterRoleBinding",
        "Deployment",
        "Service",
        "MutatingWebhookConfiguration",
        "APIService",
        "ValidatingWebhookConfiguration",
        "Namespace",
        "CustomResourceDefinition",
        "PodDisruptionBudget",
    ]
    groups = [{one.kind for one in group} for group in deletion_groups(map(ref, kinds))]
    assert groups == [
        {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
        {"APIService"},
        {"Service"},
        {"Deployment"},
        {"RoleBinding"},
        {"ClusterRoleBinding"},
        {"ClusterRole"},
        {"Secret", "PodDisruptionBudget"},
        {"ServiceAccount"},
        {"CustomResourceDefinition"},
        {"Namespace"},
    ]


def test_the_controller_goes_after_what_depends_on_it() -> None:
    names = [
        "cert-manager-controller",
        "configmap-watcher",
        "cert-manager-cainjector",
        "cert-manager-webhook",
    ]
    (group,) = deletion_groups(ref("Deployment", name) for name in names)
    assert [one.name for one in group] == names[::-1]

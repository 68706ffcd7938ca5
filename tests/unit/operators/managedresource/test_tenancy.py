"""As whom a ManagedResource acts, and which objects an installation touches."""

import pytest

from certwright.api.managedresources import ManagedResource, ManagedResourceSpec
from certwright.kube import Key, ObjectMeta, Resource
from certwright.kube.kinds import ClusterRoleBinding, ConfigMap, Deployment, Namespace
from certwright.operators.managedresource import ConfigurationError
from certwright.operators.managedresource.configuration import load
from certwright.operators.managedresource.configuration.limits import TargetLimits
from certwright.operators.managedresource.state import account_of


def resource(account: str | None = None) -> ManagedResource:
    spec = ManagedResourceSpec(secret_refs=[])
    if account is not None:
        spec.service_account_name = account
    return ManagedResource(metadata=ObjectMeta(namespace="team", name="web"), spec=spec)


@pytest.mark.parametrize(
    ("named", "default", "user"),
    [
        (None, "", ""),
        ("", "", ""),
        (None, "all", "system:serviceaccount:team:all"),
        ("", "all", "system:serviceaccount:team:all"),
        ("own", "all", "system:serviceaccount:team:own"),
    ],
)
def test_whose_name_counts(named: str | None, default: str, user: str) -> None:
    assert account_of(resource(named), default) == user


@pytest.mark.parametrize(
    "name", ["kube-system:admin", "a\r\nimpersonate-group: system:masters", " ", "A", "x" * 254]
)
def test_what_cannot_be_an_account_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a ServiceAccount"):
        account_of(resource(name), "")


OWN, LISTED, OTHER = Key("team", "x"), Key("apps-1", "x"), Key("kube-system", "x")
NOWHERE = Key("", "x")
CONFINED = TargetLimits(("<own>", "apps-*"), ())
KINDS = TargetLimits((), ("ConfigMap", "*.apps"))
BOTH = TargetLimits(("<own>",), ("ConfigMap", "Namespace", "*.rbac.authorization.k8s.io"))


@pytest.mark.parametrize(
    ("limits", "kind", "key", "refused_by"),
    [
        (TargetLimits(), ClusterRoleBinding, NOWHERE, ""),
        (CONFINED, ConfigMap, OWN, ""),
        (CONFINED, ConfigMap, LISTED, ""),
        (CONFINED, ConfigMap, OTHER, "allowedNamespaces"),
        (CONFINED, Namespace, NOWHERE, "allowedKinds"),
        (KINDS, ConfigMap, OTHER, ""),
        (KINDS, Deployment, OTHER, ""),
        (KINDS, ClusterRoleBinding, NOWHERE, "allowedKinds"),
        (BOTH, Namespace, NOWHERE, ""),
        (BOTH, ClusterRoleBinding, NOWHERE, "allowedKinds"),
        (BOTH, ConfigMap, LISTED, "allowedNamespaces"),
    ],
)
def test_what_an_installation_touches(
    limits: TargetLimits, kind: Resource, key: Key, refused_by: str
) -> None:
    refusal = limits.refusal("team", kind, key)
    assert bool(refusal) is bool(refused_by)
    assert not refused_by or refusal.endswith(f"controllers.managedResource.{refused_by}")


def test_settings_that_make_no_sense_are_named() -> None:
    managed = {
        "serviceAccountName": "a:b",
        "allowedNamespaces": ["team-*", "<all>"],
        "allowedKinds": ["apps/Deployment"],
    }
    tokens = {"allowedServiceAccounts": ["kube-system"]}
    with pytest.raises(ConfigurationError) as caught:
        load({"controllers": {"managedResource": managed, "tokenRequestor": tokens}})
    assert [problem.path.removeprefix("controllers.") for problem in caught.value.problems] == [
        "managedResource.serviceAccountName",
        "managedResource.allowedNamespaces",
        "managedResource.allowedKinds",
        "tokenRequestor.allowedServiceAccounts",
    ]

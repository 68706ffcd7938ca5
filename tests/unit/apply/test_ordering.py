"""The order of kinds, forwards and backwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply.ordering import (
    Lingering,
    in_apply_order,
    in_delete_order,
    is_awaited,
    stages,
)
from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject


def obj(api_version: str, kind: str, name: str = "x", namespace: str = "ns") -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
    }


RBAC = "rbac.authorization.k8s.io/v1"
EXPECTED = [
    obj("scheduling.k8s.io/v1", "PriorityClass"),
    obj("v1", "Namespace"),
    obj("networking.k8s.io/v1", "NetworkPolicy"),
    obj("v1", "ServiceAccount"),
    obj("v1", "Secret"),
    obj("v1", "ConfigMap", "a", "z"),
    obj("v1", "ConfigMap", "b", "a"),
    obj("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    obj(RBAC, "ClusterRole"),
    obj(RBAC, "ClusterRoleBinding"),
    obj(RBAC, "Role"),
    obj(RBAC, "RoleBinding"),
    obj("v1", "Service"),
    obj("apps/v1", "DaemonSet"),
    obj("apps/v1", "Deployment"),
    obj("autoscaling/v2", "HorizontalPodAutoscaler"),
    obj("apps/v1", "StatefulSet"),
    obj("batch/v1", "Job"),
    obj("batch/v1", "CronJob"),
    obj("networking.k8s.io/v1", "Ingress"),
    obj("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    obj("example.com/v1", "Alpha", "z"),
    obj("example.com/v1", "Beta", "a"),
    obj("serving.example.com/v1", "Service", "a"),
]
REFS = [ObjectRef.of(one) for one in EXPECTED]


@pytest.mark.scenario("MR-49")
@given(st.permutations(EXPECTED))
def test_kinds_have_their_order_and_names_decide_within_one(shuffled: list[JsonObject]) -> None:
    assert in_apply_order(shuffled) == EXPECTED


@given(st.permutations(REFS))
def test_deletion_goes_backwards(shuffled: list[ObjectRef]) -> None:
    assert in_delete_order(shuffled) == REFS[::-1]


def test_custom_resources_go_before_their_definition() -> None:
    definition = ObjectRef(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "services.example.com"
    )
    custom = ObjectRef("example.com/v1", "Service", "ns", "a")
    assert in_delete_order([definition, custom]) == [custom, definition]


@given(st.permutations(REFS))
def test_stages_keep_the_order_and_lose_nothing(shuffled: list[ObjectRef]) -> None:
    grouped = stages(shuffled)
    assert [ref for stage in grouped for ref in stage] == REFS
    assert [ref.name for ref in grouped[5]] == ["a", "b"]
    assert [ref.kind for ref in grouped[-1]] == ["Alpha", "Beta", "Service"]


def test_what_is_waited_for() -> None:
    assert [ref.kind for ref in REFS if is_awaited(ref)] == [
        "Namespace",
        "CustomResourceDefinition",
    ]


def test_careless_manifests_have_a_place_too() -> None:
    careless: JsonObject
    for careless in ({}, {"metadata": None}, {"kind": 1, "apiVersion": None, "metadata": []}):
        assert in_apply_order([careless, EXPECTED[0]])[-1] is careless


def test_versions_of_a_group_mean_the_same_object() -> None:
    one, other = (
        ObjectRef("apps/v1", "Deployment", "a", "b"),
        ObjectRef("apps/v1beta1", "Deployment", "a", "b"),
    )
    assert one.identity == other.identity == ("apps", "Deployment", "a", "b")
    assert str(one) == "Deployment a/b"
    assert one.gvk.api_version == "apps/v1"
    assert one.key == ("a", "b")


def named(api_version: str, kind: str, name: str = "x", namespace: str = "ns") -> ObjectRef:
    return ObjectRef(api_version, kind, namespace, name)


def cluster_wide(api_version: str, kind: str, name: str = "x") -> ObjectRef:
    return ObjectRef(api_version, kind, "", name)


POD, OTHER_POD = named("v1", "Pod"), named("v1", "Pod", namespace="other")
TOY = named("example.com/v1", "Toy")
CONFIG, INGRESS = named("v1", "ConfigMap"), named("networking.k8s.io/v1", "Ingress")
NAMESPACE, ROLE = cluster_wide("v1", "Namespace", "ns"), cluster_wide(RBAC, "ClusterRole")
DEFINITION = cluster_wide("apiextensions.k8s.io/v1", "CustomResourceDefinition", "toys.example.com")
SERVICE = cluster_wide("apiregistration.k8s.io/v1", "APIService", "v1.example.com")
OTHERS = cluster_wide("apiextensions.k8s.io/v1", "CustomResourceDefinition", "toys.other.com")


@pytest.mark.parametrize(
    ("lingers", "held", "free"),
    [
        (CONFIG, [NAMESPACE], [ROLE, DEFINITION, named("v1", "Secret"), cluster_wide("v1", "N")]),
        (POD, [CONFIG, ROLE, NAMESPACE], [DEFINITION, INGRESS]),
        (OTHER_POD, [ROLE], [CONFIG, NAMESPACE, DEFINITION]),
        (INGRESS, [POD, OTHER_POD, CONFIG, ROLE, NAMESPACE], [DEFINITION, SERVICE]),
        (TOY, [POD, CONFIG, ROLE, NAMESPACE, DEFINITION, SERVICE], [OTHERS, INGRESS]),
        (DEFINITION, [], [CONFIG, NAMESPACE, ROLE]),
    ],
    ids=lambda value: value.kind if isinstance(value, ObjectRef) else "",
)
def test_what_lingers_holds_back_what_it_needs_and_nothing_else(
    lingers: ObjectRef, held: list[ObjectRef], free: list[ObjectRef]
) -> None:
    lingering = Lingering()
    assert not any(lingering.holds_back(ref) for ref in (*held, *free))
    lingering.add(lingers)
    assert [ref for ref in (*held, *free) if lingering.holds_back(ref) == lingers] == held

import pytest

from certwright.api.resources import GroupKind
from certwright.apply import ObjectRef
from certwright.operators.resources.equivalences import Equivalences


def kinds(*pairs: str) -> list[GroupKind]:
    return [GroupKind(*pair.split("/")) for pair in pairs]


@pytest.mark.parametrize(
    ("group", "kind", "others"),
    [
        ("extensions", "Deployment", [("apps", "Deployment")]),
        ("apps", "DaemonSet", [("extensions", "DaemonSet")]),
        ("apps", "ReplicaSet", [("extensions", "ReplicaSet")]),
        ("apps", "StatefulSet", [("extensions", "StatefulSet")]),
        ("extensions", "Ingress", [("networking.k8s.io", "Ingress")]),
        ("networking.k8s.io", "NetworkPolicy", [("extensions", "NetworkPolicy")]),
        ("policy", "PodSecurityPolicy", [("extensions", "PodSecurityPolicy")]),
        ("", "ConfigMap", []),
        ("apps", "Job", []),
    ],
)
def test_the_built_in_ones(group: str, kind: str, others: list) -> None:
    assert Equivalences.of().others(group, kind) == others


def test_one_set_more() -> None:
    found = Equivalences.of([kinds("a/Foo", "b/Foo")])
    assert found.others("a", "Foo") == [("b", "Foo")]
    assert found.others("apps", "Deployment") == [("extensions", "Deployment")]


def test_disjoint_sets_stay_apart() -> None:
    found = Equivalences.of([kinds("a/Foo", "b/Foo"), kinds("c/Foo", "d/Foo")])
    assert found.others("a", "Foo") == [("b", "Foo")]
    assert found.others("d", "Foo") == [("c", "Foo")]


def test_overlapping_sets_are_united() -> None:
    found = Equivalences.of(
        [kinds("a/Foo", "b/Foo"), kinds("c/Foo", "d/Foo"), kinds("b/Foo", "c/Foo")]
    )
    assert found.others("a", "Foo") == [("b", "Foo"), ("c", "Foo"), ("d", "Foo")]
    assert found.others("d", "Foo") == [("a", "Foo"), ("b", "Foo"), ("c", "Foo")]


def test_a_set_that_shares_a_member_with_a_built_in_one_is_united_with_it() -> None:
    found = Equivalences.of([kinds("apps/Deployment", "example.com/Rollout")])
    assert found.others("extensions", "Deployment") == [
        ("apps", "Deployment"),
        ("example.com", "Rollout"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("extensions/v1beta1", "Deployment", "a", "x"), ("apps/v1", "Deployment", "a", "x"), True),
        (("apps/v1beta1", "Deployment", "a", "x"), ("apps/v1", "Deployment", "a", "x"), True),
        (
            ("extensions/v1beta1", "Deployment", "a", "x"),
            ("apps/v1", "Deployment", "b", "x"),
            False,
        ),
        (
            ("extensions/v1beta1", "Deployment", "a", "x"),
            ("apps/v1", "Deployment", "a", "y"),
            False,
        ),
        (("extensions/v1beta1", "Deployment", "a", "x"), ("apps/v1", "DaemonSet", "a", "x"), False),
        (("v1", "ConfigMap", "a", "x"), ("v1", "Secret", "a", "x"), False),
    ],
)
def test_references_to_the_same_object(one: tuple, other: tuple, same) -> None:
    equivalences = Equivalences.of()
    left, right = ObjectRef(*one), ObjectRef(*other)
    assert (equivalences.canonical(left) == equivalences.canonical(right)) is same


def test_without_any_set_only_the_version_may_differ() -> None:
    none = Equivalences()
    assert none.canonical(ObjectRef("apps/v1", "Deployment", "a", "x")) == (
        none.canonical(ObjectRef("apps/v1beta2", "Deployment", "a", "x"))
    )
    assert none.others("apps", "Deployment") == []

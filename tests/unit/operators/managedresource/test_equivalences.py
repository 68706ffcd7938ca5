from typing import Any

import pytest

from certwright.api.managedresources import GroupKind
from certwright.apply import ObjectRef
from certwright.operators.managedresource.inventory import Equivalences


def kinds(*pairs: str) -> list[GroupKind]:
    return [GroupKind(*pair.split("/")) for pair in pairs]


def same(equivalences: Equivalences, *pairs: str) -> bool:
    refs = [
        ObjectRef(f"{group}/v1", kind, "x", "y") for group, kind in (p.split("/") for p in pairs)
    ]
    return len({equivalences.canonical(ref) for ref in refs}) == 1


@pytest.mark.parametrize(
    "pairs",
    [
        ("extensions/Deployment", "apps/Deployment"),
        ("extensions/DaemonSet", "apps/DaemonSet"),
        ("extensions/ReplicaSet", "apps/ReplicaSet"),
        ("extensions/StatefulSet", "apps/StatefulSet"),
        ("extensions/Ingress", "networking.k8s.io/Ingress"),
        ("extensions/NetworkPolicy", "networking.k8s.io/NetworkPolicy"),
        ("extensions/PodSecurityPolicy", "policy/PodSecurityPolicy"),
    ],
)
def test_the_built_in_ones(pairs: tuple[str, str]) -> None:
    assert same(Equivalences.of(), *pairs)
    assert not same(Equivalences(), *pairs)


def test_other_kinds_are_themselves() -> None:
    assert not same(Equivalences.of(), "extensions/Job", "apps/Job")
    assert not same(Equivalences.of(), "apps/Deployment", "apps/DaemonSet")


def test_one_set_more() -> None:
    found = Equivalences.of([kinds("a/Foo", "b/Foo")])
    assert same(found, "a/Foo", "b/Foo")
    assert same(found, "apps/Deployment", "extensions/Deployment")


def test_disjoint_sets_stay_apart() -> None:
    found = Equivalences.of([kinds("a/Foo", "b/Foo"), kinds("c/Foo", "d/Foo")])
    assert same(found, "a/Foo", "b/Foo")
    assert same(found, "c/Foo", "d/Foo")
    assert not same(found, "a/Foo", "c/Foo")


def test_overlapping_sets_are_united() -> None:
    sets = [kinds("a/Foo", "b/Foo"), kinds("c/Foo", "d/Foo"), kinds("b/Foo", "c/Foo")]
    assert same(Equivalences.of(sets), "a/Foo", "b/Foo", "c/Foo", "d/Foo")


def test_a_set_that_shares_a_member_with_a_built_in_one_is_united_with_it() -> None:
    found = Equivalences.of([kinds("apps/Deployment", "example.com/Rollout")])
    assert same(found, "extensions/Deployment", "apps/Deployment", "example.com/Rollout")


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
def test_references_to_the_same_object(
    one: tuple[Any, ...], other: tuple[Any, ...], *, same: bool
) -> None:
    equivalences = Equivalences.of()
    left, right = ObjectRef(*one), ObjectRef(*other)
    assert (equivalences.canonical(left) == equivalences.canonical(right)) is same


def test_without_any_set_only_the_version_may_differ() -> None:
    one, other = (ObjectRef(f"apps/{v}", "Deployment", "a", "x") for v in ("v1", "v1beta2"))
    assert Equivalences().canonical(one) == Equivalences().canonical(other)

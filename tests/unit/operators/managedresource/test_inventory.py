from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.managedresource.conftest import Make

from certwright.api.managedresources import GroupKind, ObjectReference
from certwright.apply import ObjectRef
from certwright.kube import JsonObject
from certwright.operators.managedresource import inventory
from certwright.operators.managedresource.inventory import (
    Equivalences,
    afterwards,
    compare,
    decode_intent,
    encode_intent,
    in_order,
    object_id,
    object_key,
    recorded,
    ref_of,
    reference_to,
    write_ahead,
)

INTENT = "resources.certwright.dev/intent"


def entry(text: str, **metadata: dict[str, str]) -> ObjectReference:
    return reference_to(ObjectRef(*text.rsplit("/", 3)), **metadata)


CONFIG = entry("v1/ConfigMap/bar/foo")
NGINX = entry("apps/v1/Deployment/web/nginx")
OLD_NGINX = entry("extensions/v1beta1/Deployment/web/nginx")
ROLE = entry("rbac.authorization.k8s.io/v1/ClusterRole//x")


@pytest.mark.parametrize(
    ("text", "key", "id_"),
    [
        ("v1/ConfigMap/bar/foo", "/ConfigMap/bar/foo", "v1/ConfigMap/bar/foo"),
        (
            "apps/v1/Deployment/web/nginx",
            "apps/Deployment/web/nginx",
            "apps/v1/Deployment/web/nginx",
        ),
        (
            "rbac.authorization.k8s.io/v1/ClusterRole//x",
            "rbac.authorization.k8s.io/ClusterRole/default/x",
            "rbac.authorization.k8s.io/v1/ClusterRole/default/x",
        ),
        ("v1/Namespace//x", "/Namespace//x", "v1/Namespace//x"),
    ],
)
def test_how_objects_are_named(text: str, key: str, id_: str) -> None:
    ref = ref_of(entry(text))
    assert (object_key(ref), object_id(ref)) == (key, id_)


@pytest.mark.parametrize("given_", [[CONFIG, NGINX, ROLE], [ROLE, NGINX, CONFIG]])
def test_entries_are_sorted_by_key(given_: list[ObjectReference]) -> None:
    assert in_order(given_) == [CONFIG, NGINX, ROLE]


def test_sorting_nothing() -> None:
    assert in_order([]) == []


def test_what_is_added_stays_and_is_removed() -> None:
    labelled = entry("v1/ConfigMap/bar/foo", labels={"a": "b"})
    changes = compare([CONFIG, ROLE], [labelled, NGINX], Equivalences.of())
    assert changes.added == (NGINX,)
    assert changes.stayed == ((CONFIG, labelled),)
    assert changes.removed == (ROLE,)
    assert not changes.same


@pytest.mark.parametrize(
    ("equivalences", "removed"),
    [(Equivalences(), (OLD_NGINX,)), (Equivalences.of(), ())],
    ids=["without equivalences", "with the built-in ones"],
)
def test_moving_to_another_group(equivalences: Equivalences, removed: tuple[Any, ...]) -> None:
    changes = compare([OLD_NGINX, CONFIG], [NGINX, CONFIG], equivalences)
    assert changes.removed == removed


def test_moving_between_kinds_of_a_spec() -> None:
    equivalences = Equivalences.of([[GroupKind("a.io", "Foo"), GroupKind("b.io", "Foo")]])
    changes = compare([entry("a.io/v1/Foo/x/y")], [entry("b.io/v1/Foo/x/y")], equivalences)
    assert (changes.added, changes.removed) == ((), ())
    assert not changes.same


def test_another_version_of_the_group_is_the_same_object() -> None:
    changes = compare([entry("apps/v1beta1/Deployment/web/nginx")], [NGINX], Equivalences())
    assert (changes.added, changes.removed) == ((), ())


def test_the_same_inventory_is_the_same() -> None:
    assert compare([CONFIG, NGINX], [NGINX, CONFIG], Equivalences.of()).same
    relabelled = entry("v1/ConfigMap/bar/foo", labels={"a": "b"})
    assert not compare([CONFIG], [relabelled], Equivalences.of()).same


def test_writing_ahead_forgets_nothing_and_promises_nothing() -> None:
    before = entry("v1/ConfigMap/bar/foo", labels={"old": "1"}, annotations={"old": "1"})
    after = entry("v1/ConfigMap/bar/foo", labels={"new": "1"})
    changes = compare([before, ROLE], [after, NGINX], Equivalences.of())
    assert write_ahead(changes) == [before, NGINX, *changes.marked()]


def test_writing_ahead_names_an_object_that_moves_by_its_new_group() -> None:
    changes = compare([OLD_NGINX], [NGINX], Equivalences.of())
    assert write_ahead(changes) == [NGINX]


def test_what_lingers_stays_in_the_inventory() -> None:
    assert afterwards([CONFIG], [ROLE]) == [CONFIG, ROLE]
    again = entry("v1/ConfigMap/bar/foo", labels={"a": "b"})
    assert afterwards([again], [CONFIG]) == [again]


NAMES = st.text(st.sampled_from("abc-.:"), min_size=1, max_size=8)
REFS = st.builds(
    ObjectRef, st.sampled_from(["v1", "apps/v1", "a.io/v2"]), NAMES, st.just("") | NAMES, NAMES
)


@given(st.lists(REFS, max_size=8))
def test_an_intent_can_be_read_back(refs: list[ObjectRef]) -> None:
    entries = [reference_to(ref) for ref in refs]
    assert decode_intent(encode_intent(entries, "u") or "", "u") == entries


@given(
    st.lists(REFS, unique_by=lambda ref: ref.identity),
    st.lists(REFS, unique_by=lambda ref: ref.identity),
)
def test_every_object_is_in_the_inventory_before_it_is_created(
    old: list[Any], new: list[Any]
) -> None:
    before, after = [reference_to(r) for r in old], [reference_to(r) for r in new]
    ahead = {ref_of(e).identity for e in write_ahead(compare(before, after, Equivalences()))}
    assert ahead == {r.identity for r in old} | {r.identity for r in new}


def test_an_intent_is_compact() -> None:
    assert encode_intent([CONFIG, ROLE], "u-1") == (
        '["u-1","v1/ConfigMap/bar/foo","rbac.authorization.k8s.io/v1/ClusterRole//x"]'
    )


def test_what_is_too_much_for_an_annotation() -> None:
    assert encode_intent([CONFIG] * inventory.MOST_INTENDED, "u") is not None
    assert encode_intent([CONFIG] * (inventory.MOST_INTENDED + 1), "u") is None
    assert encode_intent([entry(f"v1/ConfigMap/a/{'x' * 253}")] * 500, "u") is None


@pytest.mark.parametrize(
    "text", ["", "nonsense", "{}", "[]", "[1]", '["a"]', '["u", "a/b/c"]', "null"]
)
def test_an_intent_of_another_hand_holds_nothing(text: str) -> None:
    assert decode_intent(text, "u") == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, [CONFIG]),
        ({"conditions": []}, [CONFIG]),
        ({"secretsDataChecksum": "00"}, []),
        ({"resources": [{"apiVersion": "v1", "kind": "Pod", "name": "x"}]}, [entry("v1/Pod//x")]),
    ],
)
def test_the_intent_counts_until_there_is_a_status(
    make: Make, status: JsonObject, expected: list[Any]
) -> None:
    resource = make(uid="u", annotations={INTENT: encode_intent([CONFIG], "u")}, status=status)
    assert recorded(resource) == expected


def test_the_intent_of_a_copy_is_not_its_own(make: Make) -> None:
    resource = make(uid="copy", annotations={INTENT: encode_intent([CONFIG], "original")})
    assert recorded(resource) == []


def test_what_companions_hold_belongs_to_the_inventory(make: Make) -> None:
    resource = make(uid="u", annotations={INTENT: encode_intent([CONFIG], "u")})
    assert recorded(resource, [ROLE]) == [ROLE]


BASE = "resources.certwright.dev/removed-from"


def test_a_removed_object_remembers_how_many_there_were() -> None:
    """Though the inventory names many new ones from then on, and though others follow it."""
    first = compare([CONFIG, NGINX, ROLE], [CONFIG, NGINX], Equivalences.of())
    assert first.objects_before == 3
    assert [entry.annotations for entry in first.marked()] == [{BASE: "3"}]
    new = [entry(f"v1/ConfigMap/bar/{number}") for number in range(20)]
    ahead = write_ahead(compare([CONFIG, *first.marked()], new, Equivalences.of()))
    second = compare(ahead, new, Equivalences.of())
    assert len(second.removed) == 2
    assert second.objects_before == 3


def test_an_object_that_is_declared_again_forgets_it() -> None:
    removed = compare([CONFIG, NGINX, ROLE], [CONFIG], Equivalences.of()).marked()
    again = compare([CONFIG, *removed], [CONFIG, NGINX, ROLE], Equivalences.of())
    assert write_ahead(again) == in_order([CONFIG, NGINX, ROLE])
    assert (again.objects_before, again.marked()) == (3, [])


@pytest.mark.parametrize("text", ["", "many", "-1", "²"])
def test_what_is_no_number_does_not_count(text: str) -> None:
    odd = entry("v1/ConfigMap/bar/odd", annotations={BASE: text})
    assert compare([CONFIG, odd], [CONFIG], Equivalences.of()).objects_before == 2

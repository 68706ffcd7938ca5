"""When a live object counts as being as somebody wants it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.kube.comparison import (
    contains,
    covers,
    difference,
    held_otherwise,
    is_applied,
    lacks,
    own_fields,
)
from certwright.kube.ownership import FieldSet

CONTAINED = {
    "defaults of the server": ({"a": 1, "b": 2}, {"a": 1}),
    "nested": ({"spec": {"a": {"b": 1, "c": 2}}}, {"spec": {"a": {"b": 1}}}),
    "null and absent": ({"a": 1}, {"a": 1, "b": None}),
    "empty and absent": ({"a": 1}, {"a": 1, "labels": {}, "items": []}),
    "an empty map that was filled": ({"labels": {"a": "b"}}, {"labels": {}}),
    "containers by name": (
        {"c": [{"name": "sidecar"}, {"name": "app", "image": "x", "pull": "Always"}]},
        {"c": [{"name": "app", "image": "x"}]},
    ),
    "ports by position": (
        {"ports": [{"port": 80, "protocol": "TCP"}]},
        {"ports": [{"port": 80}]},
    ),
    "equal scalars in a list": ({"args": ["a", "b"]}, {"args": ["a", "b"]}),
}
NOT_CONTAINED = {
    "another value": ({"a": 1}, {"a": 2}),
    "missing": ({}, {"a": 1}),
    "an item less": ({"args": ["a", "b"]}, {"args": ["a"]}),
    "an item of another name": ({"c": [{"name": "x"}]}, {"c": [{"name": "y"}]}),
    "another order of scalars": ({"args": ["b", "a"]}, {"args": ["a", "b"]}),
    "another type": ({"a": [1]}, {"a": {"b": 1}}),
    "a string for a number": ({"a": "1"}, {"a": 1}),
}


@pytest.mark.parametrize("case", CONTAINED.values(), ids=CONTAINED)
def test_live_contains_desired(case: tuple[JsonObject, JsonObject]) -> None:
    assert contains(*case)


@pytest.mark.parametrize("case", NOT_CONTAINED.values(), ids=NOT_CONTAINED)
def test_live_does_not_contain_desired(case: tuple[JsonObject, JsonObject]) -> None:
    assert not contains(*case)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=2), JSON, max_size=4))
def test_everything_contains_itself(obj: JsonObject) -> None:
    assert contains(obj, obj)
    assert covers(obj, obj)


def test_what_we_own_beyond_desired_is_noticed() -> None:
    owned = {"data": {"old": "1", "kept": "2"}}
    assert not covers({"data": {"kept": "other"}}, owned)
    assert covers({"data": {"kept": "other", "old": ""}}, owned)


def test_only_our_apply_to_the_main_resource_counts_as_ours() -> None:
    fields: JsonObject = {"f:data": {"f:a": {}}}
    update = {"manager": "me", "operation": "Update", "fieldsV1": fields}
    status = {"manager": "me", "operation": "Apply", "subresource": "status", "fieldsV1": fields}
    other = {"manager": "you", "operation": "Apply", "fieldsV1": fields}
    assert own_fields([update, status, other], "me") is None
    mine = {"manager": "me", "operation": "Apply", "fieldsV1": fields}
    assert own_fields([update, mine], "me") is not None


def managed(fields: JsonObject) -> FieldSet:
    return FieldSet.parse(fields)


def pod(**container: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", **container}]},
    }


def owned(*names: str, **children: Any) -> FieldSet:
    """Return the ownership of fields of the container."""
    inner = {f"f:{name}": {} for name in names} | {f"f:{n}": c for n, c in children.items()}
    return managed(
        {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, **inner}}}}
    )


REQUESTS: JsonObject = {"f:requests": {"f:cpu": {}, "f:memory": {}}}


def test_amounts_are_compared_as_such_where_the_server_normalises_them() -> None:
    live = pod(resources={"requests": {"cpu": "1", "memory": "1Gi"}})
    fields = owned(resources=REQUESTS)
    assert is_applied(
        live, fields, pod(resources={"requests": {"cpu": "1000m", "memory": "1024Mi"}})
    )
    assert is_applied(live, fields, pod(resources={"requests": {"cpu": 1, "memory": "1Gi"}}))
    assert not is_applied(
        live, fields, pod(resources={"requests": {"cpu": "1001m", "memory": "1Gi"}})
    )
    assert not is_applied(
        live, fields, pod(resources={"requests": {"cpu": "one", "memory": "1Gi"}})
    )


def test_nothing_else_that_looks_like_an_amount_is() -> None:
    live = {**pod(), "metadata": {"name": "p", "namespace": "ns", "labels": {"x": "1"}}}
    fields = managed({"f:metadata": {"f:labels": {"f:x": {}}}})
    desired: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns"},
    }
    assert is_applied(
        live, fields, {**desired, "metadata": {**desired["metadata"], "labels": {"x": "1"}}}
    )
    assert not is_applied(
        live, fields, {**desired, "metadata": {**desired["metadata"], "labels": {"x": "1000m"}}}
    )
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p", "namespace": "ns"}}
    fields = managed({"f:data": {"f:limits": {}, "f:startTime": {}}})
    stored = {**config, "data": {"limits": "1", "startTime": "2026-01-01T00:00:00Z"}}
    assert not is_applied(
        stored, fields, {**config, "data": {"limits": "1000m", "startTime": "2026-01-01T00:00:00Z"}}
    )


def test_custom_resources_are_stored_as_written() -> None:
    custom = {
        "apiVersion": "example.com/v1",
        "kind": "X",
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"limits": {"cpu": "1"}},
    }
    fields = managed({"f:spec": {"f:limits": {"f:cpu": {}}}})
    assert is_applied(custom, fields, custom)
    assert not is_applied(custom, fields, {**custom, "spec": {"limits": {"cpu": "1000m"}}})


def test_instants_are_compared_as_such() -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l", "namespace": "ns"},
    }
    fields = managed({"f:spec": {"f:renewTime": {}}})
    live = {**lease, "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
    assert is_applied(live, fields, {**lease, "spec": {"renewTime": "2026-01-01T01:00:00+01:00"}})
    assert not is_applied(live, fields, {**lease, "spec": {"renewTime": "2026-01-01T00:00:01Z"}})


def test_zero_values_we_set_need_not_be_stored() -> None:
    fields = owned("stdin", "workingDir")
    assert is_applied(pod(), fields, pod(stdin=False, workingDir=""))
    assert not is_applied(pod(), fields, pod(stdin=True, workingDir=""))


def test_zero_values_we_never_set_are_a_difference() -> None:
    """Where absent and false are not the same, only having set it proves that it is false."""
    assert not is_applied(pod(), owned(), pod(stdin=False))


def test_truth_is_no_number() -> None:
    assert not contains({"a": 1}, {"a": True})
    assert not contains({"a": False}, {"a": 0})
    assert contains({"a": 1}, {"a": 1.0})


def test_the_order_of_named_items_counts() -> None:
    two = [{"name": "a"}, {"name": "b"}]
    assert contains({"c": [{"name": "x"}, *two]}, {"c": two})
    assert not contains({"c": two[::-1]}, {"c": two})


def test_defaults_inside_what_we_own_whole_are_excused() -> None:
    reference = {"fieldRef": {"fieldPath": "metadata.name"}}
    stored = {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}
    env: JsonObject = {'k:{"name":"E"}': {".": {}, "f:name": {}, "f:valueFrom": {"f:fieldRef": {}}}}
    fields = owned(env=env)
    live = pod(env=[{"name": "E", "valueFrom": stored}])
    assert is_applied(live, fields, pod(env=[{"name": "E", "valueFrom": reference}]))
    other = {"fieldRef": {**stored["fieldRef"], "apiVersion": "v2"}}
    live = pod(env=[{"name": "E", "valueFrom": other}])
    assert not is_applied(live, fields, pod(env=[{"name": "E", "valueFrom": reference}]))


def held(fields: JsonObject, live: JsonObject, wanted: JsonObject) -> list[str]:
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    found = held_otherwise(FieldSet.parse(fields), {**head, **live}, {**head, **wanted})
    return ["/".join(path) for path in found]


ITEMS: JsonObject = {
    "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}
}


@pytest.mark.parametrize(
    ("fields", "live", "wanted", "expected"),
    [
        ({"f:data": {"f:a": {}}}, {"data": {"a": "1"}}, {"data": {"a": "1"}}, []),
        ({"f:data": {"f:a": {}}}, {"data": {"a": "1"}}, {"data": {"a": "2"}}, ["f:data/f:a"]),
        ({"f:data": {"f:a": {}}}, {"data": {"a": "1"}}, {}, ["f:data/f:a"]),
        ({"f:data": {"f:a": {}}}, {"data": {}}, {"data": {"a": "1"}}, []),
        ({"f:args": {}}, {"args": ["a", "b"]}, {"args": ["a"]}, ["f:args"]),
        ({"f:empty": {}}, {"empty": {}}, {}, []),
        ({"f:limits": {"f:cpu": {}}}, {"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, []),
        (ITEMS, {"ports": [{"containerPort": 80, "protocol": "TCP", "name": "x"}]},
         {"ports": [{"containerPort": 80, "name": "x"}]}, []),
        (ITEMS, {"ports": [{"containerPort": 80, "protocol": "TCP", "name": "x"}]},
         {"ports": [{"containerPort": 81, "name": "x"}]},
         ['f:ports/k:{"containerPort":80,"protocol":"TCP"}/f:name']),
        ({"f:set": {'v:"a"': {}, 'v:"b"': {}}}, {"set": ["a", "b"]}, {"set": ["b"]},
         ['f:set/v:"a"']),
        ({"f:list": {"i:1": {}}}, {"list": [1, 2]}, {"list": [1, 3]}, ["f:list/i:1"]),
    ],
)  # fmt: skip
def test_what_others_hold_and_is_not_as_wanted(
    fields: JsonObject, live: JsonObject, wanted: JsonObject, expected: list[str]
) -> None:
    assert held(fields, live, wanted) == expected


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": 2}, True),
        ({}, {"a": 0, "b": "", "c": False, "d": {}, "e": [], "f": None}, False),
        ({"data": {}}, {"data": {"k": ""}}, True),
        ({"metadata": {"labels": {}}}, {"metadata": {"labels": {"k": ""}}}, True),
        ({"items": [{"name": "a"}]}, {"items": [{"name": "a"}, {"name": "b"}]}, True),
        ({"items": [{"name": "b"}, {"name": "a"}]}, {"items": [{"name": "a"}]}, False),
        ({"items": ["x"]}, {"items": ["a", "b"]}, True),
        ({"items": 1}, {"items": {"a": 1}}, True),
    ],
)
def test_what_is_gone(live: JsonObject, wanted: JsonObject, *, expected: bool) -> None:
    assert lacks(live, wanted) is expected


def test_the_difference_is_what_the_server_made_of_it() -> None:
    sent = {"a": 1, "list": [{"n": 1}], "gone": 1, "short": [1]}
    live = {"a": 1, "list": [{"n": 1, "m": 2}], "more": 3, "short": [1, 2]}
    found = {"list": [{"m": 2}], "more": 3, "short": [1, 2], "": ["gone"]}
    assert difference(sent, live) == found
    assert difference(live, live) == {}


def test_differences_are_not_followed_for_ever() -> None:
    one: Any = {"leaf": 1}
    other: Any = {"leaf": 2}
    for _ in range(500):
        one, other = {"a": one}, {"a": other}
    with pytest.raises(ValueError, match="nested more than"):
        difference(one, other)

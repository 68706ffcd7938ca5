"""When a live object counts as being as somebody wants it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import contains, covers, own_fields

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
def test_live_contains_desired(case):
    assert contains(*case)


@pytest.mark.parametrize("case", NOT_CONTAINED.values(), ids=NOT_CONTAINED)
def test_live_does_not_contain_desired(case):
    assert not contains(*case)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
)


@given(st.dictionaries(st.text(max_size=2), JSON))
def test_everything_contains_itself(obj):
    assert contains(obj, obj)
    assert covers(obj, obj)


def test_what_we_own_beyond_desired_is_noticed():
    owned = {"data": {"old": "1", "kept": "2"}}
    assert not covers({"data": {"kept": "other"}}, owned)
    assert covers({"data": {"kept": "other", "old": ""}}, owned)


def test_only_our_apply_to_the_main_resource_counts_as_ours():
    fields = {"f:data": {"f:a": {}}}
    update = {"manager": "me", "operation": "Update", "fieldsV1": fields}
    status = {"manager": "me", "operation": "Apply", "subresource": "status", "fieldsV1": fields}
    other = {"manager": "you", "operation": "Apply", "fieldsV1": fields}
    assert own_fields([update, status, other], "me") is None
    mine = {"manager": "me", "operation": "Apply", "fieldsV1": fields}
    assert own_fields([update, mine], "me") is not None

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apiserver.fields.merge import Comparison, compare, equal, merge, remove
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import ListType, Schema
from certwright.kube import JsonObject

TAGS = Schema("array", items=Schema("string"), list_type=ListType.SET)
tags = st.lists(st.sampled_from("abcdef"), unique=True)


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "b", "abc"),
        ("abc", "cb", "acb"),
        ("abc", "cba", "cba"),
        ("abc", "xb", "axbc"),
        ("abc", "bx", "abcx"),
        ("abc", "xyz", "abcxyz"),
        ("abcd", "dxa", "bcdxa"),
        ("abcd", "bxay", "bcdxay"),
    ],
)
def test_shared_items_follow_the_applied_order(live: str, applied: str, merged: str) -> None:
    assert "".join(merge(list(live), list(applied), TAGS)) == merged


@given(tags, tags)
def test_a_merged_set_is_the_union_in_the_applied_order(
    live: list[str], applied: list[str]
) -> None:
    merged = merge(live, applied, TAGS)

    assert sorted(merged) == sorted({*live, *applied})
    assert [tag for tag in merged if tag in applied] == applied
    untouched = [tag for tag in live if tag not in applied]
    assert [tag for tag in merged if tag not in applied] == untouched


MERGES: dict[str, tuple[Any, Any, Any]] = {
    "fields of both": ({"title": "a"}, {"replicas": 1}, {"title": "a", "replicas": 1}),
    "the applied scalar wins, null included": (
        {"title": "a", "replicas": 1},
        {"title": "b", "replicas": None},
        {"title": "b", "replicas": None},
    ),
    "null and empty do not empty a map or a list of items": (
        {"labels": {"a": "1"}, "nested": {"x": 1}, "tags": ["a"], "items": [{"name": "a"}]},
        {"labels": {}, "nested": None, "tags": [], "items": None},
        {"labels": {"a": "1"}, "nested": {"x": 1}, "tags": ["a"], "items": [{"name": "a"}]},
    ),
    "atomic values are replaced": (
        {"selector": {"a": "1"}, "args": ["a"]},
        {"selector": {"b": "2"}, "args": []},
        {"selector": {"b": "2"}, "args": []},
    ),
    "items are merged by key": (
        {"ports": [{"port": 80, "protocol": "TCP", "note": "a"}, {"port": 81}]},
        {"ports": [{"port": 80, "note": "b"}, {"port": 80, "protocol": "UDP"}]},
        {
            "ports": [
                {"port": 80, "protocol": "TCP", "note": "b"},
                {"port": 81},
                {"port": 80, "protocol": "UDP"},
            ]
        },
    ),
    "duplicates in the live list give way": (
        {"tags": ["a", "a", "b", "b"]},
        {"tags": ["a"]},
        {"tags": ["a", "b", "b"]},
    ),
    "unknown content": (
        {"free": {"a": {"b": 1, "c": [1]}, "d": "x"}},
        {"free": {"a": {"c": [2]}, "d": {"e": 1}}},
        {"free": {"a": {"b": 1, "c": [2]}, "d": {"e": 1}}},
    ),
}


@pytest.mark.parametrize("situation", MERGES)
def test_merging(thing: ServedKind, situation: str) -> None:
    live, applied, merged = MERGES[situation]

    assert merge(live, applied, thing.schema.properties["spec"]) == merged


def test_merging_what_is_there_already_returns_the_live_object(thing: ServedKind) -> None:
    live = {"spec": {"nested": {"x": 1, "y": {"z": "a"}}, "items": [{"name": "a"}, {"name": "b"}]}}
    applied = {"spec": {"nested": {"y": {"z": "a"}}, "items": [{"name": "b"}]}}

    assert merge(live, applied, thing.schema) is live


COMPARISONS: dict[str, tuple[Any, Any, Comparison]] = {
    "nothing": ({"title": "a", "args": ["a"]}, {"title": "a", "args": ["a"]}, Comparison()),
    "a scalar; 1 is not true": (
        {"title": "a", "free": {"x": 1}},
        {"title": "b", "free": {"x": True}},
        Comparison(modified={"f:title": {}, "f:free": {"f:x": {}}}),
    ),
    "added with everything in it": (
        {},
        {"nested": {"y": {"z": "a"}}},
        Comparison(added={"f:nested": {".": {}, "f:y": {".": {}, "f:z": {}}}}),
    ),
    "removed with everything in it": (
        {"items": [{"name": "a", "image": "b"}]},
        {"items": []},
        Comparison(removed={"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:image": {}}}}),
    ),
    "items moved are not changed": (
        {"tags": ["a", "b"]},
        {"tags": ["b", "a"]},
        Comparison(),
    ),
    "items of an atomic list moved are": (
        {"args": ["a", "b"]},
        {"args": ["b", "a"]},
        Comparison(modified={"f:args": {}}),
    ),
    "null and empty differ": (
        {"nested": None, "tags": None},
        {"nested": {}, "tags": []},
        Comparison(modified={"f:nested": {}, "f:tags": {}}),
    ),
    "null that fills up is only added to": (
        {"nested": None},
        {"nested": {"x": 1}},
        Comparison(added={"f:nested": {"f:x": {}}}),
    ),
    "unknown content changing its type": (
        {"free": {"a": {"b": 1}, "c": "d"}},
        {"free": {"a": "b", "c": {"d": 1}}},
        Comparison(
            removed={"f:free": {"f:a": {"f:b": {}}}},
            modified={"f:free": {"f:a": {}, "f:c": {}}},
            added={"f:free": {"f:c": {"f:d": {}}}},
        ),
    ),
    "an item that got a twin": (
        {"items": [{"name": "a", "image": "b"}]},
        {"items": [{"name": "a", "image": "b"}, {"name": "a"}]},
        Comparison(
            removed={"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:image": {}}}},
            added={"f:items": {'k:{"name":"a"}': {}}},
        ),
    ),
    "twins that changed": (
        {"tags": ["a", "a"]},
        {"tags": ["a", "a", "a"]},
        Comparison(modified={"f:tags": {'v:"a"': {}}}),
    ),
}


@pytest.mark.parametrize("situation", COMPARISONS)
def test_comparing(thing: ServedKind, situation: str) -> None:
    old, new, difference = COMPARISONS[situation]

    assert compare(old, new, thing.schema.properties["spec"]) == difference


def test_removing(thing: ServedKind) -> None:
    value = {
        "spec": {
            "title": "a",
            "labels": {"a": "1", "b": "2"},
            "items": [{"name": "a", "image": "x"}, {"name": "b"}],
            "tags": ["a", "b"],
            "nested": {"x": 1},
        }
    }
    gone = {
        "f:spec": {
            "f:title": {},
            "f:labels": {"f:a": {}},
            "f:items": {'k:{"name":"a"}': {"f:image": {}}, 'k:{"name":"b"}': {}},
            "f:tags": {'v:"a"': {}},
            "f:nested": {".": {}, "f:x": {}},
        }
    }

    assert remove(value, gone, thing.schema) == {
        "spec": {"labels": {"b": "2"}, "items": [{"name": "a"}], "tags": ["b"]}
    }


def test_a_container_emptied_without_being_removed_is_null(thing: ServedKind) -> None:
    gone: JsonObject = {"f:spec": {"f:nested": {"f:x": {}}, "f:tags": {'v:"a"': {}}}}

    left = remove({"spec": {"nested": {"x": 1}, "tags": ["a"]}}, gone, thing.schema)

    assert left == {"spec": {"nested": None, "tags": None}}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [(1, 1.0, True), (1, True, False), ([0], [False], False), ({"a": None}, {}, False)],
)
def test_json_equality(left: Any, right: Any, same: bool) -> None:  # noqa: FBT001 - a table column
    assert equal(left, right) is same

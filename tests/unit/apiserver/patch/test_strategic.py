"""Strategic merge patches; what is expected here was read off a real server."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apiserver.patch.strategic import strategic_merge
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import ApiError

STRING = Schema("string")
ENV = Schema(
    "array",
    items=Schema("object", properties={"name": STRING, "value": STRING}),
    patch_merge_key="name",
)
CONTAINERS = Schema(
    "array",
    items=Schema(
        "object",
        properties={
            "name": STRING,
            "image": STRING,
            "env": ENV,
            "args": Schema("array", items=STRING),
        },
    ),
    patch_merge_key="name",
)
POD = Schema(
    "object",
    properties={
        "finalizers": Schema("array", items=STRING, patch_merge=True),
        "labels": Schema("object", additional=STRING),
        "containers": CONTAINERS,
        "strategy": Schema("object", patch_retain_keys=True),
        "selector": Schema("object", patch_replace=True),
    },
)


def containers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": "x"} for name in names]


CASES: dict[str, tuple[Any, Any, Any]] = {
    "maps are merged, null deletes": (
        {"labels": {"a": "1", "b": "2"}},
        {"labels": {"a": None, "c": "3", "d": None}},
        {"labels": {"b": "2", "c": "3"}},
    ),
    "some maps are replaced": (
        {"selector": {"a": "1"}},
        {"selector": {"b": "2"}},
        {"selector": {"b": "2"}},
    ),
    "items are merged by key; changed ones come in the order of the patch": (
        {"containers": containers("a", "b", "c")},
        {"containers": [{"name": "c", "image": "y"}, {"name": "a", "args": ["1"]}]},
        {
            "containers": [
                {"name": "b", "image": "x"},
                {"name": "c", "image": "y"},
                {"name": "a", "image": "x", "args": ["1"]},
            ]
        },
    ),
    "new items come first": (
        {"containers": containers("a")},
        {"containers": containers("n")},
        {"containers": containers("n", "a")},
    ),
    "nested lists are merged, lists without a key replaced": (
        {"containers": [{"name": "a", "args": ["1"], "env": [{"name": "E", "value": "1"}]}]},
        {"containers": [{"name": "a", "args": ["2"], "env": [{"name": "F", "value": "2"}]}]},
        {
            "containers": [
                {
                    "name": "a",
                    "args": ["2"],
                    "env": [{"name": "F", "value": "2"}, {"name": "E", "value": "1"}],
                }
            ]
        },
    ),
    "an item is deleted": (
        {"containers": containers("a", "b")},
        {"containers": [{"name": "a", "$patch": "delete"}]},
        {"containers": containers("b")},
    ),
    "a list is replaced": (
        {"containers": containers("a", "b")},
        {"containers": [{"$patch": "replace"}, {"name": "n"}]},
        {"containers": [{"name": "n"}]},
    ),
    "a map is replaced": (
        {"labels": {"a": "1"}},
        {"labels": {"$patch": "replace", "b": "2"}},
        {"labels": {"b": "2"}},
    ),
    "a map is emptied": ({"labels": {"a": "1"}}, {"labels": {"$patch": "delete"}}, {"labels": {}}),
    "a union keeps the named members": (
        {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
        {"strategy": {"type": "Recreate"}},
    ),
    "scalars are merged like sets": (
        {"finalizers": ["a", "b"]},
        {"finalizers": ["c", "b"]},
        {"finalizers": ["c", "a", "b"]},
    ),
    "scalars are deleted": (
        {"finalizers": ["a", "b", "c"]},
        {"$deleteFromPrimitiveList/finalizers": ["b", "x"]},
        {"finalizers": ["a", "c"]},
    ),
    "there is nothing to delete from": (
        {},
        {"$deleteFromPrimitiveList/finalizers": ["b"]},
        {},
    ),
    "items are put in order, unmentioned ones keep their place": (
        {"containers": containers("a", "b", "c")},
        {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]},
        {"containers": containers("b", "c", "a")},
    ),
    "order and change in one": (
        {"containers": containers("a", "b")},
        {
            "$setElementOrder/containers": [{"name": "n"}, {"name": "b"}, {"name": "a"}],
            "containers": [{"name": "n", "image": "x"}],
        },
        {"containers": containers("n", "b", "a")},
    ),
    "the order leaves out a new item": (
        {"finalizers": ["a", "b"]},
        {"$setElementOrder/finalizers": [], "finalizers": ["d", "a"]},
        {"finalizers": ["a", "b", "d"]},
    ),
    "new content loses nulls and directives": (
        {},
        {
            "labels": {"a": "1", "b": None},
            "strategy": {"$patch": "delete"},
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": None}],
        },
        {"labels": {"a": "1"}, "containers": [{"name": "b"}]},
    ),
    "another type wins": ({"labels": {"a": "1"}}, {"labels": ["a"]}, {"labels": ["a"]}),
}


@pytest.mark.parametrize("situation", CASES)
def test_patching(situation: str) -> None:
    live, patch, patched = copy.deepcopy(CASES[situation])

    assert strategic_merge(live, patch, POD) == patched
    assert (live, patch) == CASES[situation][:2]


REFUSALS: dict[str, tuple[Any, int, str]] = {
    "unknown directive": (
        {"labels": {"$patch": "zz"}},
        500,
        "unknown patch type: zz in map: map[$patch:zz]",
    ),
    "unknown directive of an item": (
        {"containers": [{"name": "a", "$patch": "zz"}]},
        500,
        "unknown patch type: zz in map: map[$patch:zz name:a]",
    ),
    "item without its key": (
        {"containers": [{"image": "y"}]},
        500,
        "map: map[image:y] does not contain declared merge key: name",
    ),
    "retained keys that are no list": (
        {"strategy": {"$retainKeys": "type"}},
        400,
        "invalid patch format of retainKeys",
    ),
    "a field that is not retained": (
        {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}},
        400,
        "invalid patch format of retainKeys",
    ),
    "an order that contradicts the patch": (
        {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a"}, {"name": "b"}],
        },
        500,
        "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
    ),
    "lists of lists": (
        {"finalizers": [["a"]]},
        422,
        "the server rejected our request due to an error in our request",
    ),
    "mixed lists": (
        {"finalizers": ["a", 1]},
        500,
        "list element types are not identical: [[f] [a 1]]",
    ),
    "an order that is no list": (
        {"$setElementOrder/containers": "a"},
        500,
        "expected a []interface {}, but received a string",
    ),
    "an order for a list that is deleted": (
        {"$setElementOrder/containers": [], "containers": None},
        500,
        "expected a []interface {}, but received a %!s(<nil>)",
    ),
    "a key that is no scalar": (
        {"containers": [{"name": {"a": 1}}]},
        422,
        "the server rejected our request due to an error in our request",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refusals(what: str) -> None:
    patch, code, message = REFUSALS[what]
    live = {
        "labels": {"a": "1"},
        "containers": containers("a"),
        "strategy": {"type": "x"},
        "finalizers": ["f"],
    }

    with pytest.raises(ApiError) as refusal:
        strategic_merge(live, patch, POD)

    assert (refusal.value.status_code, refusal.value.message) == (code, message)


names = st.lists(st.sampled_from("abcde"), unique=True)


@given(names, names)
def test_patched_items_are_the_union_in_the_order_of_the_patch(
    live: list[str], patch: list[str]
) -> None:
    patched = strategic_merge({"finalizers": live}, {"finalizers": patch}, POD)["finalizers"]

    assert sorted(patched) == sorted({*live, *patch})
    assert [name for name in patched if name in patch] == patch
    assert [name for name in patched if name not in patch] == [n for n in live if n not in patch]
